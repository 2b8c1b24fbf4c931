"""What models are known not to take, by their names, whoever serves them.

Sources: the vendors' guides to reasoning models (OpenAI "Reasoning models", Anthropic "Migration guide" and
"Adaptive thinking", Google "Gemini thinking", DeepSeek "Thinking mode", xAI "Reasoning", Kimi "Parameter
comparison"). A model that is not listed loses nothing but one refused request: what it does not take is
learnt from the refusal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Quirks:
    """What is known of some models."""

    models: str = ""
    """Which, in words."""
    pattern: str = ""
    """How their names begin, after vendor and folder."""
    refuses: frozenset[str] = frozenset()
    """Names of fields whose first form is refused."""
    thinks: bool = False
    """Thinks before it answers unless told otherwise, and its thoughts count against the token limit."""


def _known(models: str, pattern: str, *refuses: str, thinks: bool = True) -> Quirks:
    return Quirks(models, pattern, frozenset(refuses), thinks)


TABLE = (
    _known("gpt-5-chat", r"gpt-5-chat", "max_tokens", thinks=False),
    _known("o1, o3, o4, gpt-5", r"(o[134]|gpt-5)(-|$)", "max_tokens", "temperature", "logprobs"),
    _known("gpt-5.1 and later", r"gpt-(5\.\d|[6-9])", "max_tokens"),
    _known("gpt-oss", r"gpt-oss"),
    _known("Claude Opus 4.7 and 4.8", r"claude-opus-4[-.][78]", "temperature", thinks=False),
    _known("Claude 5 and later", r"claude-[a-z]+-([5-9]|\d\d)([-.]|$)", "temperature"),
    _known("Gemini 2.5 and later", r"gemini-(2\.5|[3-9])"),
    _known("DeepSeek reasoner and R1", r"deepseek[-.](reasoner|r1)", "logprobs"),
    _known("DeepSeek V4 and later", r"deepseek-(v[4-9]|flash|pro)"),
    _known("Grok 3 mini, Grok 4 and later", r"grok-(3-mini|[4-9])"),
    _known(
        "Magistral, QwQ, Qwen 3, Kimi K2 Thinking, K2.5 and later, GLM, MiniMax M",
        r"magistral|qwq|qwen-?3|kimi-k(2-thinking|2\.\d|[3-9])|glm-(4\.\d|[5-9])|minimax-m\d",
    ),
)
"""The first whose pattern fits counts."""


@cache
def quirks_of(model: str) -> Quirks:
    """What is known of a model: `anthropic/claude-opus-5` at a gateway is what it is at its maker's."""
    return next((quirks for quirks in TABLE if re.match(quirks.pattern, _bare(model))), Quirks())


def _bare(model: str) -> str:
    """The name without folders, regions and vendors before it: `us.anthropic.claude-…` and `openai/gpt-…`."""
    name = model.lower().rpartition("/")[2]
    return re.sub(r"^((us|eu|apac|global|au|jp|ca)\.)?(anthropic|openai|deepseek|qwen|minimax)\.", "", name)
