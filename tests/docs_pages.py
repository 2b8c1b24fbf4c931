"""What the pages print: their fenced blocks in order, and the commands that a reader would type."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
SKIPPED = {"steelyard-runs", "node_modules", "build", "dist"}
PAGES = sorted(
    path
    for path in ROOT.rglob("*.md")
    if not any(part.startswith(".") or part in SKIPPED for part in path.relative_to(ROOT).parts)
)

FOLLOWED = [path for path in PAGES if path.name != "CHANGELOG.md" and "benchmarks" not in path.parts]
"""Pages that tell a reader what to do."""

_BLOCK = re.compile(r"(?:<!-- (shown): [^\n]+ -->\n)?^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`(steelyard [^`]+)`")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: str
    """Path of the page below the root."""
    info: str
    """What stands behind the fence: the language, and perhaps what the block is."""
    text: str
    """The lines between the fences."""
    shown: bool
    """True where docs/generate.py runs the block's command and writes its output."""

    @property
    def commands(self) -> list[str]:
        """The lines to type, continued lines joined; of a console those behind the prompt."""
        lines = self.text.replace("\\\n", " ").splitlines()
        if self.info == "console":
            return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return [line for line in lines if line.strip()]


def name(path: Path) -> str:
    """A page as messages and tables name it."""
    return path.relative_to(ROOT).as_posix()


def blocks(path: Path) -> list[Block]:
    """Every fenced block of a page."""
    text = path.read_text(encoding="utf-8")
    return [Block(name(path), info, body, bool(shown)) for shown, info, body in _BLOCK.findall(text)]


def spans(path: Path) -> Iterator[str]:
    """Commands inside the running text; a command's name alone is no command."""
    prose = _BLOCK.sub("", path.read_text(encoding="utf-8"))
    for found in _SPAN.findall(prose):
        command = " ".join(found.split())
        if len(shlex.split(command)) > 2 or command in ("steelyard probes", "steelyard judges"):
            yield command
