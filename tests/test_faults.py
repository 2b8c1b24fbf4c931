"""A figure that can not be computed leaves every other one standing: exit 1, one sentence, no traceback."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commands import Command, run_command
from steelyard.datasheet.questions import questions
from steelyard.datasheet.render import markdown
from steelyard.datasheet.render.html.charts.catalogue import CHARTS
from steelyard.errors import ConfigError
from steelyard.metrics import juries
from steelyard.metrics.comparison import comparison
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.faults import Faults, cause_of
from steelyard.metrics.instrument import estimates as instrument_estimates
from steelyard.metrics.run import cost, volatility

PLUGIN = '''
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.metric import Metric
from steelyard.probes.catalogue import Vacuum


class Broken(Vacuum):
    """Fails for one judge."""

    name = "broken"

    def estimates(self, judge, observations, seed):
        if judge == "planted/first":
            raise ZeroDivisionError(f"no unit left in {object()}")
        return super().estimates(judge, observations, seed)


class Unwritable(Vacuum):
    """One of its two figures is no number."""

    name = "unwritable"

    metrics = (Metric("warmth", "warmth", "How warm."), Metric("depth", "depth", "How deep."))

    def estimates(self, judge, observations, seed):
        warmth = Estimate(judge, self.name, "warmth", {"protocol": "base"}, "call", float("nan"))
        depth = Estimate(judge, self.name, "depth", {"protocol": "base"}, "call", 0.5)
        return [warmth, depth]


class Hasty(Vacuum):
    """Fails before any call."""

    name = "hasty"

    def showings(self, design, protocols):
        raise RuntimeError("no idea")
'''
POINTS = """[steelyard.probes]
broken = steelyard_faulty:Broken
unwritable = steelyard_faulty:Unwritable
hasty = steelyard_faulty:Hasty
"""
Rows = dict[tuple[str, str, str], Any]


@pytest.fixture
def installed(tmp_path: Path) -> str:
    """PYTHONPATH with two faulty probes on it, as an installer would leave them."""
    folder = tmp_path / "site" / "steelyard_faulty-1.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: steelyard-faulty\nVersion: 1\n")
    (folder / "entry_points.txt").write_text(POINTS)
    (folder.parent / "steelyard_faulty.py").write_text(PLUGIN)
    return os.pathsep.join(path for path in (str(folder.parent), os.environ.get("PYTHONPATH", "")) if path)


def rows_of(sheet: dict[str, Any]) -> Rows:
    return {(row["judge"], row["probe"], row["metric"]): row for row in sheet["estimates"]}


def test_a_fault_outside_every_figure_is_one_sentence(steelyard, process, installed: str) -> None:
    command = ("measure", "-j", "planted/tie", "-p", "hasty", "--out", "run")
    done = steelyard(*command, PYTHONPATH=installed)
    assert done.returncode == 1
    assert "(RuntimeError: no idea)" in done.stderr
    assert done.stderr.count("\n") == 1
    shown = process(*command, PYTHONPATH=installed, STEELYARD_TRACEBACK="1")
    assert "Traceback (most recent" in shown.stderr


def test_a_probe_that_raises_takes_nothing_else(steelyard, installed: str, tmp_path: Path) -> None:
    judges = ("-j", "planted/first", "-j", "planted/longest")
    probes = ("-p", "broken", "-p", "ladder")
    done = steelyard("measure", *judges, *probes, "--out", "run", PYTHONPATH=installed)
    assert done.returncode == 1
    cause = "ZeroDivisionError: no unit left in <object object at 0x…>"
    told = (
        f"steelyard: could not be computed: broken of planted/first ({cause}); every other figure stands and "
        "every reply is kept; please report it.\n"
    )
    assert done.stderr == told
    written = (tmp_path / "run" / "datasheet.json").read_text()
    sheet = json.loads(written)
    assert sheet["faults"] == [{"judge": "planted/first", "figure": "broken", "cause": cause}]
    rows = rows_of(sheet)
    lost = rows["planted/first", "broken", "dark_current"]
    assert (lost["value"], f": {cause}; " in lost["note"]) == (None, True)
    assert rows["planted/longest", "vacuum", "dark_current"]["value"] is not None
    for judge in ("planted/first", "planted/longest"):
        assert rows[judge, "ladder", "target_sensitivity"]["value"] is not None
        assert rows[judge, "run", "failed_rate"]["value"] == 0
    assert {reading["judge"] for reading in sheet["readings"]} == {"planted/first", "planted/longest"}
    assert "not be computed" in (tmp_path / "run" / "datasheet.html").read_text()

    again = steelyard("report", "run", PYTHONPATH=installed)
    assert (again.returncode, again.stderr) == (1, told)
    assert (tmp_path / "run" / "datasheet.json").read_text() == written


def test_a_figure_that_is_no_number_takes_nothing_else(steelyard, installed: str) -> None:
    done = steelyard("measure", "-p", "unwritable", "-j", "planted/first", "--json", PYTHONPATH=installed)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    rows = rows_of(json.loads(done.stdout))
    assert rows["planted/first", "unwritable", "warmth"]["value"] is None
    assert "range float" in rows["planted/first", "unwritable", "warmth"]["note"]
    assert rows["planted/first", "unwritable", "depth"]["value"] == 0.5


def fail(*_: object, **__: object) -> Any:
    raise ZeroDivisionError("provoked")


def test_each_arm_of_the_instrument_model_fails_alone(command: Command, monkeypatch) -> None:
    monkeypatch.setattr(instrument_estimates, "ratio_estimate", fail)
    done = command("measure", "-j", "planted/probit", "-p", "ladder", "-p", "criterion", "--json")
    assert done.code == 1
    assert re.match(r"steelyard: .*: instrument model, strict of planted/probit \(", done.err)
    rows = {(row["metric"], row["group"].get("protocol")): row for row in done.rows}
    assert "not be computed" in rows["resolution_ratio", "strict"]["note"]
    assert rows["resolution", "strict"]["note"].startswith("too little data")


def test_figures_over_probes_and_judges_fail_alone(command: Command, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(volatility, "mean_intervals", fail)
    monkeypatch.setattr(cost, "total_estimates", fail)
    monkeypatch.setattr(juries, "jury_estimates", fail)
    broken = (replace(each, ask=fail) if each.name == "Accuracy" else each for each in questions.QUESTIONS)
    monkeypatch.setattr(questions, "QUESTIONS", tuple(broken))
    options = ("--scale", "binary", "-p", "format_invariance_1", "-p", "format_invariance_2", "--out", "run")
    done = command("measure", *options, "-j", "planted/rater", "-j", "planted/random", "--json")
    assert done.code == 1
    assert done.err.count("\n") == 1
    both = "of planted/rater and planted/random"
    for name in (f"costs {both} (", f"volatility {both}", f"reading Accuracy {both} (", "judges together of"):
        assert name in done.err
    values = {(row["judge"], row["probe"], row["metric"]): row["value"] for row in done.rows}
    assert values["planted/rater", "volatility", "accuracy_mean"] is None
    assert values["planted/rater", "cost", "tokens_input"] is None
    assert values["planted/rater", "format_invariance_1", "accuracy"] is not None
    told = {reading["title"]: reading["word"] for reading in json.loads(done.out)["readings"]}
    assert told["Accuracy"] == "undefined"
    assert told["Robustness"] != "undefined"
    assert "not be computed" in (tmp_path / "run" / "datasheet.html").read_text()


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two judges to be compared."""
    folder = tmp_path_factory.mktemp("compared")
    run_command(
        folder, "measure", "-j", "planted/coin", "-j", "planted/first", "-p", "ladder", "--out", "run"
    )
    return f"{folder}/run:planted/coin", f"{folder}/run:planted/first"


def test_one_figure_of_a_comparison_fails_alone(
    command: Command, targets: tuple[str, str], monkeypatch, tmp_path: Path
) -> None:
    rows = json.loads(command("compare", *targets, "--json").out)["comparisons"]
    ties = next((row["gained"], row["lost"]) for row in rows if row["metric"] == "tie_rate")
    sound = comparison.mcnemar_exact

    def exact(gained: int, lost: int) -> float:
        """Fails where the judges differ as they do in ties, and only there."""
        return sound(gained, lost) if (gained, lost) != ties else fail()

    tested = [row for row in rows if row["mcnemar_exact"] is not None]
    alike = [row for row in tested if (row["gained"], row["lost"]) == ties]
    monkeypatch.setattr(comparison, "mcnemar_exact", exact)
    done = command("compare", *targets, "--json", "--html", "page.html")
    assert done.code == 1
    assert re.search(r"\btie_rate in ladder \(ZeroDivisionError: provoked\)", done.err)
    assert done.err.count("\n") == 1
    found = json.loads(done.out)["comparisons"]
    lost = [row for row in found if row["difference"] is None]
    assert [(row["metric"], row["group"]) for row in lost] == [(row["metric"], row["group"]) for row in alike]
    assert all("computed: ZeroDivisionError" in row["note"] for row in lost)
    assert sum(row["q"] is not None for row in found) == len(rows) - len(alike) > 0
    assert re.search("undefined: .* computed", (tmp_path / "page.html").read_text())
    shown = command("compare", *targets).out
    assert "not be computed" in shown.partition("Not measured in")[2]


def test_a_comparison_that_can_not_be_read_together_keeps_its_figures(
    command: Command, targets: tuple[str, str], monkeypatch
) -> None:
    monkeypatch.setattr(comparison, "adjust_comparisons", fail)
    done = command("compare", *targets, "--json")
    assert done.code == 1
    assert re.search(r": all figures together \(ZeroDivisionError: provoked\)", done.err)
    body = json.loads(done.out)
    assert body["together"] == {"p": None, "differs": None}
    assert all(row["p"] is not None and row["finding"] is None for row in body["comparisons"])


def test_pages_that_can_not_be_drawn(command: Command, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setitem(CHARTS._factories, "axes", fail)  # the registry keeps what it has imported
    monkeypatch.setattr(markdown, "render", fail)
    done = command("measure", "-j", "planted/first", "-p", "ladder", "--out", "run")
    assert done.code == 1
    cause = "(ZeroDivisionError: provoked)"
    assert f": datasheet.md {cause}, chart axes {cause}; " in done.err
    assert done.err.count("\n") == 1
    page = (tmp_path / "run" / "datasheet.html").read_text()
    assert "computed: ZeroDivisionError: provoked" in page
    assert not (tmp_path / "run" / "datasheet.md").exists()


@pytest.mark.parametrize("stop", [ConfigError("x"), MemoryError(), KeyboardInterrupt()])
def test_what_is_no_fault_of_a_figure_passes(stop: BaseException) -> None:
    def ends() -> list[Estimate]:
        raise stop

    faults = Faults()
    with pytest.raises(type(stop)):
        faults.estimates(EstimateContext("J", "p", {}, 7), "p", ["m"], ends)
    assert faults.found == []


def test_a_cause_is_one_short_line() -> None:
    assert cause_of(ValueError("a\n  b")) == "ValueError: a b"
    assert cause_of(ValueError()) == "ValueError"
    assert len(cause_of(ValueError("x" * 5000))) < 250
