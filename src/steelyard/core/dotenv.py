"""A `.env` file: it supplies keys and nothing else, since it may lie in a folder that somebody else made."""

from __future__ import annotations

import os
import re
from pathlib import Path

VENDOR_KEYS = frozenset(
    (
        *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "AZURE_OPENAI_API_KEY"),
        *("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
        *("OPENROUTER_API_KEY", "TOGETHER_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY", "DEEPSEEK_API_KEY"),
        *("XAI_API_KEY", "FIREWORKS_API_KEY", "CEREBRAS_API_KEY", "MOONSHOT_API_KEY", "HF_TOKEN"),
        "NVIDIA_API_KEY",
    )
)
"""Put into the environment, where the clients that a judge of one's own uses look for them."""

_MAY_BE_KEY = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|(_|^)AUTH$", re.I)
_values: dict[str, str] = {}


def load_dotenv(start: Path) -> tuple[Path, list[str]] | None:
    """Take the keys of the nearest file; return its path and the variables that do not look like keys."""
    _values.clear()
    for folder in (start, *start.parents):
        path = folder / ".env"
        if path.is_file():
            values = parse_dotenv(path.read_text(encoding="utf-8", errors="replace"))
            for name in VENDOR_KEYS & values.keys():
                os.environ.setdefault(name, values[name])
            _values.update(values)
            return path, [name for name in values if name not in VENDOR_KEYS and not may_be_key(name)]
    return None


def key_from(name: str) -> str:
    """The value of a variable that a judge names for its key: of the environment, else of the file."""
    return (os.environ.get(name) or _values.get(name, "")).strip()


def known_keys() -> tuple[str, ...]:
    """The values of all variables that may be keys, of the environment and of the file."""
    known = {**_values, **os.environ}
    named = [name for name in known if name in VENDOR_KEYS or may_be_key(name)]
    return tuple(sorted({known[name].strip() for name in named}, key=lambda key: (-len(key), key)))


def may_be_key(name: str) -> bool:
    return _MAY_BE_KEY.search(name) is not None and not name.startswith("STEELYARD_")


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
