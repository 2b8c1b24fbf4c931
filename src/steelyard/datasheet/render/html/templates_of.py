"""Templates of pages: every value is escaped, and a name that nobody gives is an error."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from steelyard.core.text import plural, pluralize
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import metric_named
from steelyard.datasheet.words.text import capital


def templates_of(package: str, **names: Any) -> Environment:
    """The templates of a package with the words that all pages use, and names of its own."""
    environment = Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    words = {"n": numbers, "counted": pluralize, "plural": plural, "capital": capital}
    environment.globals.update(**words, metric_named=metric_named, **names)
    return environment
