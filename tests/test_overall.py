"""Several data sets in one table, and all probes of a judge in one figure."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import Command
from own_judges import measured, study_of
from panels import Scored
from scores import call
from servers import ScriptedServer, says
from steelyard.commands.overall import overall
from steelyard.datasheet.assemble import assemble
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.render import html, markdown
from steelyard.datasheet.render.data_files import dumps
from steelyard.datasheet.sections.summary import summarise
from steelyard.datasheet.sections.tables import multi_judge_tables
from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.scores.shares import OWN_LABELS

# RAND harness, Appendix B, Table 1: dollars per point of accuracy.
TABLE_1 = {
    "Fortress": (0.0016, 0.0230, 0.0150, 0.0108),
    "Persuade": (0.0008, 0.0260, 0.0430, 0.0073),
    "HarmBench": (0.0015, 0.0352, 0.0190, 0.0132),
    "AgentHarm": (0.0001, 0.0050, 0.0013, 0.0007),
}
JUDGES = ("Llama 4 Maverick 17B", "Claude Sonnet 4.5", "GPT 4o", "Gemini 2.5 Pro")
OVERALL = (0.0010, 0.0223, 0.0196, 0.0080)


def sheet(name: str, figures: dict[str, tuple[float, float | None]], model: str = "m") -> Datasheet:
    """Accuracy and dollars of one probe for each judge."""
    rows = [
        Estimate(judge, "typos", metric, {"protocol": "base"}, "call", value)
        for judge, (accuracy, dollars) in figures.items()
        for metric, value in (("accuracy", accuracy), ("cost_total", dollars))
    ]
    judges = tuple(JudgeEntry(judge, model, False, {}) for judge in figures)
    return Datasheet(
        name=name,
        seed=7,
        stimulus_set="sha256:0",
        version="0",
        profile="quick",
        judges=judges,
        estimates=tuple(rows),
        findings=(),
        run={},
    )


def folder(place: Path, datasheet: Datasheet) -> Path:
    place.mkdir()
    (place / "datasheet.json").write_text(dumps(datasheet))
    return place


def test_the_published_overall_row_comes_out(tmp_path: Path, steelyard: Any) -> None:
    """The printed row is the mean of rows; at equal accuracies the row of the note is their sum."""
    folders = [
        folder(tmp_path / name, sheet(name, {j: (0.5, 50 * p) for j, p in zip(JUDGES, points, strict=True)}))
        for name, points in TABLE_1.items()
    ]
    found = json.loads(steelyard("overall", *map(str, folders), "--json").stdout)
    assert [row["judge"] for row in found] == list(JUDGES)
    assert [row["cost_per_point_mean"] for row in found] == pytest.approx(OVERALL, abs=6e-5)
    sums = [sum(column) for column in zip(*TABLE_1.values(), strict=True)]
    assert [row["cost_per_point_pooled"] for row in found] == pytest.approx(sums)
    printed = steelyard("overall", *map(str, folders)).stdout
    assert "all, pooled" in printed
    assert "HarmBench" in printed


def test_a_data_set_without_a_right_call_or_a_price_is_not_left_out(tmp_path: Path) -> None:
    first = folder(tmp_path / "a", sheet("a", {"j": (0.8, 0.4), "k": (0.5, None), "l": (0.5, 0.1)}))
    second = folder(tmp_path / "b", sheet("b", {"j": (0.0, 0.2), "k": (0.7, 0.1)}))
    j, k, only = overall([first, second])
    # .6 dollars over 100 times the mean of .8 and 0.
    assert (j.accuracy_mean, j.cost.pooled, j.cost.mean_of_rows) == (0.4, pytest.approx(0.015), None)
    assert (k.accuracy_mean, k.cost.pooled, k.cost.mean_of_rows) == (pytest.approx(0.6), None, None)
    assert (only.missing, only.cost.pooled) == ({"b": "not a judge of this run"}, pytest.approx(0.002))


def test_a_measured_run_has_the_accuracy_and_the_costs_of_its_datasheet(tmp_path: Path) -> None:
    """Unchanged items have an accuracy of their own on the datasheet, and are no probe beside the others."""
    with ScriptedServer(says('{"score": 1}')) as server:
        judge = {
            "name": "j",
            "model": "openai/m",
            "base_url": server.url,
            "input_price": 1,
            "output_price": 2,
        }
        for seed in (1, 2):
            body = {"judges": [judge], "task": {"scale": "binary"}, "seed": seed}
            study = study_of({**body, "probes": ["typos", "stochastic_stability"]})
            last = measured(study, tmp_path / f"seed{seed}")
    (found,) = overall([tmp_path / "seed1", tmp_path / "seed2"])
    row = found.rows[1]
    assert row.probes == ("stochastic_stability", "typos")
    volatility = last.find("j", "accuracy_mean", "volatility", protocol="base")
    pooled = last.find("j", "cost_per_point_pooled", "cost", protocol="base")
    assert row.accuracy == pytest.approx(volatility.value)
    assert row.cost is not None
    assert row.cost.per_point == pytest.approx(pooled.value)
    assert found.cost.pooled is not None


def test_one_name_for_two_models_is_refused(tmp_path: Path) -> None:
    first = folder(tmp_path / "a", sheet("a", {"j": (0.8, 0.4)}))
    second = folder(tmp_path / "b", sheet("b", {"j": (0.8, 0.4)}, model="other"))
    with pytest.raises(ConfigError, match="found m and other under one name"):
        overall([first, second])
    with pytest.raises(ConfigError, match="no judge has an accuracy"):
        overall([folder(tmp_path / "c", sheet("c", {}))])


def test_one_name_for_two_juries_is_refused(tmp_path: Path) -> None:
    places = []
    for name, members in (("a", ("x", "y")), ("b", ("x", "z"))):
        jury = JudgeEntry("j", "jury/vote", False, {"base": "sha256:1"}, members, 2)
        body = sheet(name, {"j": (0.8, 0.4)})
        places.append(folder(tmp_path / name, replace(body, judges=(jury,), stimulus_set=f"sha256:{name}")))
    with pytest.raises(
        ConfigError, match="found jury/vote of x, y; 2 calls per verdict and jury/vote of x, z"
    ):
        overall(places)


def test_two_prompts_on_the_same_items_are_not_two_data_sets(tmp_path: Path) -> None:
    places = []
    for name in ("plain", "strict"):
        body = sheet(name, {"j": (0.8, 0.4)})
        asked = replace(body.judges[0], protocols={"base": f"sha256:{name}"})
        places.append(folder(tmp_path / name, replace(body, judges=(asked,))))
    with pytest.raises(
        ConfigError, match="plain and strict: judge j was measured on the same stimuli in both"
    ):
        overall(places)


def test_a_judge_made_of_the_reference_has_no_accuracy_either(tmp_path: Path) -> None:
    """Its figure on edited texts is agreement with itself."""
    body = sheet("a", {"made": (1.0, 0.4), "other": (0.7, 0.4)})
    own = Estimate("made", "original", "accuracy", {"protocol": "base"}, "call", None, reason="own_labels")
    made, other = overall([folder(tmp_path / "a", replace(body, estimates=(*body.estimates, own)))])
    assert (made.accuracy_mean, made.missing) == (None, {"a": str(OWN_LABELS)})
    assert other.accuracy_mean == pytest.approx(0.7)


def test_a_run_that_ended_early_is_named(tmp_path: Path, command: Command) -> None:
    early = replace(sheet("a", {"j": (0.58, 0.4)}), run={"partial": True, "asked": 1106, "planned": 1160})
    folders = [folder(tmp_path / "a", early), folder(tmp_path / "b", sheet("b", {"j": (0.8, 0.2)}))]
    assert command("overall", *map(str, folders)).out.startswith("Partial: 1,106 of 1,160 calls on a.\n")
    rows = json.loads(command("overall", *map(str, folders), "--json").out)[0]["data_sets"]
    assert [row["partial"] for row in rows] == ["Partial: 1,106 of 1,160 calls", None]
    unread = replace(early, estimates=())
    whole = folder(tmp_path / "c", sheet("c", {"j": (0.8, 0.2)}))
    (j,) = overall([folder(tmp_path / "d", unread), whole])
    assert j.missing == {"a": "no probe of labelled single texts; Partial: 1,106 of 1,160 calls"}


def test_a_judge_without_any_accuracy_is_named_with_the_reason(tmp_path: Path, command: Command) -> None:
    told = sheet("a", {"j": (0.8, 0.4), "silent": (0.5, 0.1)})
    none = Estimate(
        "silent", "typos", "accuracy", {"protocol": "base"}, "call", None, note="no readable call"
    )
    kept = tuple(e for e in told.estimates if e.judge == "j")
    place = folder(tmp_path / "a", replace(told, estimates=(*kept, none)))
    printed = command("overall", str(place)).out
    assert "silent: no accuracy on a (no readable call)." in printed
    assert [line.split()[-1] for line in printed.splitlines() if line.split()[:1] == ["silent"]] == [
        "undefined"
    ]
    row = json.loads(command("overall", str(place), "--json").out)[1]
    assert (row["judge"], row["accuracy_mean"], row["reasons"]) == ("silent", None, {"a": "no readable call"})


def test_the_volatility_of_each_data_set_stands_beside_its_accuracy(tmp_path: Path, command: Command) -> None:
    figures = {"accuracy_sd": 0.21, "accuracy_sd_sampling": 0.15, "accuracy_min": 0.4, "accuracy_max": 0.95}
    base = {"protocol": "base"}
    spread = [Estimate("j", "volatility", name, base, "probe", value) for name, value in figures.items()]
    one, two = (sheet(name, {"j": (0.8, 0.4)}) for name in "ab")
    one = replace(one, estimates=(*one.estimates, *spread))
    places = [str(folder(tmp_path / each.name, each)) for each in (one, two)]
    printed = command("overall", *places).out
    assert [line.split()[2:5] for line in printed.splitlines() if line.split()[:2] == ["j", "a"]] == [
        ["0.80", "0.21", "(0.15)"]
    ]
    assert "0.40–0.95" in printed
    assert printed.count("sampling alone") == 1
    first, second = json.loads(command("overall", *places, "--json").out)[0]["data_sets"]
    assert {name: first[name] for name in figures} == figures
    assert not figures.keys() & second.keys()


def test_the_same_folder_twice_is_refused(tmp_path: Path, command: Command) -> None:
    place = folder(tmp_path / "a", sheet("a", {"j": (0.8, 0.4)}))
    (tmp_path / "link").symlink_to(place)
    done = command("overall", str(place), str(tmp_path / "link"))
    assert done.code == 2
    assert "link: found twice, expected each run folder once" in done.err


def test_two_folders_of_one_name_are_two_data_sets(tmp_path: Path) -> None:
    places = [tmp_path / "x" / "run", tmp_path / "y" / "run"]
    for place, accuracy in zip(places, (0.8, 0.4), strict=True):
        place.parent.mkdir()
        folder(place, sheet("same", {"j": (accuracy, 0.1)}))
    (j,) = overall(places)
    assert [row.data_set for row in j.rows] == [str(place.resolve()) for place in places]
    assert j.accuracy_mean == pytest.approx(0.6)


def test_data_sets_with_other_probes_are_said_to_differ(tmp_path: Path, command: Command) -> None:
    wide = sheet("wide", {"j": (0.8, 0.4), "k": (0.7, 0.4)})
    more = tuple(replace(e, probe="label_flip") for e in wide.estimates)
    folders = [
        folder(tmp_path / "wide", replace(wide, estimates=(*wide.estimates, *more))),
        folder(tmp_path / "narrow", sheet("narrow", {"j": (0.6, 0.2), "k": (0.5, 0.2)})),
    ]
    printed = command("overall", *map(str, folders)).out
    assert printed.count("is without") == 1
    assert "narrow: the accuracy of j, k is without label_flip, which other data sets have" in printed
    rows = json.loads(command("overall", *map(str, folders), "--json").out)[0]["data_sets"]
    assert [row["probes"] for row in rows] == [["label_flip", "typos"], ["typos"]]


def graded() -> Datasheet:
    """Two judges on two probes of a 1-6 scale; every call is known."""
    given = {"typos": [1, 2, 4, 4, 5, 6], "markdown": [2, 2, 3, 5, 5, 5]}
    rows = [
        call(f"i{n}", score, n + 1, probe=probe, scale="1-6", judge=judge)
        for judge in ("a", "b")
        for probe, scores in given.items()
        for n, score in enumerate(scores if judge == "a" else reversed(scores))
    ]
    return assemble(
        name="grades",
        seed=7,
        profile="quick",
        stimulus_set="sha256:0",
        judges=[JudgeEntry(name, "m", False, {"base": "sha256:1"}) for name in "ab"],
        probes=[Scored("typos"), Scored("markdown")],
        observations=rows,
        run={},
    )


def test_one_correlation_and_one_error_over_all_probes() -> None:
    found = graded()
    pooled = {e.metric: e for e in found.estimates if (e.judge, e.probe) == ("a", "pooled")}
    labels, scores = [1, 2, 3, 4, 5, 6] * 2, [1, 2, 4, 4, 5, 6, 2, 2, 3, 5, 5, 5]
    assert pooled["pearson"].value == pytest.approx(np.corrcoef(labels, scores)[0, 1])
    assert pooled["mae"].value == pytest.approx(4 / 12)
    assert (pooled["mae"].n_calls, pooled["mae"].n_units) == (12, 6)


@pytest.mark.slow
def test_the_table_of_scores_against_labels() -> None:
    found = graded()
    shown = multi_judge_tables(summarise(found))[0]
    assert shown.title == "Scores against labels"
    assert shown.header == ("judge", "probe", "CCC", "Pearson", "Spearman", "MAE")
    assert [row[:2] for row in shown.rows] == [
        (judge, probe) for judge in "ab" for probe in ("Typing errors", "Markdown", "All probes together")
    ]
    assert shown.rows[2][5].startswith("0.33 [")
    for text in (markdown.render(found), html.render(found)):
        assert "Scores against labels" in text
