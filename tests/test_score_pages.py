"""Pages of estimate, leaderboard, people and bridge: the sentence, one figure, hostile text as text."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from browsers import chromium, complaints_in_every_look, opened
from commands import Command
from steelyard.datasheet.render.report import signed
from test_html import Page

HOSTILE = "<b onclick=x>&{{ 7*7 }}"


def write_files(folder: Path) -> None:
    rng = np.random.default_rng(4)
    lines = []
    for n in range(200):
        good = rng.random() < 0.7
        told = [int(good if rng.random() < p else not good) for p in (0.9, 0.7, 0.9, 0.85)]
        human = told[2] if n < 80 else ""
        lines.append(f"i{n},{told[0]},{told[1]},{human},{told[2]},{told[3]},{'<i>a' if n % 2 else 'b'}\n")
    (folder / "r.csv").write_text("item,old,new,human,ann,bob,stratum\n" + "".join(lines))
    votes = [
        f"{n},{HOSTILE if n % 2 else 'x'},y,{'ab'[rng.random() < 0.4]},{'ab'[rng.random() < 0.6]}\n"
        for n in range(120)
    ]
    (folder / "v.csv").write_text("item,system_a,system_b,j,h\n" + "".join(votes))
    (folder / "h.csv").write_text(f"period,value,items\nApril,0.7,400\n{HOSTILE},0.6,300\n")


CASES = {
    "estimate": ("r.csv", "--judge", "old", "--people", "human", "--design", "random", "--by", "stratum"),
    "leaderboard": ("v.csv", "--judge", "j", "--people", "h"),
    "people": ("r.csv", "--people", "ann", "--people", "bob", "-j", "old", "-j", "new"),
    "bridge": ("r.csv", "--from", "old", "--to", "new", "--history", "h.csv", "--margin", "0.2"),
}


def page_of(command: Command, folder: Path, name: str) -> str:
    write_files(folder)
    arguments = CASES[name]
    if name == "bridge":  # strata of the anchors are no strata of the history
        rows = (folder / "r.csv").read_text().replace(",stratum\n", ",part\n")
        (folder / "r.csv").write_text(rows)
    done = command(name, *arguments, "--html", "page.html", "--out", "figures.json")
    assert done.code == 0, done.err
    assert "Written: figures.json\nWritten: page.html\n" in done.out
    assert json.loads((folder / "figures.json").read_text())["schema"] == f"steelyard.{name}/1"
    return (folder / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_a_page_has_its_sentence_and_one_figure(command: Command, tmp_path: Path, name: str) -> None:
    page = page_of(command, tmp_path, name)
    read = Page(page)
    assert read.open == []
    ids = [attrs["id"] for _, attrs in read.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert page.count("<figure") == 1
    assert page.count('role="img"') == 2  # one for a screen, one for a phone: styles show either
    first = command(name, *CASES[name]).out.split()[:3]
    assert " ".join(first) in unescape(page)


@pytest.mark.parametrize("name", CASES)
def test_hostile_text_stays_text(command: Command, tmp_path: Path, name: str) -> None:
    page = page_of(command, tmp_path, name)
    assert "<b onclick" not in page
    assert "<i>a" not in page
    if name in ("leaderboard", "bridge"):
        assert "{{ 7*7 }}" in page


def test_json_alone_goes_to_the_output(command: Command, tmp_path: Path) -> None:
    write_files(tmp_path)
    for name, arguments in CASES.items():
        if name == "bridge":
            continue
        done = command(name, *arguments, "--json", "--html", "page.html")
        assert json.loads(done.out)["schema"] == f"steelyard.{name}/1"
        assert (tmp_path / "page.html").exists()


def test_figures_have_the_minus_of_charts() -> None:
    gap = SimpleNamespace(value=-0.025, low=-0.101, high=0.051)
    assert signed(gap) == "−0.025 [−0.101, +0.051]"


@pytest.mark.browser
def test_pages_are_accessible_and_fit_a_phone(command: Command, tmp_path: Path) -> None:
    for name in CASES:
        page_of(command, tmp_path, name)
        (tmp_path / "page.html").rename(tmp_path / f"{name}.html")
    with chromium() as browser:
        for name in CASES:
            with opened(browser, (tmp_path / f"{name}.html").as_uri(), bypass_csp=True) as page:
                assert complaints_in_every_look(page) == [], name
