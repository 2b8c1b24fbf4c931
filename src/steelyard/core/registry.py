"""One registry for everything that is looked up by name, open to other packages through entry points.

A plug-in package declares, for a probe::

    [project.entry-points."steelyard.probes"]
    my_probe = "my_package.my_probe:MyProbe"
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from steelyard.errors import UnknownNameError

T = TypeVar("T")


@dataclass(frozen=True)
class Spec:
    """A name and its arguments: enough to build the thing again."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)


class Registry(Generic[T]):
    def __init__(self, kind: str, builtin: Mapping[str, str] | None = None, hint: str = "") -> None:
        """`builtin` maps names to `module:attribute`, imported at first use; `hint` is for unknown names."""
        self.kind = kind
        self._hint = hint
        self._builtin = tuple(builtin or ())
        self._lazy: dict[str, str] = dict(builtin or {})
        self._factories: dict[str, Callable[..., T]] = {}
        self._searched = False

    def register(self, name: str, factory: Callable[..., T]) -> None:
        """Add a factory under a name; the last one wins."""
        self._factories[name] = factory

    def names(self) -> list[str]:
        self._search()
        return sorted({*self._lazy, *self._factories})

    def in_order(self) -> list[str]:
        """Built-in names as they were declared, then those of plug-ins, sorted."""
        others = [name for name in self.names() if name not in self._builtin]
        return [*self._builtin, *others]

    def added(self, name: str) -> bool:
        return name not in self._builtin and name in self.names()

    def factory(self, name: str) -> Callable[..., T]:
        if name not in self._factories and name not in self._lazy:
            self._search()
        if name not in self._factories:
            if name not in self._lazy:
                reason = f"no installed package brings it; {self._hint}"
                require_known(self.kind, name, self.names(), reason)
            module, _, attribute = self._lazy[name].partition(":")
            self._factories[name] = getattr(import_module(module), attribute)
        return self._factories[name]

    def build(self, spec: Spec) -> T:
        return self.factory(spec.name)(**spec.args)

    def _search(self) -> None:
        if not self._searched:
            self._searched = True
            for point in entry_points(group=f"steelyard.{self.kind}s"):
                self._lazy.setdefault(point.name, point.value)


def require_known(kind: str, name: str, known: Iterable[str], reason: str = "") -> None:
    """Raise for an unknown name, with the nearest known one or all of them."""
    names = list(known)
    if name in names:
        return
    close = get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"{reason}known: {', '.join(names)}."
    raise UnknownNameError(f"unknown {kind} {name!r}: {hint}")
