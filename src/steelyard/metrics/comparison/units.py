"""The units of one judge beside those of another: which can be paired, and why the rest can not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass

from steelyard.metrics.comparison.question import Key, Question, UnitEvent
from steelyard.metrics.comparison.unit_events import LOSSES, UnitEvents, call_key


@dataclass(frozen=True)
class Dropped:
    """Units without a verdict of one judge."""

    not_shown: int = 0
    """Shown to the other judge only."""
    unreadable: int = 0
    """The reply held no answer."""
    failed: int = 0
    """There was no reply."""
    no_reference: int = 0
    """Shown to this judge too, but without a reference, or with its own verdict for one."""
    other_reference: int = 0
    """Shown to both, and held against different references."""
    abstained: int = 0
    """The verdict adds nothing to the figure."""

    def to_json(self) -> dict[str, int]:
        """A plain mapping; the reasons that few figures have where they are met."""
        everywhere = ("not_shown", "unreadable", "failed")
        return {key: count for key, count in asdict(self).items() if count or key in everywhere}


@dataclass(frozen=True)
class Units:
    """What one judge did with the units of a question."""

    events: Mapping[Key, UnitEvent]
    """The units that the question could be asked of."""
    protocol: str
    """The protocol of the question; empty for those of the whole run."""
    calls: Collection[Key]
    """Every call that the judge was asked."""

    @classmethod
    def of(cls, question: Question, events: UnitEvents) -> Units:
        """The units of a question among all that a judge showed."""
        every = next(iter(LOSSES))
        protocol = str(question.condition.get("protocol", ""))
        return cls(events.get(question, {}), protocol, events.get(every, {}).keys())

    def shared(self, other: Units) -> list[Key]:
        """Units of both judges that are held against the same reference, or against none; sorted."""
        mine, theirs = self.events, other.events
        return sorted(key for key in mine.keys() & theirs.keys() if mine[key].against == theirs[key].against)

    def dropped(self, other: Units, shared: Sequence[Key]) -> Dropped:
        """Units of the other judge that lack a verdict of this one, by reason; `shared` are those of both."""
        mine, both = self.events, self.events.keys() & other.events.keys()
        absent = other.events.keys() - mine.keys()
        seen = sum(call_key(self.protocol, key) in self.calls for key in absent)
        lost = [mine[key].loss for key in shared]
        return Dropped(
            not_shown=len(absent) - seen,
            unreadable=lost.count("unreadable"),
            failed=lost.count("failed"),
            no_reference=seen,
            other_reference=len(both) - len(lost),
            abstained=lost.count("abstained"),
        )
