"""A fast way through long files of scores: each distinct part of a line is checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from operator import attrgetter
from pathlib import Path

import numpy as np

from steelyard.core.arrays import Ints, Mask, distinct
from steelyard.errors import DataError
from steelyard.importing.cut_lines import CutLines, UnusualError
from steelyard.importing.forms import Forms
from steelyard.importing.lines import Body
from steelyard.importing.score_call import Shown
from steelyard.importing.score_lines import assumed, scale_found, score_of
from steelyard.importing.score_table import ScoreTable
from steelyard.verdicts.stimulus_columns import Coded

KEYS = ("probe", "score")
"""Where a score is cut: judge, text, outcome."""
IN_MIDDLE = frozenset({*(f.name for f in fields(Shown)), "kind"})
"""What makes the text, and is checked against each other: it must stand in the middle."""
NAMES = frozenset({"item", "task", "stratum"})
"""What a middle may say in any words; nothing else of the line depends on them."""

_OF_TEXT = attrgetter("failing", "words", "run", "change_depth", "changed_words")


def read_score_table(paths: Sequence[Path]) -> tuple[ScoreTable, tuple[str, ...]] | None:
    """All calls, and what had to be assumed; None where a file needs the careful way."""
    try:
        return _table(CutLines.of(paths, KEYS))
    except (UnusualError, DataError, OSError, UnicodeError):
        return None


def _table(lines: CutLines) -> tuple[ScoreTable, tuple[str, ...]]:
    heads, middles, tails = lines.bodies
    if any("judge" not in body for body in heads):
        raise UnusualError
    if any(IN_MIDDLE & body.keys() for part in (heads, tails) for body in part):
        raise UnusualError
    if any("outcome" in body for part in (heads, middles) for body in part):
        raise UnusualError
    # A score must be an answer of the scale, so each is checked once with every scale it stands beside.
    scales = Coded.of(repr(body.get("scale")) for body in middles)
    beside = scales.codes[lines.rows[1]] * len(tails) + lines.rows[2]
    for line in lines.samples(0, 2, beside=beside):
        score_of("", lines.body(line))
    forms = Forms.of(lines, NAMES)
    known = [score_of("", lines.body(line)).shown for line in forms.lines.tolist()]
    told = zip(forms.codes.tolist(), middles, strict=True)
    shown = Coded.of(_named(known[form], body) for form, body in told)
    texts = _in_order(shown.values)
    place = {text: number for number, text in enumerate(texts)}
    ranks = np.array([place[text] for text in shown.values], dtype=np.int64)
    outcomes = Coded.of((body["score"], body.get("outcome")) for body in tails)
    judges = sorted({body["judge"] for body in heads})
    protocols, protocol = lines.named("protocol", "base")
    probes = sorted({body["probe"] for body in middles})
    table = _sorted(
        ScoreTable(
            tuple(judges),
            protocols,
            tuple(probes),
            texts,
            outcomes.values,
            lines.column(0, (judges.index(body["judge"]) for body in heads)),
            protocol,
            lines.column(1, (probes.index(body["probe"]) for body in middles)),
            ranks[shown.codes[lines.rows[1]]],
            outcomes.codes[lines.rows[2]],
            lines.anywhere("replicate", int, 0),
        )
    )
    _check_calls(table)
    return _with_scale(table)


def _named(text: Shown, body: Body) -> Shown:
    """The same text under other names."""
    return Shown(
        text.probe,
        body["item"],
        text.variant,
        text.edit,
        text.level,
        text.expected,
        body.get("task"),
        body.get("stratum"),
        text.scale,
        *_OF_TEXT(text),
    )


def _scaled(text: Shown, scale: str) -> Shown:
    """The same text on this scale."""
    names = text.probe, text.item, text.variant, text.edit
    return Shown(*names, text.level, text.expected, text.task, text.stratum, scale, *_OF_TEXT(text))


def _in_order(texts: Sequence[Shown]) -> tuple[Shown, ...]:
    """Texts as calls sort by them; two that share a name, or sort alike, are unusual."""
    if len({text.name for text in texts}) < len(texts) or len({text.sorts for text in texts}) < len(texts):
        raise UnusualError
    return tuple(sorted(texts, key=lambda text: text.sorts))


def _sorted(table: ScoreTable) -> ScoreTable:
    order = np.lexsort((table.replicate, table.text, table.probe, table.protocol, table.judge))
    names = ("judge", "protocol", "probe", "text", "outcome", "replicate")
    return replace(table, **{name: getattr(table, name)[order] for name in names})


def _check_calls(table: ScoreTable) -> None:
    """No call stands there twice, and a text told under several probes has one outcome."""
    trial = [table.judge, table.protocol, table.text, table.replicate]
    if _repeated([*trial, table.probe]).any():
        raise UnusualError
    order = np.lexsort(trial[::-1])
    twins = _repeated([column[order] for column in trial], in_order=True)
    outcome = table.outcome[order]
    if np.any(twins & (outcome[1:] != outcome[:-1])):
        raise UnusualError


def _repeated(columns: Sequence[Ints], *, in_order: bool = False) -> Mask:
    """Rows that are equal to the one before them in every column, once sorted."""
    if not in_order:
        order = np.lexsort(columns)
        columns = [column[order] for column in columns]
    return np.asarray(np.all([column[1:] == column[:-1] for column in columns], axis=0))


def _with_scale(table: ScoreTable) -> tuple[ScoreTable, tuple[str, ...]]:
    """The table with the scale of every text, and what was assumed of it."""
    without = np.array([text.scale is None for text in table.texts], dtype=np.bool_)
    if not without.any():
        return table, ()
    given = distinct(table.outcome[without[table.text]]).tolist()
    scores = {table.outcomes[code][0] for code in given}
    labels = {text.expected for text in table.texts if text.scale is None}
    scale = scale_found({value for value in scores | labels if value is not None})
    texts = tuple(text if text.scale else _scaled(text, scale) for text in table.texts)
    return replace(table, texts=texts), assumed(scale)
