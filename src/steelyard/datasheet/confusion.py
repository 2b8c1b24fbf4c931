"""The confusion matrix: label by answer, in calls, on items as they are, natural pairs, rotations, levels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.core.arrays import Ints, distinct
from steelyard.stimuli.brief import ORDINAL
from steelyard.stimuli.original import NATURAL, ORIGINAL, ROTATION
from steelyard.tasks.scale import parse_scale
from steelyard.verdicts.call_answers import NEITHER, CallAnswers, answer_word
from steelyard.verdicts.observations import Observations

MOST_LEVELS, MOST_STRATA = 12, 50
"""Scales and strata of more have no matrix."""
PAIRED = ("u", "v", "tie")
LOST = ("abstain", "unreadable", "failed")


@dataclass(frozen=True)
class Confusion:
    judge: str
    protocol: str
    scale: str
    stratum: str | None
    """Part of the data; None for all of it."""
    labels: tuple[str, ...]
    """Rows: the reference; of a pair the content that is better, or `tie`."""
    answers: tuple[str, ...]
    """Columns: what the judge answered; of a pair the content that it named."""
    calls: tuple[tuple[int, ...], ...]
    probe: str | None = None
    """Probe whose texts were written for the labels; None for texts as they are."""


def confusions(judge: str, observations: Observations) -> list[Confusion]:
    """The matrices of one judge: of each protocol and scale, whole and by stratum; none without labels."""
    tables: list[Confusion] = []
    parts = [(None, observations.filter(kinds=(kind,))) for kind in (ORIGINAL, NATURAL, ROTATION)]
    for probe, shown_rows in (*parts, (ORDINAL, observations.filter(ORDINAL))):
        rows = shown_rows.filter(labelled=True)
        rows = rows.filter(calls=~rows.own_label)
        for protocol in rows.protocols_seen:
            mine = rows.filter(protocol=protocol)
            scales = mine.shown.scales
            shown = distinct(scales.codes[mine.stimulus]).tolist()
            for scale, code in sorted((scales.values[code] or "pairwise", code) for code in shown):
                made = _of_scale(judge, protocol, scale, mine.filter(stimuli=scales.codes == code))
                tables += [replace(each, probe=probe) for each in made if not (probe and each.stratum)]
    return tables


def _of_scale(judge: str, protocol: str, scale: str, rows: Observations) -> Iterator[Confusion]:
    labels = PAIRED if scale == "pairwise" else parse_scale(scale).answers
    if len(labels) > MOST_LEVELS:
        return
    yield _matrix(judge, protocol, scale, None, labels, rows)
    strata = rows.shown.stratum
    names = sorted(set(strata[distinct(rows.stimulus)].tolist()))
    if 2 <= len(names) <= MOST_STRATA:
        for name in names:
            yield _matrix(judge, protocol, scale, name, labels, rows.filter(stimuli=strata == name))


def _matrix(
    judge: str, protocol: str, scale: str, stratum: str | None, labels: Sequence[str], rows: Observations
) -> Confusion:
    answers, known_labels = (*labels, *LOST), rows.shown.labels
    places = np.array([_place(labels, word) for word in known_labels.values], dtype=np.int64)
    label, answer = places[known_labels.codes[rows.stimulus]], _answered(rows, answers)
    cell, known = label * len(answers) + answer, (label >= 0) & (answer >= 0)
    counts = np.bincount(cell[known], minlength=len(labels) * len(answers)).reshape(len(labels), -1)
    shown = [n for n, name in enumerate(answers) if name in labels or counts[:, n].any()]
    calls = tuple(tuple(int(counts[row, n]) for n in shown) for row in range(len(labels)))
    return Confusion(judge, protocol, scale, stratum, tuple(labels), tuple(answers[n] for n in shown), calls)


def _answered(rows: Observations, answers: Sequence[str]) -> Ints:
    """The column of each call; of pairs by content, not by slot."""
    word = [_place(answers, answer_word(verdict)) for verdict in rows.verdicts]
    column = np.array(word, dtype=np.int64)[rows.verdict]
    answer = CallAnswers.of(rows).answer
    named = rows.shown.paired[rows.stimulus] & (answer > NEITHER)
    return np.asarray(np.where(named, np.nan_to_num(answer) - 1, column), dtype=np.int64)


def _place(names: Sequence[str], name: str | None) -> int:
    return names.index(name) if name in names else -1
