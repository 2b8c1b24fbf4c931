"""The fixture `judge_gate`: a judge that does not keep its policy fails a test like any other fault.

pytest finds it by itself where Steelyard is installed::

    def test_the_judge_may_gate_releases(judge_gate):
        judge_gate(my_judge, policy="default", profile="standard")
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from steelyard.api import JudgeLike
    from steelyard.commands.gate.policy import PolicyLike
    from steelyard.commands.gate.ruling import Ruling

    Gate = Callable[..., Ruling]


@pytest.fixture
def judge_gate() -> Gate:
    """Measure a judge, or take a run folder, and fail unless a policy passes; the ruling is returned.

    Keywords are those of `steelyard.measure`. A run lies where `measure` leaves it, so a finished one makes
    no further calls. `inconclusive="skip"` skips where the data do not suffice to say.
    """
    return _gate


def _gate(
    judge: JudgeLike | Path, policy: PolicyLike = "default", *, inconclusive: str = "fail", **study: Any
) -> Ruling:
    from steelyard import api

    __tracebackhide__ = True
    folder = judge if isinstance(judge, Path) else api.measure(judge, **study).folder
    ruling = api.gate(folder, policy)
    if ruling.result == "PASS":
        return ruling
    sentences = _sentences(ruling, folder)
    if ruling.result == "INCONCLUSIVE" and inconclusive == "skip":
        pytest.skip(sentences)
    pytest.fail(sentences, pytrace=False)


def _sentences(ruling: Ruling, folder: Path) -> str:
    from steelyard.commands.gate.gate import sentence
    from steelyard.commands.gate.ruling import ORDER, PASS

    short = sorted((c for c in ruling.checks if c.result != PASS), key=lambda c: ORDER.index(c.result))
    lines = [f"{c.result} {c.judge}: {c.rule} ({c.figure}): {c.found}; {sentence(c)}" for c in short]
    return "\n".join([f"judge gate: {ruling.result}", *lines, f"page: {folder / 'datasheet.html'}"])
