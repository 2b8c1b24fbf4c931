"""What a run folder says in each of its forms, as text in which no path, time, version or port is left."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import fields, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from rich.console import Console

from commands import run_command
from installed_packages import packages
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.render.terminal import render_brief

WIDTH = 100
WIDE = 400
"""Columns in which no line of a screen is broken."""
PARTS = ("verdicts", "readings")
"""Keys of `datasheet.json` that hold words."""
MASKS: tuple[tuple[str, str], ...] = (
    (r"(127\.0\.0\.1'?)(:|, )\d+", r"\1\2PORT"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(\+00:00|Z| UTC)?", "TIME"),
    (r"sha256:[0-9a-f]+|\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{8,64}\b", "HASH"),
    (r"[Ss]teelyard(/| )\d+\.\d+[\w.]*", r"Steelyard\1VERSION"),
    (r"\b\d[\d.,]* ?(ms|s)\b", "DURATION"),
)


def normalised(text: str, run: Path) -> str:
    """The text without what differs from one run of the same study to the next."""
    for place in (run.parent.resolve(), run.parent):
        text = text.replace(f"{place}/", "").replace(str(place), "PLACE")
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def forms(run: Path, width: int = WIDTH) -> dict[str, str]:
    """Form to text: first screen and all figures of the terminal, Markdown, page and JSON."""
    site = run.parent / "site"
    variables = {"COLUMNS": str(width), "NO_COLOR": "1"}
    with packages(str(site)) if site.exists() else nullcontext():
        done = run_command(run.parent, "report", run.name, **variables)
        full = run_command(run.parent, "report", run.name, "--full", **variables)
    sheet = json.loads((run / "datasheet.json").read_text(encoding="utf-8"))
    words = {part: sheet[part] for part in PARTS}
    found = {
        "screen": done.out + done.err,
        "full": full.out,
        "markdown": (run / "datasheet.md").read_text(encoding="utf-8"),
        "page": page_text((run / "datasheet.html").read_text(encoding="utf-8")),
        "json": json.dumps(words, indent=1, sort_keys=True, ensure_ascii=False),
    }
    return {form: normalised(text, run) for form, text in found.items()}


def page_text(page: str) -> str:
    """The visible text: a line for each block or row of a table, cells apart by a bar.

    A link to the row of a figure is followed by what that row begins with: its number would say nothing.
    """
    seen = _Text({})
    seen.feed(page)
    again = _Text(seen.rows)
    again.feed(page)
    return again.text()


class _Text(HTMLParser):
    UNSEEN = ("script", "style", "svg", "template", "head")
    VOID = ("meta", "link", "br", "img", "input", "hr", "col", "wbr")
    INLINE = ("a", "abbr", "b", "button", "code", "em", "i", "small", "span", "strong", "sub", "sup", "wbr")
    CELLS = ("td", "th")
    FIGURE = "#estimate-"

    def __init__(self, rows: Mapping[str, str]) -> None:
        super().__init__()
        self.known, self.parts = rows, list[str]()
        self.rows: dict[str, str] = {}
        """Address of a row to its first two cells."""
        self._unseen, self._links = list[str](), list[str]()
        self._row: tuple[str, int] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if self._unseen or tag in self.UNSEEN or "hidden" in given:
            self._unseen += [] if tag in self.VOID else [tag]
        elif tag == "a":
            self._links.append(str(given.get("href", "")))
        elif tag == "tr" or tag not in (*self.INLINE, *self.CELLS):
            self.parts.append("\n")
        if tag == "tr":
            self._row = f"#{given.get('id')}", len(self.parts)

    def handle_endtag(self, tag: str) -> None:
        if self._unseen:
            self._unseen.pop()
        elif tag == "a":
            target = self._links.pop()
            if target.startswith(self.FIGURE):
                self.parts.append(f" [{self.known.get(target, target)}]")
        elif tag in self.CELLS:
            self.parts.append(" | ")
        elif tag not in self.INLINE:
            if tag == "tr" and self._row is not None:
                place, start = self._row
                cells = " ".join("".join(self.parts[start:]).split()).split(" | ")
                self.rows[place] = ", ".join(cells[:2])
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.parts.append(re.sub(r"\s+", " ", data))

    def text(self) -> str:
        lines = (" ".join(line.split()).removesuffix(" |") for line in "".join(self.parts).split("\n"))
        return "\n".join(line for line in lines if line)


def screens(sheet: Datasheet) -> Iterator[str]:
    """The first screen of each judge of a datasheet, as if it had been measured alone."""
    baselines = {judge.name for judge in sheet.judges if judge.baseline}
    for verdict in sheet.verdicts:
        written = io.StringIO()
        console = Console(file=written, width=WIDTH, no_color=True, highlight=False, legacy_windows=False)
        render_brief(_of_one(sheet, verdict.judge, baselines), console)
        yield normalised(written.getvalue(), Path("/nowhere/run"))


def _of_one(sheet: Datasheet, judge: str, baselines: set[str]) -> Datasheet:
    kept = {judge, *baselines}
    parts: dict[str, Any] = {
        field.name: tuple(each for each in value if getattr(each, "judge", judge) in kept)
        for field in fields(sheet)
        if isinstance(value := getattr(sheet, field.name), tuple)
    }
    return replace(sheet, **{**parts, "judges": tuple(each for each in sheet.judges if each.name in kept)})
