"""Prompts for the embedded model: short, and what trials share comes first, because reading is what costs.

The protocols of a pair differ in their last line only: another question about a pair that was read for the
base question costs a few tokens.
"""

from __future__ import annotations

_PAIR = """\
{{ instruction }} {{ rubric }}

Request: {{ request }}

Answer 1:
{{ fence }}
{{ first }}
{{ fence }}
Answer 2:
{{ fence }}
{{ second }}
{{ fence }}
"""

EMBEDDED_PROMPT = _PAIR + "Which is better? Reply 1, 2 or tie."
"""Base protocol of `embedded/smollm2-135m`."""

EMBEDDED_STRICT_PROMPT = (
    _PAIR + "Which is better? Unless one is clearly better, reply tie. Reply 1, 2 or tie."
)
"""Strict protocol of `embedded/smollm2-135m`: the same question with a higher bar for a preference."""

EMBEDDED_GRADED = {
    "lenient": _PAIR + "Which is better, if only a little? Reply 1, 2 or tie.",
    "base": EMBEDDED_PROMPT,
    "strict": EMBEDDED_STRICT_PROMPT,
    "strictest": _PAIR + "Which is better? Unless one is far better, reply tie. Reply 1, 2 or tie.",
}
"""Protocol name to prompt of `embedded/smollm2-135m`, from lenient to strict."""

EMBEDDED_SCORE_PROMPT = """\
{{ instruction }} {{ rubric }}

Request: {{ request }}

Response:
{{ fence }}
{{ response }}
{{ fence }}
Give the score, a whole number from {{ low }} to {{ high }}. Reply with the number only."""
"""Prompt of `embedded/smollm2-135m` for the score of one text."""
