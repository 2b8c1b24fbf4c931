"""A `.env` file: it supplies keys and nothing else, since it may lie in a folder that somebody else made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from steelyard.core.known_keys import VENDOR_KEYS, is_key_name, is_no_word, keys_in

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
