"""The viewer as files: it opens from a disk, every link leads to a file, and data hold every call once."""

from __future__ import annotations

import base64
import csv
import gzip
import html
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browsers import chromium, complaints, opened
from commands import run_command
from steelyard.commands.figure_calls import calls_behind
from steelyard.commands.viewed_run import ViewedRun, details
from steelyard.errors import ConfigError
from steelyard.web.bundle import place_of, write_bundle


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    judges = ("-j", "planted/first", "-j", "planted/coin?name=toss")
    run_command(folder, "measure", *judges, "-p", "vacuum", "--out", "run")
    assert write_bundle([folder / "run"], folder / "out") < 40
    return folder / "out"


def links(page: Path) -> list[Path]:
    found = re.findall(r'\b(?:href|src)="([^"#][^"]*)"', page.read_text(encoding="utf-8"))
    inner = [
        html.unescape(link).partition("#")[0] for link in found if not link.startswith(("data:", "http"))
    ]
    return [(page.parent / link).resolve() for link in inner if link]


def test_every_link_leads_to_a_file(bundle: Path) -> None:
    pages = sorted(bundle.rglob("*.html"))
    assert bundle / "index.html" in pages
    for page in pages:
        for target in links(page):
            assert target.is_file(), (page, target)
            assert target.is_relative_to(bundle.resolve())


OTHER_HOST = re.compile(
    r"""<(?!a\b)[a-z]+ [^>]*\b(?:href|src)="(?:https?:)?//|\burl\(["']?(?:https?:)?//|@import"""
)
"""What a browser fetches from another host without a click."""


def test_no_page_asks_another_host(bundle: Path) -> None:
    files = [file for file in bundle.rglob("*") if file.suffix in (".html", ".css")]
    assert {file.suffix for file in files} == {".html", ".css"}
    assert not [file for file in files if OTHER_HOST.search(file.read_text(encoding="utf-8"))]


def data(bundle: Path, name: str) -> Any:
    packed = (bundle / "data" / f"{name}.js").read_text(encoding="ascii").split('"')[3]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_the_data_hold_every_call_figure_and_prompt_once(bundle: Path) -> None:
    run = ViewedRun(bundle.parent / "run")
    index, held = run.load().index, data(bundle, "run-0")
    assert held["ids"] == list(index.ids)
    assert all(len(column) == len(index.ids) for column in held["columns"].values())
    masks = [np.unpackbits(np.frombuffer(base64.b64decode(each), np.uint8)) for each in held["masks"]]
    published = run.published
    assert published is not None
    assert set(held["figures"]) == set(published.figures)
    for name, (_, sentence, behind, counted) in held["figures"].items():
        estimate = published.figures[name]
        assert masks[behind].sum() == calls_behind(estimate, index).sum()
        assert f"Counted from {masks[behind].sum():,} call" in sentence or not estimate.n_calls
        if counted is not None:
            assert masks[counted].sum() == estimate.numerator * (2 if estimate.unit == "pair" else 1)
    prompts = data(bundle, "run-0-prompts-0")
    assert len({json.dumps(each) for each in prompts}) == len(prompts)
    told = details(run, run.load(), [0])[0]
    assert told.stored is not None
    assert prompts[held["columns"]["prompt"][0]][0] == [list(each) for each in told.stored.messages]
    assert held["exchanges"][held["columns"]["exchange"][0]][0] == told.reply
    assert held["reasons"][held["columns"]["why"][0]] == f"{told.why[0].upper()}{told.why[1:]}."


def test_nothing_tells_where_the_run_lies_or_holds_a_secret(bundle: Path) -> None:
    assert str(bundle.parent) not in json.dumps(data(bundle, "run-0"))
    for file in bundle.rglob("*"):
        if file.is_file() and file.suffix in (".html", ".js", ".svg", ".txt"):
            text = file.read_text(encoding="utf-8")
            assert str(bundle.parent) not in text, file
            assert "token=" not in text
            if file.suffix == ".html":
                assert "csrf" not in text
                assert "data-progress" not in text


def test_a_folder_of_something_else_is_not_written_over(bundle: Path) -> None:
    run = bundle.parent / "run"
    before = sorted(path.name for path in run.iterdir())
    with pytest.raises(ConfigError, match="is not empty and holds no bundle"):
        write_bundle([run], run)
    assert sorted(path.name for path in run.iterdir()) == before


def test_a_bundle_is_written_anew(bundle: Path) -> None:
    """Nothing is left of a larger one, whose runs nobody asked for again; what its owner added stays."""
    before = {path.relative_to(bundle) for path in bundle.rglob("*")}
    earlier = ("pages/old.html", "run-7.html", "run-7-datasheet.json", "run-7-calls.html", "history-0-x.csv")
    for name in (*earlier, "CNAME"):
        (bundle / name).write_text("of another time")
    write_bundle([bundle.parent / "run"], bundle)
    assert {path.relative_to(bundle) for path in bundle.rglob("*")} == before | {Path("CNAME")}


@pytest.mark.parametrize("address", ["/run/0/stimulus?id=..%2F..%2Fetc", "/../../x", "/run/0/files/../../x"])
def test_no_address_leads_out_of_the_folder(address: str) -> None:
    assert ".." not in place_of(address)


LONG_NAME = """() => {
  const cell = document.querySelector("table.calls td[data-label=judge]");
  cell.textContent = "embedded/smollm2-135m-likelihood-of-a-long-name";
  return cell.scrollWidth - cell.clientWidth;
}"""
"""By how many pixels a long name of a judge runs out of its place."""


@pytest.mark.browser
def test_everything_works_from_a_disk(bundle: Path) -> None:
    """From a number to a reply in a real browser, without any server; filters, order, keys, files."""
    with chromium() as browser, opened(browser, (bundle / "index.html").as_uri()) as page:
        page.get_by_role("link", name="Datasheet").first.click()
        page.locator(".held.flagged a.behind >> visible=true").first.click()  # one
        page.locator("table.calls tbody th a").first.wait_for()
        listed = page.locator("table.calls tbody tr").count()
        address = page.url
        page.locator("table.calls tbody th a").nth(1).click()  # two
        page.get_by_text("Prompt, as it was sent").wait_for()
        page.get_by_text("candidate 1").first.wait_for()
        assert '{"winner": "1"}' in page.locator("section[aria-labelledby=reply-h] pre").inner_text()
        assert page.locator("section[aria-labelledby=reply-h]").inner_text().splitlines()[-1] != "0"
        page.get_by_role("link", name=f"2 of {listed} in the list").wait_for()
        page.keyboard.press("j")
        page.get_by_role("link", name=f"3 of {listed} in the list").click()
        page.locator("table.calls").wait_for()
        assert page.url == address
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate(LONG_NAME) <= 0
        page.set_viewport_size({"width": 1280, "height": 800})
        page.get_by_label("Judge").select_option("toss")
        page.get_by_label("Words").fill("tie")
        page.get_by_role("button", name="Show").click()
        page.get_by_text("No call passes these filters").wait_for()
        page.get_by_role("link", name="Show all").click()
        page.get_by_role("link", name="verdict", exact=True).click()
        page.locator("th[aria-sort=ascending]").wait_for()
        assert page.locator("table.calls tbody tr").first.locator("b.answer").inner_text() == "1"
        with page.expect_download() as saved:
            page.get_by_role("button", name="CSV").click()
        rows = list(csv.DictReader(io.StringIO(saved.value.path().read_text(encoding="utf-8"))))
        assert len(rows) == len(data(bundle, "run-0")["ids"])
        assert complaints(page) == []
        page.locator("table.calls tbody th a").first.click()
        page.locator("h1 a").click()
        page.locator(".arm").first.wait_for()
        assert complaints(page) == []
        page.get_by_role("link", name="Map").click()
        page.locator("table.heat a").first.click()
        page.locator("table.calls").wait_for()
