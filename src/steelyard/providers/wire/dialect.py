"""What a server takes of a request: each field in the best form that it did not refuse."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from steelyard.providers.wire.error_body import ErrorBody


@dataclass(frozen=True)
class Field:
    """A part of a request that servers may refuse."""

    name: str
    """What it is called among the judge's keys."""
    forms: tuple[str | None, ...]
    """Ways to send it, best first; None leaves it to the server, and without None it has to be sent."""
    refused_as: tuple[str, ...] = ()
    """Names that refusals of it use; its own where there are none."""

    def refused(self, error: ErrorBody) -> bool:
        """Whether the server objects to it."""
        return any(error.names(name) for name in self.refused_as or (self.name,))


@dataclass(frozen=True)
class Dialect:
    """What a server turned out not to take; it only ever grows."""

    steps: Mapping[str, int] = field(default_factory=dict)
    """How many forms of a field were refused, by its name; absent where none was."""

    @cached_property
    def canonical(self) -> tuple[tuple[str, int], ...]:
        """The same for dialects that know the same."""
        return tuple(sorted(self.steps.items()))

    @classmethod
    def without(cls, names: Collection[str]) -> Dialect:
        """Where the first forms of these fields are known to be refused."""
        return cls(dict.fromkeys(names, 1))

    def form(self, field: Field) -> str | None:
        """How the field is sent; None where it is not."""
        return field.forms[min(self.steps.get(field.name, 0), len(field.forms) - 1)]

    def merged(self, other: Dialect) -> Dialect:
        """What both have learnt: calls in flight at the same time learn apart."""
        if other is self:
            return self
        names = {*self.steps, *other.steps}
        return Dialect({name: max(self.steps.get(name, 0), other.steps.get(name, 0)) for name in names})

    def after(self, error: ErrorBody, sent: Sequence[Field]) -> Dialect | None:
        """The next dialect to try when the server objects to a field of ours; None when there is none."""
        for each in sent:
            step = self.steps.get(each.name, 0) + 1
            if step < len(each.forms) and each.refused(error):
                return Dialect({**self.steps, each.name: step})
        return None

    def last(self, error: ErrorBody, sent: Sequence[Field]) -> Field | None:
        """The field that has to be sent, and whose last form the server objects to."""
        return next((each for each in sent if each.forms[-1] is not None and each.refused(error)), None)
