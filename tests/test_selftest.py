from __future__ import annotations

import json


def test_every_gate_of_the_selftest_passes(steelyard) -> None:
    done = steelyard("selftest", "--json")
    gates = json.loads(done.stdout)
    assert done.returncode == 0, [gate for gate in gates if not gate["passed"]]
    by_name = {(gate["judge"], gate["figure"]): gate for gate in gates}
    assert by_name["first", "positional_false_preference"]["recovered"] == "1.000 (60/60)"
    assert by_name["first", "stable_cross_sensitivity"]["recovered"] == "0.000 (0/60)"
    assert by_name["tie", "dark_current"]["recovered"] == "0.000 (0/120)"
    assert by_name["tie", "no_preference"]["recovered"] == "1.000 (60/60)"
    assert by_name["coin", "position test"]["passed"]
    assert by_name["coin", "reading"]["passed"]
    assert sum(gate["judge"].startswith("probit") for gate in gates) == 25
    model = {gate["figure"]: gate for gate in gates if gate["judge"] == "probit model"}
    assert {figure: gate["accepted"] for figure, gate in model.items()} == {
        "resolution": "± 0.18",
        "position_bias": "± 0.15",
        "tie_threshold": "± 0.13",
        "surface_sensitivity": "± 0.30",
    }
    assert by_name["probit strict", "resolution ratio"]["planted"] == "1"
