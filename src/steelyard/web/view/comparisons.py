"""Two judges, of one run or of two: their comparison, and calls that they answer differently side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from steelyard.commands.compare import Verdicts, compare_judges, load_verdicts
from steelyard.commands.view.call_index import CallFilter, differing_rows
from steelyard.commands.view.viewed_run import CallDetail, LoadedRun, ViewedRun, details
from steelyard.core.text import pluralize, replace_lone_surrogates
from steelyard.datasheet.comparison import page as comparison_page
from steelyard.datasheet.comparison.page import DifferingAnswer, DifferingCall, DifferingCalls
from steelyard.datasheet.comparison.sheet import ComparisonSheet
from steelyard.datasheet.render.html.document import page_policy
from steelyard.datasheet.words.glossary import probe_title
from steelyard.datasheet.words.text import escape_keeping_lines
from steelyard.errors import ConfigError, UsageError
from steelyard.stimuli.stimulus import reference_label
from steelyard.web.pages import page, page_number
from steelyard.web.server import error_page
from steelyard.web.view.calls import Links

SIDES = ("first", "second")
SIDE_BY_SIDE = 8
"""Calls that a comparison shows with both replies; a page of their own has all."""
EXCERPT = 400
"""Letters of a reply beside the other."""
RIGHT = {"A": "A right, B not", "B": "B right, A not", "none": "neither right"}
"""Filter by who is right to its words."""


@dataclass(frozen=True)
class ComparedSide:
    run: ViewedRun
    loaded: LoadedRun
    links: Links
    judge: str


@dataclass(frozen=True)
class DifferingPairs:
    first: ComparedSide
    second: ComparedSide
    rows: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, first: ComparedSide, second: ComparedSide) -> DifferingPairs:
        rows = differing_rows(first.loaded.index, first.judge, second.loaded.index, second.judge)
        return cls(first, second, rows)

    @property
    def probes(self) -> list[str]:
        calls = self.first.loaded.index.calls
        found = {str(calls.shown.probe[int(calls.stimulus[row])]) for row, _ in self.rows}
        return sorted(found)

    def having(self, probe: str, right: str) -> DifferingPairs:
        """Those of a probe, and those in which one judge or neither is right; an empty one lets all pass."""
        one, other = self.first.loaded.index, self.second.loaded.index
        asked = one.mask(CallFilter(probe=probe)) if probe else np.ones(len(one.calls), dtype=np.bool_)
        kept = []
        for row, found in self.rows:
            wrong = bool(one.answers.wrong[row]), bool(other.answers.wrong[found])
            held = one.answers.has_reference[row] and other.answers.has_reference[found]
            who = {(False, True): "A", (True, False): "B", (True, True): "none"}.get(wrong, "")
            if asked[row] and (not right or (held and who == right)):
                kept.append((row, found))
        return DifferingPairs(self.first, self.second, kept)

    def shown(self, start: int, stop: int) -> list[DifferingCall]:
        part = self.rows[start:stop]
        sides = (self.first, self.second)
        columns = [[pair[number] for pair in part] for number in (0, 1)]
        found = [
            details(side.run, side.loaded, rows, explained=False)
            for side, rows in zip(sides, columns, strict=True)
        ]
        return [
            _call(
                [
                    _answer(side, row[number], each)
                    for number, (side, each) in enumerate(zip(sides, both, strict=True))
                ],
                both[0],
            )
            for row, both in zip(part, zip(*found, strict=True), strict=True)
        ]


def _call(answers: Sequence[DifferingAnswer], detail: CallDetail) -> DifferingCall:
    seen = detail.observation
    shown = seen.stimulus
    order = f", order {seen.order}" if len(shown.texts) == 2 else ""
    protocol = "" if seen.protocol == "base" else f", {seen.protocol}"
    about = f"{probe_title(shown.probe)}, {shown.kind}{protocol}{order}, repeat {seen.replicate}"
    label = reference_label(shown.expectation)
    told = None if label is None else escape_keeping_lines(label)
    return DifferingCall(escape_keeping_lines(shown.id), about, told, (answers[0], answers[1]))


def _answer(side: ComparedSide, row: int, detail: CallDetail) -> DifferingAnswer:
    index, seen = side.loaded.index, detail.observation
    stored = detail.stored
    text = stored.reply.reply.text if stored is not None and stored.reply is not None else "not recorded"
    excerpt = text if len(text) <= EXCERPT else text[:EXCERPT] + "…"
    word = "" if not index.answers.has_reference[row] else "wrong" if index.answers.wrong[row] else "right"
    address = side.links.call(detail.id, seen.stimulus.id)
    return DifferingAnswer(str(index.answer_words[row]), escape_keeping_lines(excerpt), address, word)


class ComparisonPages:
    def __init__(
        self, runs: Sequence[ViewedRun], links: Callable[[int], Links], page_size: int, *, still: bool
    ) -> None:
        self.runs, self._links, self._page_size, self._still = runs, links, page_size, still
        self._verdicts: dict[Path, tuple[int, Verdicts]] = {}

    def side(self, text: str) -> tuple[Verdicts, str | None]:
        """The verdicts of the run that `0:judge` names, read once for a datasheet, and the judge."""
        number, _, judge = text.partition(":")
        if not number.isdecimal() or int(number) >= len(self.runs):
            raise ConfigError("Choose two judges on the overview to compare them.")
        run = self.runs[int(number)]
        written = run.published.written if run.published else 0
        if not written or self._verdicts.get(run.path, (0,))[0] != written:
            self._verdicts[run.path] = written, load_verdicts(run.path)
        return self._verdicts[run.path][1], judge or None

    def _compared(self, first: str, second: str) -> ComparisonSheet:
        (left, mine), (right, other) = self.side(first), self.side(second)
        sheet = compare_judges(left, left.pick(mine), right, right.pick(other))
        names = [Path(side.folder).name for side in (sheet.first, sheet.second)]
        if names[0] == names[1] and sheet.first.folder != sheet.second.folder and not self._still:
            return sheet  # pages that others get never tell where a folder lies
        sides = [replace(side, folder=n) for side, n in zip((sheet.first, sheet.second), names, strict=True)]
        return replace(sheet, first=sides[0], second=sides[1])

    def compare(self, request: Request) -> Response:
        try:
            sides = _two_sides(request)
            sheet = self._compared(*sides)
        except UsageError as error:
            return error_page(400, str(error))
        pairs = self._differing(*sides)
        links = [pairs.first.links, pairs.second.links]

        def differing(side: int, **more: str) -> str:
            judge = (sheet.first, sheet.second)[side].judge
            return links[side].calls(CallFilter(judge=judge, differs=sides[1 - side], **more))

        every = (
            differing(0) if self._still else f"/differing?{urlencode(dict(zip(SIDES, sides, strict=True)))}"
        )
        text = comparison_page.render(
            sheet,
            home="/",
            datasheets=[each.sheet() for each in links],
            differing=differing,
            calls=DifferingCalls(pairs.shown(0, SIDE_BY_SIDE), len(pairs.rows), every),
        )
        return HTMLResponse(replace_lone_surrogates(text), headers={"content-security-policy": page_policy()})

    def differing(self, request: Request) -> Response:
        """Every call that two judges answer differently, with both replies."""
        try:
            sides = _two_sides(request)
            every = self._differing(*sides)
        except UsageError as error:
            return error_page(400, str(error))
        probe, right = (request.query_params.get(name, "")[:300] for name in ("probe", "right"))
        chosen = every.having(probe, right)
        number, last = page_number(request, len(chosen.rows), self._page_size)
        asked = {**dict(zip(SIDES, sides, strict=True)), "probe": probe, "right": right}
        return page(
            request,
            "view_differing.html.j2",
            calls=chosen.shown((number - 1) * self._page_size, number * self._page_size),
            names=[f"{side.judge} ({side.run.path.name})" for side in (every.first, every.second)],
            sides=sides,
            total=len(chosen.rows),
            among=len(every.rows),
            probes=every.probes,
            probe=probe,
            right=right,
            right_words=RIGHT,
            number=number,
            last=last,
            address=f"/differing?{urlencode(asked)}",
            still=self._still,
        )

    def _differing(self, first: str, second: str) -> DifferingPairs:
        sides = []
        for text in (first, second):
            verdicts, judge = self.side(text)
            number = int(text.partition(":")[0])
            run = self.runs[number]
            sides.append(ComparedSide(run, run.load(), self._links(number), verdicts.pick(judge).name))
        return DifferingPairs.of(*sides)


def _two_sides(request: Request) -> tuple[str, str]:
    """Two judges as the overview ticks them or as links name them."""
    ticked = request.query_params.getlist("side")
    sides = ticked or [request.query_params.get(side, "") for side in SIDES]
    if len(sides) != 2:
        raise ConfigError(f"Found {pluralize(len(sides), 'judge')}, expected two: go back and tick two.")
    return sides[0], sides[1]
