"""Notes are for people: what a program decides on is a field of the estimate."""

from __future__ import annotations

import ast
import copy as copies
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import steelyard
from steelyard.metrics.scores.shares import OWN_LABELS

SOURCE = Path(steelyard.__file__).parent


def is_note(node: ast.expr) -> bool:
    """A note, or what is put in its place where there is none."""
    match node:
        case ast.Attribute(attr="note") | ast.Name(id="note"):
            return True
        case ast.Subscript(slice=ast.Constant(value="note")):
            return True
        case ast.Call(func=ast.Attribute(attr="reason") | ast.Name(id="reason")):
            return True
        case ast.Call(func=ast.Name(id="str"), args=[argument]):
            return is_note(argument)
        case ast.BoolOp(values=values):
            return any(map(is_note, values))
        case ast.NamedExpr(value=value):
            return is_note(value)
    return False


def parsed_notes(tree: ast.AST) -> Iterator[int]:
    """Lines in which a note is compared, cut, searched or asked for what it begins with."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, ops=ops, comparators=others):
                if any(map(is_note, (left, *others))) and not all(
                    isinstance(op, ast.Is | ast.IsNot) for op in ops
                ):
                    yield node.lineno
            case ast.Call(func=ast.Attribute(value=value)) if is_note(value):
                yield node.lineno
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re")), args=arguments):
                if any(map(is_note, arguments)):
                    yield node.lineno
            case ast.Subscript(value=value) if is_note(value):
                yield node.lineno
            case ast.Match(subject=subject) if is_note(subject):
                yield node.lineno


def test_a_reason_survives_copies() -> None:
    for copy in (copies.deepcopy(OWN_LABELS), pickle.loads(pickle.dumps(OWN_LABELS))):
        assert (str(copy), copy.code) == ("its own verdicts are the reference", "own_labels")


@pytest.mark.slow
def test_no_program_reads_a_note() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py"))}
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path, text in texts.items()
        if re.search(r"\bnote\b|\breason\(", text)  # others have no such node
        for line in parsed_notes(ast.parse(text))
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "(estimate.note or '').split('; ')",
        "estimate.note == OWN_LABELS",
        "estimate.note in (OWN_LABELS, NO_LABELS)",
        "'missing' in (estimate.note or '')",
        "numbers.reason(estimate).startswith('too')",
        "reason(estimate) == 'none'",
        "estimate.note[:7]",
        "re.search('answer', body['note'])",
        "(note := estimate.note).removeprefix('answer ')",
    ],
)
def test_such_a_line_is_found(line: str) -> None:
    assert list(parsed_notes(ast.parse(line))) == [1]


@pytest.mark.parametrize(
    "line",
    ["join([estimate.note, 'more'])", "estimate.note is None", "log.note(KEY, value)", "f'{row.note}; x'"],
)
def test_telling_a_note_is_no_such_line(line: str) -> None:
    assert list(parsed_notes(ast.parse(line))) == []
