"""What models are known not to take, by their names, whoever serves them.

Sources: the vendors' guides to reasoning models (OpenAI "Reasoning models", Anthropic "Migration guide" and
"Adaptive thinking", Google "Gemini thinking", DeepSeek "Reasoning model", xAI "Reasoning"). A model that is
not listed loses nothing but one refused request: what it does not take is learnt from the refusal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Quirks:
    """What is known of some models."""

    refuses: frozenset[str] = frozenset()
    """Names of fields whose first form is refused."""
    thinks: bool = False
    """Thinks before it answers unless told otherwise, and its thoughts count against the token limit."""


def _quirks(*refuses: str, thinks: bool = False) -> Quirks:
    return Quirks(frozenset(refuses), thinks)


TABLE: tuple[tuple[str, Quirks], ...] = (
    (r"gpt-5-chat", _quirks("max_tokens")),
    (r"(o[134]|gpt-5)(-|$)", _quirks("max_tokens", "temperature", "logprobs", thinks=True)),
    (r"gpt-(5\.\d|[6-9])", _quirks("max_tokens", thinks=True)),
    (r"gpt-oss", _quirks(thinks=True)),
    (r"claude-opus-4-[78]", _quirks("temperature")),
    (r"claude-[a-z]+-([5-9]|\d\d)(-|$)", _quirks("temperature", thinks=True)),
    (r"gemini-(2\.5|[3-9])", _quirks(thinks=True)),
    (r"deepseek[-.](reasoner|r1)", _quirks("logprobs", thinks=True)),
    (r"grok-(3-mini|[4-9])", _quirks(thinks=True)),
    (r"magistral|qwq|qwen3|kimi-k2-thinking|glm-[4-9]\.\d|minimax-m\d", _quirks(thinks=True)),
)
"""Patterns of names after vendor and folder, the first that fits counts."""


@cache
def quirks_of(model: str) -> Quirks:
    """What is known of a model: `anthropic/claude-opus-5` at a gateway is what it is at its maker's."""
    return next((quirks for pattern, quirks in TABLE if re.match(pattern, _bare(model))), Quirks())


def _bare(model: str) -> str:
    """The name without folders, regions and vendors before it: `us.anthropic.claude-…` and `openai/gpt-…`."""
    name = model.lower().rpartition("/")[2]
    return re.sub(r"^((us|eu|apac|global|au|jp|ca)\.)?(anthropic|openai|deepseek|qwen|minimax)\.", "", name)


def listed() -> Iterable[tuple[str, Quirks]]:
    """Every line of the table, for the docs."""
    return iter(TABLE)
