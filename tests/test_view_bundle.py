"""The viewer as files: every link leads to a file, numbers to replies, without a server of ours."""

from __future__ import annotations

import html
import re
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from browsers import chromium, opened
from steelyard.errors import ConfigError
from steelyard.web.view.bundle import place_of, write_bundle


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    script = [
        sys.executable,
        "-m",
        "steelyard",
        "measure",
        "-j",
        "planted/first",
        "-j",
        "planted/coin?name=toss",
    ]
    subprocess.run([*script, "-p", "vacuum", "--out", "run"], check=True, capture_output=True, cwd=folder)
    assert write_bundle([folder / "run"], folder / "out") > 20
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


def test_a_number_leads_to_its_replies_in_two_links(bundle: Path) -> None:
    sheet = (bundle / "run-0.html").read_text(encoding="utf-8")
    number = next(link for link in re.findall(r'class="behind" href="([^"]+)"', sheet))
    listed = (bundle / html.unescape(number)).read_text(encoding="utf-8")
    call = html.unescape(re.findall(r'<th scope="row"><a href="([^"]+)"', listed)[0])
    place, _, anchor = call.partition("#")
    page = (bundle / "pages" / place).resolve().read_text(encoding="utf-8")
    assert f'id="{anchor}"' in page
    assert "winner" in page
    assert "Prompt, as it was sent" in page


def test_nothing_tells_where_the_run_lies_or_holds_a_secret(bundle: Path) -> None:
    for file in bundle.rglob("*"):
        if file.is_file() and file.suffix in (".html", ".json", ".csv", ".txt"):
            text = file.read_text(encoding="utf-8")
            assert str(bundle.parent) not in text, file
            assert "csrf" not in text
            assert "token=" not in text


def test_a_page_tells_of_every_figure_that_leads_to_it(bundle: Path) -> None:
    sheet = (bundle / "run-0.html").read_text(encoding="utf-8")
    links = {html.unescape(link) for link in re.findall(r'class="behind" href="([^"]+)"', sheet)}
    assert len(links) > 10
    for link in links:
        told = (bundle / link).read_text(encoding="utf-8")
        (shown,) = re.findall(r'<h1 class="long">(?:[\d,]+ of )?([\d,]+) call', told)
        assert set(re.findall(r"Counted from ([\d,]+) call", told)) <= {shown}


def test_nothing_asks_for_an_answer(bundle: Path) -> None:
    for page in bundle.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert 'method="get"' not in text
        assert "data-progress" not in text
    assert (bundle / "run-0-datasheet.json").exists() or (bundle / "run-0-calls.csv").exists()


def test_a_folder_of_something_else_is_not_written_over(bundle: Path) -> None:
    run = bundle.parent / "run"
    before = sorted(path.name for path in run.iterdir())
    with pytest.raises(ConfigError, match="is not empty and holds no bundle"):
        write_bundle([run], run)
    assert sorted(path.name for path in run.iterdir()) == before


def test_a_bundle_is_written_anew(bundle: Path) -> None:
    (bundle / "pages" / "old.html").write_text("of another time")
    count = len(list(bundle.rglob("*.html")))
    write_bundle([bundle.parent / "run"], bundle)
    assert len(list(bundle.rglob("*.html"))) == count - 1


@pytest.mark.parametrize("address", ["/run/0/stimulus?id=..%2F..%2Fetc", "/../../x", "/run/0/files/../../x"])
def test_no_address_leads_out_of_the_folder(address: str) -> None:
    assert ".." not in place_of(address)


@pytest.mark.browser
def test_any_web_server_shows_it(bundle: Path) -> None:
    """From a number to a reply in a real browser, behind a server that knows nothing but files."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(bundle))) as files:
        thread = threading.Thread(target=files.serve_forever)
        thread.start()
        try:
            home = f"http://127.0.0.1:{files.server_address[1]}/"
            with chromium() as browser, opened(browser, home) as page:
                page.get_by_role("link", name="Datasheet").first.click()
                page.locator("a.behind >> visible=true").first.click()
                page.locator("table.calls th a").first.click()
                page.get_by_text("Prompt, as it was sent").first.wait_for()
                assert "winner" in page.locator("body").inner_text()
        finally:
            files.shutdown()
            thread.join()
