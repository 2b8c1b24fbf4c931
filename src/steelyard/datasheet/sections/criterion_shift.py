"""What another tie instruction brings, as rows."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.datasheet.look_up import Group
from steelyard.datasheet.sections.rows import FigureRows, Row, Section
from steelyard.datasheet.words.numbers import steps_apart
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.criterion import CRITERION_SHIFT, SENSITIVITY_SHIFT

CRITERION = "criterion"
"""The probe of the shifts."""


def criterion_shift(index: FigureRows) -> Section:
    """The change of ties and of sensitivity under each protocol other than base."""
    rows: list[Row] = []
    arms = [str(name) for name in index.values(CRITERION, CRITERION_SHIFT, "protocol")]
    for protocol in arms:
        rows += _shifts(index, protocol, named=len(arms) > 1)
    question = "How many more ties does another tie instruction bring, and what does sensitivity pay?"
    return Section("Criterion shift", question, tuple(rows))


def _shifts(index: FigureRows, protocol: str, *, named: bool) -> Iterator[Row]:
    """The shifts of one arm; where there are several, its first row names it and the others are its parts."""
    for step in index.steps(CRITERION, CRITERION_SHIFT, protocol):
        label = "same quality" if step == 0 else steps_apart(step)
        first = named and step == 0
        yield from index.row(
            CRITERION,
            CRITERION_SHIFT,
            {"protocol": protocol, "delta": step},
            label=f"{protocol}, equals" if first else label,
            depth=int(named and not first),
            essential=step in (0, 1),
        )
    extra: tuple[tuple[str, Metric, Group], ...] = (
        ("vacuum", CRITERION_SHIFT, {"kind": "vacuum"}),
        ("sensitivity", SENSITIVITY_SHIFT, {"delta": 1}),
        ("sensitivity, all steps", SENSITIVITY_SHIFT, {}),
    )
    for label, metric, where in extra:
        group: Group = {"protocol": protocol, **where}
        shown = where == {"delta": 1}
        yield from index.row(CRITERION, metric, group, label=label, depth=int(named), essential=shown)
