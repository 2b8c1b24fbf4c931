"""Words agree with their counts, and one module makes them agree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from re import match, search

import pytest

import steelyard
from steelyard.core.text import plural, pluralize
from steelyard.datasheet import numbers
from steelyard.datasheet.questions.more_data import more_data
from steelyard.metrics.estimate import Estimate
from steelyard.runner.record import Coverage
from steelyard.runner.run_messages import pending_calls

SOURCES = Path(steelyard.__file__).parent
NOUNS = "call|pair|task|item|row|judge|trial|text|probe|verdict|figure|input|gate|check|level|cell|estimate"


def test_one_and_many() -> None:
    assert [pluralize(n, "call") for n in (0, 1, 2, 1200)] == ["0 calls", "1 call", "2 calls", "1,200 calls"]
    assert [pluralize(n, "reply", "replies") for n in (1, 2)] == ["1 reply", "2 replies"]
    assert [plural(n, "waits", "wait") for n in (1, 2)] == ["waits", "wait"]
    assert [plural(n, "step") for n in (0.5, 1.0, 1.5)] == ["steps", "step", "steps"]


@pytest.mark.parametrize(
    ("calls", "clusters", "made", "expected"),
    [
        (1, 1, 10, "about 1 more row (1 call) "),
        (20, 1, 10, "about 2 more rows (20 calls) "),
        (1, 10, 10, "about 1 more row (1 call) "),
        (12, 10, 120, "about 1 more row (12 calls) "),
        (13, 10, 120, "about 2 more rows (13 calls) "),
    ],
)
def test_what_is_still_missing(calls: int, clusters: int, made: int, expected: str) -> None:
    estimate = Estimate(
        "j", "position", "flip_first", {}, "pair", 0.5, n_calls=made, n_units=clusters, n_clusters=clusters
    )
    assert more_data(estimate, calls).startswith(expected)


def test_one_of_one_in_a_sentence() -> None:
    estimate = Estimate("j", "vacuum", "dark_current", {}, "call", 1.0, numerator=1, denominator=1)
    assert numbers.times(estimate, "call") == "1 of 1 call"


def test_one_call_was_never_asked() -> None:
    (error,) = pending_calls(Coverage(planned=2, asked=1, answered=1))
    assert str(error).startswith("1 call was never made: 1 of 2 calls has a reply, which is kept; ")


def own_plurals(code: str) -> Iterator[str]:
    """Format strings in which a count meets a noun that is always, or by a condition, in the plural."""
    conditional = search(r"""['"]s['"]\s+if|else\s+['"]s['"]""", code)
    if not conditional and not search(rf"""}}(['"]\s*\w?['"])? (\w+ )?({NOUNS})s\b""", code):
        return
    for text in (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.JoinedStr)):
        for value, rest in zip(text.values, [*text.values[1:], None], strict=True):
            if not isinstance(value, ast.FormattedValue):
                continue
            follows = str(rest.value) if isinstance(rest, ast.Constant) else ""
            nouns = match(rf" (\w+ )?({NOUNS})s\b", follows)
            if not nouns and not conditional:
                continue
            source = ast.unparse(value)
            agrees = "pluralize(" in source
            counts = not agrees and search(r"len\(|total\(|sum\(|count\b|nominator|numerator|:,", source)
            if (counts and nouns) or search(r"'s' if|else 's'", source):
                yield ast.unparse(text)


@pytest.mark.slow
def test_no_sentence_spells_its_own_plural() -> None:
    own = [
        f"{path.relative_to(SOURCES)}: {place}"
        for path in sorted(SOURCES.rglob("*.py"))
        for place in own_plurals(path.read_text(encoding="utf-8"))
    ]
    assert own == []
