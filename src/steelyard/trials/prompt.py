"""Prompt templates: values go in verbatim, once, and are never rendered again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, meta
from jinja2.sandbox import SandboxedEnvironment

from steelyard.errors import ConfigError

PAIRWISE_VARIABLES = frozenset({"instruction", "request", "rubric", "reference", "first", "second", "fence"})
POINTWISE_VARIABLES = frozenset(
    {"instruction", "request", "rubric", "reference", "response", "transcript", "low", "high", "fence"}
)

PAIRWISE_SHOWN = frozenset({"first", "second"})
"""What a prompt about two texts must show."""
POINTWISE_SHOWN = frozenset({"response"})
"""What a prompt about one text must show."""
TRANSCRIPT_SHOWN = frozenset({"transcript"})

FENCE = "====="
"""Mark around each candidate; lengthened only when a value contains it."""


@cache
def _environment() -> SandboxedEnvironment:
    return SandboxedEnvironment(
        autoescape=False, undefined=StrictUndefined, keep_trailing_newline=False, trim_blocks=True
    )


@cache
def _compiled(text: str) -> Template:
    return _environment().from_string(text)


@dataclass(frozen=True)
class PromptTemplate:
    text: str
    origin: str = field(default="built-in", compare=False)

    def check(self, allowed: frozenset[str]) -> frozenset[str]:
        """The variables it names; a template that does not compile or names an unknown one is refused."""
        try:
            named = meta.find_undeclared_variables(_environment().parse(self.text))
            _compiled(self.text)
        except TemplateSyntaxError as error:
            raise ConfigError(
                f"{self.origin}, line {error.lineno}: not a valid Jinja2 template ({error.message}); "
                "correct the template."
            ) from error
        except (RecursionError, SyntaxError, MemoryError) as error:
            raise ConfigError(
                f"{self.origin}: the template is nested too deeply ({_reason(error)}); simplify it."
            ) from error
        unknown = sorted(named - allowed)
        if unknown:
            raise ConfigError(
                f"{self.origin}: unknown variable {unknown[0]!r}; known here: {', '.join(sorted(allowed))}."
            )
        return frozenset(named)

    def render(self, values: Mapping[str, object]) -> str:
        """Insert the values verbatim; a fence longer than any in the values is added."""
        filled = {**values, "fence": fence_for(values)}
        try:
            return _compiled(self.text).render(filled)
        except Exception as error:  # a template is a program: whatever it raises is its author's to mend
            raise ConfigError(
                f"{self.origin}: the template cannot be rendered ({_reason(error)}); correct the template."
            ) from error


def _reason(error: BaseException) -> str:
    """The error's own words on one line."""
    return " ".join(str(error).split()) or type(error).__name__


def _texts(value: object) -> Iterator[str]:
    """Every text in a value, lists of texts included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _texts(part)


def fence_for(values: Mapping[str, object]) -> str:
    """The fixed mark, or one sign longer than the longest run of it in the data."""
    marked = [text for value in values.values() for text in _texts(value) if "=" in text]
    runs = [len(run) for text in marked for run in re.findall("=+", text)]
    longest = max(runs, default=0)
    return FENCE if longest < len(FENCE) else "=" * (longest + 1)
