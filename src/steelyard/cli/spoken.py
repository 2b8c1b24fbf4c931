"""The command as it was given, so far as it says what to measure: what a user would type to do so again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import click
from click.core import ParameterSource

DECIDING = (
    *("study", "judges", "probes", "scale", "profile", "until", "replicates", "seed", "out"),
    *("data", "columns", "labels", "adapter", "stratify", "sample", "where", "preprocess", "failing"),
    *("rubric", "prompt", "answers"),
)
"""Parameters that say what is measured and where it lies; the others say how fast, and what is printed."""


def spoken() -> tuple[str, ...] | None:
    """The arguments of the running command; None where none is running."""
    context = click.get_current_context(silent=True)
    if context is None:
        return None
    return tuple(word for parameter in context.command.params for word in _words(context, parameter))


def _words(context: click.Context, parameter: click.Parameter) -> Iterator[str]:
    name = parameter.name or ""
    source = context.get_parameter_source(name)
    if name not in DECIDING or source in (None, ParameterSource.DEFAULT):
        return
    option = min(parameter.opts, key=len)
    for value in _each(context.params[name]):
        if isinstance(parameter, click.Option):
            yield option
        yield str(value)


def _each(value: Any) -> Iterable[Any]:
    return value if isinstance(value, tuple) else (value,)
