"""Rows of the reliability section: for each probe of single texts whether the verdict is right, and kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from steelyard.datasheet.sections.rows import Index, Row
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import PROBES, term

REPEATS = ("stochastic_stability", "answer_ambiguity")
"""Probes that ask the same again: agreement of repeats is their figure."""
EDITS = (
    "label_flip",
    "format_invariance_1",
    "format_invariance_2",
    "format_invariance_3",
    "semantic_paraphrase",
    "verbosity_bias_long",
    "verbosity_bias_short",
    "verbosity_padding",
    "typos",
    "markdown",
    "rubric_order",
    "score_range",
    "authority",
    "bandwagon",
    "injection",
    "synthetic_ordinal",
)
"""Probes that change an item, in reading order."""
RELIABILITY = (*EDITS, *REPEATS)
"""Probes that the section gathers."""
WHOLE = ("stochastic_stability", "synthetic_ordinal")
"""Probes whose own section a short report keeps: unchanged items, and every level of the scale."""

_BASE: Mapping[str, str | float] = {"protocol": "base"}
_ORIGINAL: Mapping[str, str | float] = {**_BASE, "kind": "original"}


def reliability_rows(index: Index) -> Iterator[Row]:
    """Accuracy of each probe's edits with the share of kept verdicts below it, then repeats."""
    yield from _unchanged(index)
    for probe in EDITS:
        yield from index.row(_label(probe), probe, "accuracy", _BASE, headline=True)
        yield from index.row("verdict kept", probe, "invariance", _BASE, depth=1)
        for row in index.row(term("excess_flip").label, probe, "excess_flip", _BASE, depth=1):
            # Without repeats nobody has one: a short report need not say so for every edit.
            yield replace(row, essential=any(map(numbers.defined, row.cells.values())))
        for level in sorted(index.values(probe, "invariance", "level"), key=float):
            words = f"kept, {numbers.condition({'level': level})}"
            yield from index.row(words, probe, "invariance", {**_BASE, "level": level}, depth=2)
    for probe in REPEATS:
        yield from index.row(_label(probe), probe, "self_agreement", _BASE, headline=True)
        yield from index.row("unchanged items", probe, "self_agreement", _ORIGINAL, depth=1)
        yield from index.row(term("border_noise").label, probe, "border_noise", _BASE, depth=1)


def _unchanged(index: Index) -> Iterator[Row]:
    """Accuracy on the items as they are, from the probe that shows all of them, else from the first edit."""
    yield from index.row("unchanged items", REPEATS[0], "accuracy", _BASE, headline=True)
    if (REPEATS[0], "accuracy", frozenset(_BASE.items())) in index.cells:
        return
    for probe in EDITS:
        rows = list(index.row("unchanged items", probe, "accuracy", _ORIGINAL, headline=True))
        if rows:
            yield from rows
            return


def _label(probe: str) -> str:
    name = PROBES[probe]
    return name[0].lower() + name[1:] if name != "Markdown" else name
