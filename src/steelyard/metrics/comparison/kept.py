"""Verdicts on edited items beside those on the items as they are: kept or not, and beyond mere repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product

from steelyard.metrics.comparison.question import Key, Question, UnitEvent, loss_of, question_of
from steelyard.metrics.metric import Metric
from steelyard.metrics.scores.invariance import EXCESS_FLIP, INVARIANCE
from steelyard.stimuli.expectation import Label
from steelyard.stimuli.original import ORIGINAL, PERTURBED
from steelyard.stimuli.stimulus import Stimulus
from steelyard.verdicts.observations import Observation
from steelyard.verdicts.verdict import Abstained, Decided, Verdict

Entry = tuple[Question, Key, UnitEvent]
"""A unit under its question."""
Identity = Callable[[Stimulus], str]
"""What makes two stimuli the same."""


def kept_events(
    scores: Sequence[Observation], identity: Identity, metrics_of: Callable[[str], Sequence[Metric]]
) -> Iterator[Entry]:
    """Edits that keep the label beside the calls on their item, of probes that report invariance."""
    originals: dict[tuple[str, str], list[Observation]] = {}
    edits: dict[tuple[str, str, str], list[Observation]] = {}
    for seen in scores:
        protocol, item = seen.protocol, seen.stimulus.lineage.parent
        if seen.stimulus.kind == ORIGINAL:
            originals.setdefault((protocol, item), []).append(seen)
        elif seen.stimulus.kind == PERTURBED:
            edits.setdefault((seen.stimulus.probe, protocol, item), []).append(seen)
    for (probe, protocol, item), edited in edits.items():
        declared = metrics_of(probe)
        plain = originals.get((protocol, item), [])
        kept = [edit for edit in edited if plain and keeps_label(edit.stimulus, plain[0].stimulus)]
        asked = {
            metric: question_of(probe, protocol, metric, {}, declared.index(metric))
            for metric in (INVARIANCE, EXCESS_FLIP)
            if metric in declared
        }
        if kept:
            yield from _items(asked, kept, plain, identity)


def _items(
    asked: Mapping[Metric, Question],
    edited: Sequence[Observation],
    plain: Sequence[Observation],
    identity: Identity,
) -> Iterator[Entry]:
    """One item under each question: every comparison of an edit, and all of them less those of repeats."""
    if INVARIANCE in asked:
        for edit, own in product(edited, plain):
            key = (identity(edit.stimulus), f"beside {own.replicate}", edit.replicate)
            loss = loss_of((edit.verdict, own.verdict))
            event = None if loss else edit.verdict == own.verdict
            shown = edit.stimulus
            yield asked[INVARIANCE], key, UnitEvent(event, loss, shown.id, shown.cluster)
    if EXCESS_FLIP in asked and len(plain) > 1:
        excess = _excess([call.verdict for call in edited], [call.verdict for call in plain])
        loss = None if excess is not None else loss_of(call.verdict for call in (*edited, *plain))
        item = plain[0].stimulus
        unit = UnitEvent(excess, loss, item.id, item.cluster, ends=(-1.0, 1.0))
        yield asked[EXCESS_FLIP], (identity(item), "", 0), unit


def _excess(edited: Sequence[Verdict], plain: Sequence[Verdict]) -> float | None:
    """Share of changes by the edit less that by asking again; None where verdicts are missing for one."""
    edited, plain = (
        [verdict for verdict in side if isinstance(verdict, Decided | Abstained)] for side in (edited, plain)
    )
    changes = [edit != own for edit, own in product(edited, plain)]
    repeats = [one != other for one, other in combinations(plain, 2)]
    if not changes or not repeats:
        return None
    return sum(changes) / len(changes) - sum(repeats) / len(repeats)


def keeps_label(edited: Stimulus, original: Stimulus) -> bool:
    """The edit expects the label of the unchanged item, or has none of its own."""
    mine = edited.expectation
    return mine == original.expectation or not isinstance(mine, Label)
