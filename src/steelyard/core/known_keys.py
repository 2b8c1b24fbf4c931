"""Keys, tokens and passwords in the environment, known by the names of variables or by their values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from urllib.parse import unquote

VENDOR_KEYS = frozenset(
    (
        *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "AZURE_OPENAI_API_KEY"),
        *("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
        *("OPENROUTER_API_KEY", "TOGETHER_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY", "DEEPSEEK_API_KEY"),
        *("XAI_API_KEY", "FIREWORKS_API_KEY", "CEREBRAS_API_KEY", "MOONSHOT_API_KEY", "HF_TOKEN"),
        "NVIDIA_API_KEY",
    )
)

_KEY_NAME = re.compile(
    r"KEY|TOKEN(?!IZER)|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|(_|^)(AUTH|PAT)$", re.I
)
_MADE_BY_VENDORS = re.compile(
    r"(?<![A-Za-z0-9])(Bearer |(sk|xai|gsk|hf|r8|nvapi|pplx|fw|gh[opsu]|github_pat|glpat|xox[abps])[-_]|AIza)"
    r"(?=[A-Za-z_-]*\d)[\w-]{16,}"
)
_RANDOM = re.compile(r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{20}")
"""Letters and digits that no name or path has in a row."""
_ONE_WORD = re.compile(r"[^/\s][^\s:;,]*")
_PASSWORD = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")


def is_key_name(name: str) -> bool:
    """Whether a variable of this name may hold a key."""
    return _KEY_NAME.search(name) is not None and not name.startswith("STEELYARD_")


def holds_key(text: str) -> bool:
    """Whether a text holds a key as vendors make them."""
    return _MADE_BY_VENDORS.search(text) is not None


@lru_cache(maxsize=8)
def keys_in(variables: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """Secrets to the variables that hold them, the longest first: one may be part of another."""
    found = {secret: name for name, value in variables for secret in _secrets(name, value.strip())}
    return dict(sorted(found.items(), key=lambda held: (-len(held[0]), held[0])))


def _secrets(name: str, value: str) -> Iterator[str]:
    if name in VENDOR_KEYS or is_key_name(name):
        yield value
    elif not name.startswith("STEELYARD_"):
        if holds_key(value) or (_ONE_WORD.fullmatch(value) and _RANDOM.search(value)):
            yield value
        for password in _PASSWORD.findall(value):
            yield from dict.fromkeys((password, unquote(password)))


def is_no_word(secret: str) -> bool:
    """Whether a secret can be struck from a prompt: no word of a language, and no number, is one."""
    both = any(map(str.isalpha, secret)) and any(map(str.isdigit, secret))
    return (both and len(secret) >= 12) or len(secret) >= 20
