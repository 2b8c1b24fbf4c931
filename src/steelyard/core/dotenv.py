"""Keys, tokens and passwords: in the environment, known by names or values, and in a `.env` file.

The file supplies keys and nothing else, since it may lie in a folder that somebody else made.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
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


_values: dict[str, str] = {}
_taken: dict[str, Path] = {}
"""Variables that the environment does not hold by itself, and the file that they are of."""


def load_dotenv(start: Path) -> tuple[Path, list[str]] | None:
    """Take the keys of the nearest file; return its path and the variables that do not look like keys."""
    _values.clear()
    _taken.clear()
    for folder in (start, *start.parents):
        path = folder / ".env"
        if path.is_file():
            values = parse_dotenv(path.read_text(encoding="utf-8", errors="replace"))
            _taken.update({name: path for name in values if not os.environ.get(name)})
            for name in VENDOR_KEYS & values.keys():  # where the clients of one's own judge look for them
                os.environ.setdefault(name, values[name])
            _values.update(values)
            return path, [name for name in values if name not in VENDOR_KEYS and not is_key_name(name)]
    return None


def key_from(name: str) -> str:
    """The value of a variable that a judge names for its key: of the environment, else of the file."""
    return (os.environ.get(name) or _values.get(name, "")).strip()


def file_of_key(name: str) -> Path | None:
    """The file that a key was taken from; None for one of the environment."""
    return _taken.get(name)


def known_keys() -> Mapping[str, str]:
    """Secrets of the environment and of the file, to the variables that hold them; the longest first."""
    return keys_in((*_values.items(), *os.environ.items()))


def keys_to_strike() -> dict[str, str]:
    """Those that no prompt holds by chance."""
    return {secret: name for secret, name in known_keys().items() if is_no_word(secret)}


def parse_dotenv(text: str) -> dict[str, str]:
    values = {}
    for line in text.splitlines():
        name, separator, value = line.strip().removeprefix("export ").partition("=")
        name, value = name.strip(), value.strip()
        if not separator or name.startswith("#") or not name.isidentifier():
            continue
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        else:
            value = value.partition(" #")[0].rstrip()
        values[name] = value
    return values
