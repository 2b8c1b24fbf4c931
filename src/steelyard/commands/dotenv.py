"""`.env`, read upward from the working folder; the environment itself always wins."""

from __future__ import annotations

import os
from pathlib import Path


def load_dotenv(start: Path) -> Path | None:
    """Set what the nearest `.env` defines and the environment does not; return its path."""
    for folder in (start, *start.parents):
        path = folder / ".env"
        if path.is_file():
            for name, value in parse_dotenv(path.read_text(encoding="utf-8", errors="replace")).items():
                os.environ.setdefault(name, value)
            return path
    return None


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
