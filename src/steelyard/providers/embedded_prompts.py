"""Prompts for the embedded model: short, and what trials share comes first, because reading is what costs."""

from __future__ import annotations

_QUESTION = """\
{{ instruction }} {{ rubric }} %s

Request: {{ request }}

Answer 1:
{{ fence }}
{{ first }}
{{ fence }}
Answer 2:
{{ fence }}
{{ second }}
{{ fence }}
Which is better? Reply 1, 2 or tie."""

EMBEDDED_PROMPT = _QUESTION % "If neither is better, it is a tie."
"""Base protocol of `embedded/smollm2-135m`."""

EMBEDDED_STRICT_PROMPT = _QUESTION % "Unless one is clearly better, it is a tie; when in doubt, reply tie."
"""Strict protocol of `embedded/smollm2-135m`: the same question with a higher bar for a preference."""
