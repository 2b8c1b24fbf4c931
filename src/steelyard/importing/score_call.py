"""One recorded score: which item, shown how, and what the judge gave."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from operator import attrgetter
from typing import Any

from steelyard.errors import DataError
from steelyard.importing.call import REASON
from steelyard.tasks.scale import Binary, scale_name
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Unreadable, Verdict

BINARY = scale_name(Binary())

ABSENCES: dict[str, Verdict] = {
    "abstain": Abstained(),
    "unreadable": Unreadable(REASON),
    "failed": Failed(REASON),
}
"""What a call without a score may have come to."""


@dataclass(frozen=True)
class Shown:
    """What a file says of a single text; every call on it must say the same."""

    probe: str
    """The probe it was edited for; `original` for an item as it is."""
    item: str
    """Name of the item."""
    variant: str
    """`original` or `perturbed`; for vacuum the kind of nothing."""
    edit: str | None = None
    """What was done to the item, where the file says so; tells edits of one item apart."""
    level: float | None = None
    """Strength of a graded edit."""
    expected: int | None = None
    """Reference answer; None where nobody has said."""
    task: str | None = None
    """Cluster, by the file's own key; None where the file names none, so that each item stands for itself."""
    stratum: str | None = None
    """Part of the data."""
    scale: str | None = None
    """`binary` or a range; None where the file leaves it to the scores."""
    failing: int | None = None
    """Answer that says that the text or run fails; None where nobody has said."""
    words: int | None = None
    """Words of the text, where they are known."""
    run: bool | None = None
    """True for a run of an agent; None where the file does not say so."""
    change_depth: float | None = None
    """Where in the run the first message that an edit changed or added stands, 0 to 1."""
    changed_words: int | None = None
    """Words of the run that an edit changed."""

    @cached_property
    def name(self) -> tuple[str, str, str, str, float]:
        """What tells one text from another."""
        return (
            self.item,
            self.probe,
            self.variant,
            self.edit or "",
            -1.0 if self.level is None else self.level,
        )

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What is known of it, as a line says it."""
        known = dict(zip(_FACTS, _told(self), strict=True))
        if self.probe == "vacuum":
            known["kind"] = known.pop("variant")
        return {name: value for name, value in known.items() if value is not None}

    @cached_property
    def sorts(self) -> tuple[str, ...]:
        """The name as texts that sort as its parts do."""
        return tuple(sortable(part) for part in self.name)


_FACTS = tuple(f.name for f in fields(Shown))
_told = attrgetter(*_FACTS)


@dataclass(frozen=True)
class ScoreCall:
    """One line of `observations.jsonl` of an import of scores."""

    judge: str
    """Name on the datasheet."""
    protocol: str
    """`base` or the name of another prompt."""
    probe: str
    """The probe that the call was made for; several may tell of one call on an item as it is."""
    shown: Shown
    """What was judged."""
    score: int | None
    """The score; None where there is none."""
    absence: str | None
    """A key of `ABSENCES` where there is no score."""
    replicate: int
    """0, 1, …"""
    where: str
    """File and line, for messages."""

    @property
    def key(self) -> tuple[object, ...]:
        """What no two calls share."""
        return self.judge, self.protocol, self.probe, *self.shown.name, self.replicate

    @property
    def sorts(self) -> tuple[str, ...]:
        """Calls sort by it: the key, with numbers in places of equal length."""
        return self.judge, self.protocol, self.probe, *self.shown.sorts, sortable(self.replicate)

    @property
    def trial(self) -> tuple[object, ...]:
        """The call itself, under whichever probe it is told."""
        return self.judge, self.protocol, *self.shown.name, self.replicate

    @property
    def verdict(self) -> Verdict:
        """What the call came to."""
        return ABSENCES[self.absence or "failed"] if self.score is None else Decided(str(self.score))

    def to_json(self) -> dict[str, Any]:
        """The call in the project's own format; what is not known is left out."""
        return {
            "judge": self.judge,
            "protocol": self.protocol,
            **self.shown.facts,
            "probe": self.probe,
            "score": self.score,
            **({} if self.absence is None else {"outcome": self.absence}),
            "replicate": self.replicate,
        }


def sortable(part: object) -> str:
    """A text that sorts among its like as the part does."""
    return f"{part:020.6f}" if isinstance(part, (int, float)) else str(part)


def refuse_mixed(texts: Iterable[Shown], where: str) -> None:
    """A text and its edits are all binary or all on ranges: no answer on the one is like one on the other."""
    scales: dict[str, str | None] = {}
    for shown in texts:
        first = scales.setdefault(shown.item, shown.scale)
        if first != shown.scale and BINARY in (first, shown.scale):
            raise DataError(
                f"{where}: item {shown.item!r} is scored on {first} and on {shown.scale}, expected a text "
                "and its edits on binary alone, or on ranges; give one of them another item."
            )
