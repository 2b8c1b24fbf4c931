"""Which form of each request field a server accepts, learnt from its error responses."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from steelyard.providers.http.error_body import ErrorBody


@dataclass(frozen=True)
class RequestField:
    """A field of a request that servers may reject."""

    name: str
    """What it is called among the judge's keys."""
    forms: tuple[str | None, ...]
    """Ways to send it, best first; None leaves it to the server, and without None it has to be sent."""
    error_names: tuple[str, ...] = ()
    """Names that error responses use for it; its own where there are none."""

    def is_rejected_by(self, error: ErrorBody) -> bool:
        """Whether the server objects to it."""
        return any(error.mentions(name) for name in self.error_names or (self.name,))


@dataclass(frozen=True)
class Dialect:
    """The forms of fields that a server rejected; it only ever grows."""

    steps: Mapping[str, int] = field(default_factory=dict)
    """How many forms of a field were rejected, by its name; absent where none was."""

    @cached_property
    def canonical(self) -> tuple[tuple[str, int], ...]:
        """Equal for dialects that reject the same."""
        return tuple(sorted(self.steps.items()))

    @classmethod
    def rejecting(cls, names: Collection[str]) -> Dialect:
        """The dialect that is known to reject the first forms of these fields."""
        return cls(dict.fromkeys(names, 1))

    def form(self, field: RequestField) -> str | None:
        """How the field is sent; None where it is not."""
        return field.forms[min(self.steps.get(field.name, 0), len(field.forms) - 1)]

    def merge(self, other: Dialect) -> Dialect:
        """What both have learnt: calls in flight at the same time learn apart."""
        if other is self:
            return self
        names = {*self.steps, *other.steps}
        return Dialect({name: max(self.steps.get(name, 0), other.steps.get(name, 0)) for name in names})

    def next_after(self, error: ErrorBody, sent: Sequence[RequestField]) -> Dialect | None:
        """The next dialect to try when the server objects to a field of ours; None when there is none."""
        for each in sent:
            step = self.steps.get(each.name, 0) + 1
            if step < len(each.forms) and each.is_rejected_by(error):
                return Dialect({**self.steps, each.name: step})
        return None

    def exhausted_field(self, error: ErrorBody, sent: Sequence[RequestField]) -> RequestField | None:
        """The field that has to be sent, and whose last form the server objects to."""
        return next(
            (each for each in sent if each.forms[-1] is not None and each.is_rejected_by(error)), None
        )
