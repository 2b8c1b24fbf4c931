"""A ruling as JUnit XML, which continuous integration shows by itself.

One test suite per judge, one test case per check. FAIL is a `failure`. INCONCLUSIVE is an `error`: a skipped
test would look as if nothing were wrong.
"""

from __future__ import annotations

from xml.etree import ElementTree

from steelyard.commands.gate.ruling import FAIL, GATE_INCONCLUSIVE, Check, Ruling
from steelyard.datasheet.words.visible import visible

_TAGS = {FAIL: "failure", GATE_INCONCLUSIVE: "error"}


def render(ruling: Ruling) -> str:
    """The whole document."""
    root = ElementTree.Element("testsuites", {"name": visible(ruling.study), **_counts(ruling.checks)})
    for judge in ruling.judges:
        checks = tuple(ruling.of(judge))
        suite = ElementTree.SubElement(root, "testsuite", {"name": visible(judge), **_counts(checks)})
        for check in checks:
            _case(suite, check)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ElementTree.Element, check: Check) -> None:
    name = visible(f"{check.rule} ({check.figure})")
    case = ElementTree.SubElement(suite, "testcase", classname=visible(check.judge), name=name, time="0")
    if check.result in _TAGS:
        message = visible(f"{check.found}: {sentence(check)}")
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
    """The reason, with the calls that are still needed."""
    return check.reason if check.more is None else f"{check.reason}; {check.more}"
