"""Calls that two judges answer differently, of one run or of two, with both replies side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.commands.view.call_index import CallFilter, differing_rows
from steelyard.commands.view.viewed_run import CallDetail, LoadedRun, ViewedRun, details
from steelyard.datasheet.comparison.page import DifferingAnswer, DifferingCall
from steelyard.datasheet.words.glossary import probe_title
from steelyard.datasheet.words.text import escape_keeping_lines
from steelyard.stimuli.stimulus import reference_label
from steelyard.web.view.links import Links

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
