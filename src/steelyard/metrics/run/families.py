"""Which family a model belongs to, told from its name."""

from __future__ import annotations

import re
from collections.abc import Mapping

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "ai2": ("olmo", "tulu"),
    "alibaba": ("qwen", "qwq"),
    "amazon": ("nova", "titan"),
    "anthropic": ("claude", "sonnet", "opus", "haiku"),
    "cohere": ("command", "aya"),
    "deepseek": ("deepseek",),
    "google": ("gemini", "gemma", "palm", "bard"),
    "hugging face": ("smollm", "zephyr"),
    "ibm": ("granite",),
    "lmsys": ("vicuna",),
    "meta": ("llama",),
    "microsoft": ("phi", "wizardlm"),
    "mistral": ("mistral", "mixtral", "ministral", "codestral", "magistral"),
    "moonshot": ("kimi",),
    "nvidia": ("nemotron",),
    "openai": ("gpt", "chatgpt", "davinci", "o1", "o3", "o4"),
    "xai": ("grok",),
    "zhipu": ("glm", "chatglm"),
}
"""Maker to the words that its models are named by."""

_WORDS = {word: family for family, words in FAMILIES.items() for word in words}


def family_of(name: str, given: Mapping[str, str] | None = None) -> str | None:
    """The family of a judge or author: as given, else by the first word of the name that is known."""
    if given and name in given:
        return given[name].lower()
    for word in re.findall(r"[a-z0-9]+", name.lower()):
        known = _WORDS.get(word) or _WORDS.get(re.sub(r"[0-9].*$", "", word))
        if known is not None:
            return known
    return None
