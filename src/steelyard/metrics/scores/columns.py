"""Scores in columns: one row per pointwise call; other ranges are rescaled to that of the item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Any

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, Words, distinct, numbered, unwritable, weak_cache
from steelyard.metrics.estimate import Sample
from steelyard.stimuli.original import ORIGINAL
from steelyard.stimuli.rubric_edits import rescale
from steelyard.stimuli.stimulus import Expectation, Label, Stimulus
from steelyard.tasks.task import Ordinal, parse_scale
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Unreadable, Verdict

_NAMES = ("items", "stimuli", "clusters")


class Outcome(IntEnum):
    """How a call on a single text ended; `Scores.decided` and `Scores.readable` rely on the order."""

    SCORED = 0
    ABSTAINED = 1
    UNREADABLE = 2
    FAILED = 3


@dataclass(frozen=True, eq=False)
class Scores:
    """Columns of equal length; all arithmetic on scores starts here."""

    item: Ints
    """Item number, an index into `items`; an item and its edits share it."""
    stimulus: Ints
    """Input number, an index into `stimuli`; repeats of the same input share it."""
    original: Mask
    replicate: Ints
    cluster: Ints
    stratum: Words
    score: Ints
    """What the judge answered; meaningful where `outcome` is SCORED, elsewhere the low end of the scale."""
    outcome: Ints
    expected: Floats
    """The label a sound judge gives; NaN where nobody has said."""
    own_label: Mask
    """True where that label is the judge's own verdict, which says nothing of the judge."""
    strength: Floats
    low: Ints
    high: Ints
    fail_value: Floats
    """Answer that says that a text or run fails; NaN where nobody has said, and low answers are taken to."""
    items: tuple[str, ...]
    stimuli: tuple[str, ...]
    clusters: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.item)

    def where(self, mask: Mask) -> Scores:
        columns: dict[str, Any] = {
            f.name: getattr(self, f.name)[mask] for f in fields(self) if f.name not in _NAMES
        }
        return replace(self, **columns)

    @property
    def decided(self) -> Mask:
        return np.asarray(self.outcome == Outcome.SCORED)

    @property
    def readable(self) -> Mask:
        """The call ended in a verdict that counts: a score or a valid abstention."""
        return np.asarray(self.outcome <= Outcome.ABSTAINED)

    @property
    def reports(self) -> Mask:
        return np.asarray(self.decided & (self.score > self.low))

    @property
    def share(self) -> Floats:
        """Each score as a share of its scale."""
        return np.asarray((self.score - self.low) / np.maximum(1, self.high - self.low))

    @property
    def right(self) -> Mask:
        return self.decided & np.equal(self.score, self.expected)

    @property
    def labelled(self) -> Mask:
        """Somebody other than the judge has said which score is right."""
        return ~np.isnan(self.expected) & ~self.own_label

    @property
    def binary(self) -> Mask:
        return np.asarray((self.low == 0) & (self.high == 1))

    @property
    def with_pass_high(self) -> Scores:
        """The same calls with scores and labels turned round where high answers fail: up is passing."""
        turned = np.asarray(self.fail_value == self.high)
        if not turned.any():
            return self
        ends, fail_value = self.low + self.high, np.where(turned, self.low, self.fail_value)
        score = np.where(turned & self.decided, ends - self.score, self.score)
        expected = np.where(turned, ends - self.expected, self.expected)
        return replace(self, score=score, expected=expected, fail_value=fail_value)

    @property
    def n_items(self) -> int:
        return len(distinct(self.item))

    @property
    def n_clusters(self) -> int:
        return len(distinct(self.cluster))

    @property
    def unit(self) -> Ints:
        """What is drawn again in a bootstrap: the cluster; where there is one cluster only, the item."""
        return self.cluster if self.n_clusters > 1 else self.item

    def by_item(self, column: Ints) -> Ints:
        """What all rows of an item share, by the item's number; 0 for items without a row."""
        values = np.zeros(len(self.items), dtype=np.int64)
        values[self.item] = column
        return values

    def sample(self, lost: Mapping[str, int]) -> Sample:
        """What a figure of these calls rests on, beside calls without a verdict."""
        return Sample(len(self), self.n_items, self.n_clusters, lost)

    def lost(self) -> dict[str, int]:
        return {
            "unreadable": int(np.count_nonzero(self.outcome == Outcome.UNREADABLE)),
            "failed": int(np.count_nonzero(self.outcome == Outcome.FAILED)),
        }


def collect_scores(observations: Iterable[Observation]) -> Scores:
    """One row per call, sorted by input and repeat, so that arrival order does not matter.

    Whoever asks for the scores of the same collection gets the same columns, and must not change them.
    """
    scores = _collected(Observations.of(observations))
    unwritable(vars(scores).values())
    return scores


@weak_cache
def _collected(seen: Observations) -> Scores:
    order = np.lexsort((seen.replicate, seen.stimulus))
    shown, row = seen.shown, seen.stimulus[order]
    stimuli, number = numbered(row)
    items, item = numbered(shown.item[row])
    named, cluster = numbered(shown.cluster[row])
    low, high = shown.ends[row].T
    endings = [_outcome(verdict) for verdict in seen.verdicts]
    outcome, score = np.array(endings, dtype=np.int64).reshape(-1, 2)[seen.verdict[order]].T
    return Scores(
        item=item,
        stimulus=number,
        original=shown.original[row],
        replicate=seen.replicate[order],
        cluster=cluster,
        stratum=shown.stratum[row],
        score=np.where(outcome == Outcome.SCORED, score, low),
        outcome=outcome,
        expected=shown.expected[row],
        own_label=seen.own_label[order],
        strength=shown.strength[row],
        low=low,
        high=high,
        fail_value=shown.failing[row],
        items=tuple(shown.items[items].tolist()),
        stimuli=tuple(shown.ids[stimuli].tolist()),
        clusters=tuple(shown.clusters[named].tolist()),
    )


def _outcome(verdict: Verdict) -> tuple[Outcome, int]:
    match verdict:
        case Decided(value=value):
            return Outcome.SCORED, int(value)
        case Abstained():
            return Outcome.ABSTAINED, 0
        case Unreadable():
            return Outcome.UNREADABLE, 0
        case Failed():
            return Outcome.FAILED, 0
    raise ValueError(f"not a pointwise verdict: {verdict!r}")


def rescaled_to_original(observations: Iterable[Observation]) -> Observations:
    """Every call as if it had been made on the range of its unchanged item, where that was shown."""
    seen = Observations.of(observations)
    if _on_one_range(seen):
        return seen
    plain = {s.lineage.parent: s for s in seen.stimuli_seen if s.kind == ORIGINAL}
    return Observations.of(_rescaled(o, plain.get(o.stimulus.lineage.parent, o.stimulus)) for o in seen)


def _on_one_range(seen: Observations) -> bool:
    shown, mine = seen.shown, distinct(seen.stimulus)
    scale, item, plain = shown.scales.codes[mine], shown.item[mine], shown.original[mine]
    of_item = np.full(len(shown.items), -1, dtype=np.int64)
    of_item[item[plain]] = scale[plain]
    return bool(np.all((of_item[item] < 0) | (of_item[item] == scale)))


def _rescaled(observation: Observation, original: Stimulus) -> Observation:
    shown = observation.stimulus
    if shown.scale == original.scale:
        return observation
    source, target = parse_scale(original.scale or ""), parse_scale(shown.scale or "")
    if not isinstance(source, Ordinal) or not isinstance(target, Ordinal):
        return observation  # nothing on the one lies where something on the other does
    verdict = observation.verdict
    if isinstance(verdict, Decided):
        verdict = Decided(rescale(verdict.value, target, source))
    moved = replace(shown, scale=original.scale, expectation=_label(shown, original, target, source))
    return replace(observation, stimulus=moved, verdict=verdict)


def _label(shown: Stimulus, original: Stimulus, target: Ordinal, source: Ordinal) -> Expectation:
    """The label of the unchanged item where it was renumbered; where an edit changes it, its place."""
    own, plain = shown.expectation, original.expectation
    if not isinstance(own, Label):
        return own
    if isinstance(plain, Label) and own.value == rescale(plain.value, source, target):
        return plain
    return Label(rescale(own.value, target, source))
