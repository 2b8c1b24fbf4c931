"""Rows of the reliability section: for each probe of single texts whether the verdict is right, and kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from steelyard.datasheet.sections.rows import FigureRows, Row
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import probe_label
from steelyard.metrics.common import ACCURACY
from steelyard.metrics.scores.border import BORDER_NOISE
from steelyard.metrics.scores.invariance import EXCESS_FLIP, INVARIANCE
from steelyard.metrics.scores.repeats import SELF_AGREEMENT
from steelyard.probes.probe import EDITS, REPEATS
from steelyard.probes.probe_metadata import probes_in
from steelyard.stimuli.original import ORIGINAL

_UNCHANGED = "unchanged items"
_BASE: Mapping[str, str | float] = {"protocol": "base"}
_ORIGINAL: Mapping[str, str | float] = {**_BASE, "kind": "original"}


def reliability_rows(index: FigureRows) -> Iterator[Row]:
    """Accuracy of each probe's edits with the share of kept verdicts below it, then repeats."""
    yield from index.row(ORIGINAL, ACCURACY, _BASE, label=_UNCHANGED, headline=True)
    for probe in probes_in(EDITS):
        yield from index.row(probe, ACCURACY, _BASE, label=probe_label(probe), headline=True)
        yield from index.row(probe, INVARIANCE, _BASE, label="verdict kept", depth=1)
        for row in index.row(probe, EXCESS_FLIP, _BASE, depth=1):
            # Without repeats nobody has one: a short report need not say so for every edit.
            yield replace(row, essential=any(map(numbers.defined, row.cells.values())))
        for level in sorted(index.values(probe, INVARIANCE, "level"), key=float):
            words = f"kept, {numbers.condition({'level': level})}"
            yield from index.row(probe, INVARIANCE, {**_BASE, "level": level}, label=words, depth=2)
    for probe in probes_in(REPEATS):
        yield from index.row(probe, SELF_AGREEMENT, _BASE, label=probe_label(probe), headline=True)
        yield from index.row(probe, SELF_AGREEMENT, _ORIGINAL, label=_UNCHANGED, depth=1)
        yield from index.row(probe, BORDER_NOISE, _BASE, depth=1)
