"""Reports of a ruling: JUnit XML for continuous integration, Markdown for a job summary or a pull request.

JUnit has one test suite per judge and one test case per check. FAIL is a `failure`. INCONCLUSIVE is an
`error`: a skipped test would look as if nothing were wrong.
"""

from __future__ import annotations

from xml.etree import ElementTree

from steelyard.commands.gate.ruling import FAIL, GATE_INCONCLUSIVE, ORDER, Check, Ruling, worst
from steelyard.datasheet.words.text import escape_control_chars

_TAGS = {FAIL: "failure", GATE_INCONCLUSIVE: "error"}


def render_junit(ruling: Ruling) -> str:
    root = ElementTree.Element(
        "testsuites", {"name": escape_control_chars(ruling.study), **_counts(ruling.checks)}
    )
    for judge in ruling.judges:
        checks = tuple(ruling.of(judge))
        suite = ElementTree.SubElement(
            root, "testsuite", {"name": escape_control_chars(judge), **_counts(checks)}
        )
        for check in checks:
            _case(suite, check)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ElementTree.Element, check: Check) -> None:
    name = escape_control_chars(f"{check.rule} ({check.figure})")
    case = ElementTree.SubElement(
        suite, "testcase", classname=escape_control_chars(check.judge), name=name, time="0"
    )
    if check.result in _TAGS:
        message = escape_control_chars(f"{check.found}: {sentence(check)}")
        problem = ElementTree.SubElement(case, _TAGS[check.result], message=message, type=check.result)
        problem.text = message


def _counts(checks: tuple[Check, ...]) -> dict[str, str]:
    results = [check.result for check in checks]
    return {
        "tests": str(len(results)),
        "failures": str(results.count(FAIL)),
        "errors": str(results.count(GATE_INCONCLUSIVE)),
        "skipped": "0",
        "time": "0",
    }


def sentence(check: Check) -> str:
    return check.reason if check.more is None else f"{check.reason}; {check.more}"


MARKS = {"PASS": "✅", "FAIL": "❌", "INCONCLUSIVE": "❔"}


def render_markdown(ruling: Ruling) -> str:
    parts = [f"## Judge gate: {MARKS[ruling.result]} {ruling.result}", "", f"Study {_cell(ruling.study)}."]
    for judge in ruling.judges:
        checks = ruling.of(judge)
        result = worst(check.result for check in checks)
        parts += ["", f"### {_cell(judge)}: {MARKS[result]} {result}", ""]
        parts += ["| rule | figure | found | result | why |", "| :-- | :-- | :-- | :-- | :-- |"]
        parts += [
            f"| {_cell(check.rule)} | {_cell(check.figure)} | {_cell(check.found)} | "
            f"{MARKS[check.result]} {check.result} | {_cell(sentence(check))} |"
            for check in sorted(checks, key=lambda check: ORDER.index(check.result))
        ]
    if ruling.notes:
        parts += ["", *(f"- {_cell(note)}" for note in ruling.notes)]
    parts += ["", "Decided on whole 95 % intervals, never on points."]
    return "\n".join(parts) + "\n"


def _cell(text: str) -> str:
    shown = escape_control_chars(text)
    for sign in "\\`*_[]<>|#":
        shown = shown.replace(sign, f"\\{sign}")
    return shown
