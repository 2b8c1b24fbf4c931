"""Templates in the style of `str.format`, such as those of the Judge Reliability Harness, as Jinja2.

They name values as `{response}`, write a brace of their own singly or doubly, and have no logic.
"""

from __future__ import annotations

import re

from steelyard.trials.prompt import PAIRWISE_VARIABLES, POINTWISE_VARIABLES

_OTHER_NAMES = {"lowest_score": "low", "highest_score": "high"}

_NAMES = {**{name: name for name in PAIRWISE_VARIABLES | POINTWISE_VARIABLES}, **_OTHER_NAMES}

_JINJA = re.compile(r"\{%|\{\{\s*(?:" + "|".join(_NAMES) + r")\b")
"""What only a Jinja2 template has."""

_SIGNS = re.compile(r"\{(" + "|".join(_NAMES) + r")\}|\{\{|\}\}|\{#")
"""A value, a doubled brace, and what Jinja2 would take for a comment."""

_LITERALS = {"{{": "{", "}}": "}", "{#": '{{ "{#" }}'}


def as_jinja(text: str) -> str:
    """A template of single braces in our own form; every other text as it is."""
    if _JINJA.search(text) or not any(f"{{{name}}}" in text for name in _NAMES):
        return text
    return _SIGNS.sub(lambda sign: f"{{{{ {_NAMES[sign[1]]} }}}}" if sign[1] else _LITERALS[sign[0]], text)
