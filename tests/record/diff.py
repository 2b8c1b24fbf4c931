"""Say how two records differ: PYTHONPATH=tests python -m record.diff OLD NEW [--all].

Changes that differ in their numbers alone are told once, with how often and where they occur; `--all` tells
each by itself.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

NUMBER = re.compile(r"[+−]?\d[\d.,]*")
MOST_PLACES = 4
Change = tuple[tuple[str, ...], tuple[str, ...]]
"""Lines that are gone, and those in their place."""


def changes(old: Path, new: Path) -> Iterator[tuple[str, Change]]:
    """Each change with the file that it is in; a file that is not there has no line."""
    for name in sorted({path.name for folder in (old, new) for path in folder.glob("*.txt")}):
        before, after = (_lines(folder / name) for folder in (old, new))
        for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if kind == "replace" and b - a == d - c:
                pairs = zip(before[a:b], after[c:d], strict=True)
                yield from ((name, ((one,), (other,))) for one, other in pairs)
            elif kind != "equal":
                yield name, (tuple(before[a:b]), tuple(after[c:d]))


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def summary(old: Path, new: Path, *, every: bool = False) -> Iterator[str]:
    """The changes, most frequent first."""
    found: dict[object, list[tuple[str, Change]]] = {}
    for number, (name, change) in enumerate(changes(old, new)):
        masked = tuple(tuple(NUMBER.sub("#", line).strip() for line in side) for side in change)
        found.setdefault((number, masked) if every else masked, []).append((name, change))
    for places in sorted(found.values(), key=len, reverse=True):
        names = list(dict.fromkeys(name for name, _ in places))
        more = f" and {len(names) - MOST_PLACES} more files" if len(names) > MOST_PLACES else ""
        yield f"@@ {len(places)}× in {', '.join(names[:MOST_PLACES])}{more}"
        gone, come = places[0][1]
        yield from (f"-{line}" for line in gone)
        yield from (f"+{line}" for line in come)
    yield f"{sum(map(len, found.values()))} changes, {len(found)} told"


def main() -> None:
    """Print the summary."""
    parser = argparse.ArgumentParser(prog="record.diff", description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--all", action="store_true", help="tell every change by itself")
    given = parser.parse_args()
    for line in summary(given.old, given.new, every=given.all):
        print(line)


if __name__ == "__main__":
    main()
