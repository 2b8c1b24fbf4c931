"""The selftest: what it prints, as the page shows it, and what it says when a gate fails.

`test_docs` runs the command and holds its output against the page, so that one run serves both.
"""

from __future__ import annotations

import json
import re

import pytest

from docs_pages import ROOT
from steelyard.commands import doctor as module
from steelyard.commands.doctor import SelftestCheck

PAGE = ROOT / "docs" / "guides" / "teach-with-planted-judges.md"
SOUND = SelftestCheck("tie", "no_preference", "1", "1", "1.000 (60/60)", passed=True)
BROKEN = SelftestCheck("first", "position test", "slot 1", "flagged", "clear", passed=False)


def printed() -> list[SelftestCheck]:
    """The gates of the page."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("$ steelyard selftest\n")
    head, line, *rows = rest.partition("\n\n")[0].splitlines()
    assert set(line.strip()) == {"─"}
    starts = [found.start() for found in re.finditer(r"\S+", head)]
    cells = [
        [row[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]  # fixed columns
        for row in rows
    ]
    return [SelftestCheck(*texts, passed=word == "ok") for *texts, word in cells]


def test_every_gate_of_the_selftest_passes() -> None:
    gates = printed()
    assert all(gate.passed for gate in gates)
    assert len(gates) == 34
    by_name = {(gate.judge, gate.figure): gate for gate in gates}
    assert by_name["first", "positional false preference"].recovered == "1.000 (60/60)"
    assert by_name["first", "stable cross sensitivity"].recovered == "0.000 (0/60)"
    assert by_name["tie", "dark current"].recovered == "0.000 (0/120)"
    assert by_name["tie", "no preference"].recovered == "1.000 (60/60)"
    assert {("coin", "position test"), ("coin", "reading")} < by_name.keys()
    assert sum(gate.judge.startswith("probit") for gate in gates) == 25
    model = {gate.figure: gate for gate in gates if gate.judge == "probit model"}
    assert {figure: gate.accepted for figure, gate in model.items()} == {
        "resolution": "± 0.18",
        "position bias": "± 0.15",
        "tie threshold": "± 0.13",
        "surface sensitivity": "± 0.30",
    }
    assert by_name["probit strict", "resolution ratio"].planted == "1"


def test_what_the_gates_accept_is_what_the_page_recovers() -> None:
    """The printed limits, read as numbers: a gate that is `ok` lies within them."""
    for gate in printed():
        if not re.match(r"[\d±]", gate.accepted):
            continue  # a word, which the tests of the verdicts hold
        value = float(gate.recovered.partition(" ")[0])
        if gate.accepted.startswith("±"):
            assert abs(value - float(gate.planted)) <= float(gate.accepted.removeprefix("± "))
        else:
            low, _, high = gate.accepted.partition("–")
            assert float(low) - 5e-4 <= value <= float(high or low) + 5e-4
            assert float(low) <= float(gate.planted) <= float(high or low)


@pytest.mark.parametrize(
    ("gates", "code", "complaint"),
    [([SOUND], 0, ""), ([SOUND, BROKEN], 1, "1 gate failed: do not trust the figures of this installation.")],
)
def test_a_gate_that_fails_is_the_exit_code(
    steelyard, monkeypatch: pytest.MonkeyPatch, gates: list[SelftestCheck], code: int, complaint: str
) -> None:
    monkeypatch.setattr(module, "selftest", lambda folder, profile: gates)
    done = steelyard("selftest")
    assert (done.returncode, complaint in done.stderr) == (code, True)
    assert f"{len(gates) - code} of {len(gates)} gate{'s' * (len(gates) > 1)} passed." in done.stdout
    assert ("FAIL" in done.stdout) == bool(code)
    listed = steelyard("selftest", "--json")
    assert listed.returncode == code
    assert [SelftestCheck(**gate) for gate in json.loads(listed.stdout)] == gates
