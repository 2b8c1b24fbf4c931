"""The joint fit copes with every judge: extreme, sharp, constant, on designs large and small."""

from __future__ import annotations

from commands import Command
from steelyard.metrics.pair_likelihood import NAMES

SHARP = "planted/probit?s=4&beta=2.5&tau=2.2&sigma=0&lapse=0"


def test_a_sharp_leaning_judge_gets_its_sheet(command: Command) -> None:
    # Without noise to speak of some answers become impossible along a profile.
    done = command("measure", "--profile", "standard", "-p", "ladder", "-j", SHARP, "--json")
    assert (done.code, done.err) == (0, "")
    rows = {row["metric"]: row for row in done.rows if row["judge"] == "planted/probit"}
    for name, planted in zip(NAMES[:3], (4, 2.5, 2.2), strict=True):
        assert rows[name]["intervals"][0]["low"] < planted
        assert rows[name]["intervals"][0]["high"] is None or rows[name]["intervals"][0]["high"] > planted
