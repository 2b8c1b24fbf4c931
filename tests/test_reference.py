"""A judge's verdicts on unlabelled items as their references: asked first, paid once, named everywhere."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import steelyard
from authored_study import KEPT, model, write_study
from authoring_server import Cast, true_score
from commands import Command
from scores import call
from servers import Answer, ScriptedServer, fails, says
from steelyard.metrics.comparison.unit_events import unit_events
from steelyard.metrics.estimate import EstimateContext
from steelyard.metrics.scores.against_labels import ORDINAL, ordinal_figures
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.scores.shares import OWN_LABELS
from steelyard.probes.probe_metadata import metrics_of
from steelyard.probes.unchanged_items import SelfPreference
from steelyard.stimuli.original import ORIGINAL
from steelyard.store.run_store import RunStore
from test_unlabelled import figures

TOLD = "verdicts of judge grader on the originals"
OWN = str(OWN_LABELS)


def write(folder: Path, server: ScriptedServer, judge: str = "grader", **keys: Any) -> None:
    columns = {"id": "id", "request": "q", "response": "a"}
    data = {"path": "sky.jsonl", "columns": columns, "reference": {"judge": judge}}
    judges = [{"name": name, "model": model(name, server)} for name in ("grader", "other")]
    write_study(folder, server, labelled=False, **{"data": data, "judges": judges, "probes": KEPT, **keys})


def test_a_judge_labels_the_items_and_its_calls_are_paid_once(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    write(tmp_path, server, probes=["label_flip", *KEPT])
    planned = json.loads(command("plan", "study.yaml", "--out", "run", "--json").out)["rows"]
    done = command("measure", "study.yaml", "--out", "run", "--json")
    assert done.code == 0, done.err
    # each judge: 4 items and 16 texts, the items of the reference included
    assert cast.calls == {"writer": 16, "checker": 16 + 12, "grader": 20, "other": 20}
    assert sum(row["calls"] for row in planned if row["judge"] in ("grader", "other")) == 40
    assert max(cast.keys.values()) == 1
    for judge, unchanged in (("grader", OWN), ("other", (4, 4))):
        right = {**dict.fromkeys(["label_flip", *KEPT], (4, 4)), ORIGINAL: unchanged}
        assert figures(done.rows, "accuracy", judge) == right
    lines = [json.loads(line) for line in (tmp_path / "run" / "stimuli.jsonl").read_text().splitlines()]
    flip = next(line for line in lines if line["id"] == "sky-0/label_flip/0")
    assert flip["expectation"] == {"type": "Label", "value": "0"}
    store = RunStore(tmp_path / "run" / "run.db", read_only=True)
    assert store.verify() == []
    assert len(store.answered()) == 20 * (2 + 2)  # two judges and two baselines
    store.close()


def test_in_a_script_the_reference_is_asked_first_too_and_every_output_names_it(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    write(tmp_path, server, probes=["label_flip"])
    run = tmp_path / "run"
    measured = steelyard.measure(study=tmp_path / "study.yaml", out=run)
    found = measured.find("other", "accuracy", "label_flip", protocol="base")
    assert found is not None
    assert (found.numerator, found.denominator, measured.reference) == (4, 4, "grader")
    calls = dict(cast.calls)
    shown = command("measure", "study.yaml", "--out", "run").out
    assert "No calls" in shown
    assert f"Reference: {TOLD}" in " ".join(shown.split())
    sheet = (run / "datasheet.json").read_text()
    assert json.loads(sheet)["study"]["reference"].startswith(TOLD)
    assert f"- reference: {TOLD}" in (run / "datasheet.md").read_text()
    assert f"<dt>reference</dt><dd>{TOLD}" in (run / "datasheet.html").read_text()
    (tmp_path / "sky.jsonl").unlink()
    assert command("report", "run", "--format", "json").out == sheet
    assert cast.calls == calls


def test_a_reference_whose_replies_are_gone_is_not_asked_again(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    write(tmp_path, server, probes=["stochastic_stability"])
    assert command("measure", "study.yaml", "--out", "run").code == 0
    (tmp_path / "run" / "run.db").unlink()
    calls = dict(cast.calls)
    for _ in range(2):
        done = command("measure", "study.yaml", "--out", "run")
        assert (done.code, dict(cast.calls)) == (1, calls)
        assert "the replies behind datasheet.json are gone" in done.err


def test_a_judge_is_not_held_against_its_own_verdicts(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    write(tmp_path, server, probes=["stochastic_stability", "label_flip"])
    done = command("measure", "study.yaml", "--out", "run", "--json")
    assert done.code == 0, done.err
    told = {"stochastic_stability": OWN, ORIGINAL: OWN, "label_flip": (4, 4)}
    assert figures(done.rows, "accuracy") == told
    others = {"stochastic_stability": (20, 20), ORIGINAL: (20, 20), "label_flip": (4, 4)}
    assert figures(done.rows, "accuracy", "other") == others
    for metric in ("false_positive_rate", "false_negative_rate", "balanced_accuracy", "kappa", "gwet_ac1"):
        assert figures(done.rows, metric)["stochastic_stability"] == OWN
    beside = [r for r in done.rows if r["metric"] == "accuracy" and r["group"].get("kind") == "original"]
    values = {row["judge"]: row["value"] for row in beside if row["judge"] in ("grader", "other")}
    assert values == {"grader": None, "other": 1.0}
    same = [r["value"] for r in done.rows if (r["judge"], r["metric"]) == ("grader", "self_agreement")]
    assert set(same) == {1.0}
    panel = json.loads((tmp_path / "run" / "datasheet.json").read_text())["panel"]
    juries = [row for row in panel if row["metric"] == "jury_accuracy"]
    assert {row["probe"] for row in juries} == {"jury", "label_flip"}
    assert {row["denominator"] for row in juries} == {4}  # the flips; the items have the grader's own labels


def test_a_judge_made_of_the_reference_is_not_held_against_it_and_none_of_them_is_called_better(
    command: Command, tmp_path: Path, server: ScriptedServer
) -> None:
    judges = [{"name": name, "model": model(name, server)} for name in ("grader", "other", "third")]
    jury = {"name": "three", "jury": ["grader", "other", "third"]}
    write(tmp_path, server, probes=["stochastic_stability", "format_invariance_1"], judges=[*judges, jury])
    done = command("measure", "study.yaml", "--out", "run", "--json")
    told = {"stochastic_stability": OWN, ORIGINAL: OWN, "format_invariance_1": (4, 4)}
    assert figures(done.rows, "accuracy", "three") == told
    for judge, compared in (("grader", False), ("three", False), ("third", True)):
        body = json.loads(command("compare", f"run:{judge}", "run:other", "--json").out)
        rows = {(row["probe"], row["metric"]): row["n_shared"] for row in body["comparisons"]}
        assert bool(rows.get(("format_invariance_1", "accuracy"))) is compared
        assert rows["format_invariance_1", "invariance"] > 0
        assert body["first"]["reference"] == "grader"
    shown = " ".join(command("compare", "run:third", "run:other").out.split())
    assert f"Reference: {TOLD}" in shown
    assert TOLD in " ".join(command("gate", "run", "--policy", "smoke").out.split())
    together = command("overall", "run").out
    assert f"Reference on sky: {TOLD}" in together
    assert f"grader: no accuracy on sky ({OWN})." in together


def test_own_labels_are_in_no_figure_of_accuracy_between_runs() -> None:
    graded = [call("i1", 1, 1, probe=ORIGINAL), call("i1", 1, 1, probe="typos")]
    own = [replace(graded[0], own_label=True), graded[1]]
    asked = [
        sorted(
            (question.probe, question.metric) for question in unit_events(rows, lambda s: s.id, metrics_of)
        )
        for rows in (graded, own)
    ]
    edited = [
        ("run", "abstention_rate"),
        ("run", "failed_rate"),
        ("run", "unreadable_rate"),
        ("typos", "accuracy"),
        ("typos", "invariance"),
    ]
    of_labels = ("accuracy", "leniency", "merit", "share_above", "share_below")
    unchanged = [(ORIGINAL, metric) for metric in of_labels]
    assert asked == [[*unchanged, *edited], edited]
    ordinal = collect_scores(replace(o, own_label=True) for o in [call("i", 3, 3, scale="1-6")])
    found = {e.metric: e for e in ordinal_figures(EstimateContext("j", "p", {}, 7), ordinal)}
    told = {metric: e.note for metric, e in found.items() if e.value is None}
    assert told == dict.fromkeys(["within_one", *(metric.id for metric in ORDINAL)], OWN)


def test_the_reference_shows_no_self_preference_on_its_own_labels() -> None:
    shown = [call(f"i{n}", n % 2, n % 2, probe=ORIGINAL) for n in range(4)]
    signed = [
        replace(o, stimulus=replace(o.stimulus, authors=("mine" if n < 2 else "other",)))
        for n, o in enumerate(shown)
    ]
    probe = SelfPreference(families={"j": "a", "mine": "a", "other": "b"})
    (free,) = probe.estimates("j", signed, 7)
    (own,) = probe.estimates("j", [replace(o, own_label=True) for o in signed], 7)
    assert (free.value, own.value, own.note) == (0.0, None, OWN)


def test_an_item_without_a_verdict_has_no_reference_and_keeps_none(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    def shy(text: str, low: int, high: int) -> int | Answer:
        return says("I would rather not.") if "town 3 looks" in text else true_score(text, low, high)

    cast.grade = shy
    write(tmp_path, server, probes=["label_flip"])
    done = command("generate", "study.yaml", "--out", "run")
    assert "judge grader gave no verdict on 1 of 4 items, which has no reference" in done.err
    assert "label_flip: 3 asked, 3 usable." in done.out
    cast.grade = true_score
    measured = command("measure", "study.yaml", "--out", "run", "--json")
    assert figures(measured.rows, "accuracy") == {"label_flip": (3, 3), ORIGINAL: OWN}
    assert cast.calls == {"grader": 4 + 3, "writer": 3, "checker": 3, "other": 3 + 3}


def test_an_interrupted_reference_goes_on_and_pays_for_nothing_again(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    def sick(text: str, low: int, high: int) -> int | Answer:
        return fails(503) if "town 2 looks" in text else true_score(text, low, high)

    cast.grade = sick
    write(tmp_path, server, probes=["label_flip"])
    options = ("--out", "run", "--attempts", "1", "--backoff", "0")
    done = command("measure", "study.yaml", *options)
    assert done.code == 1
    assert "data.reference: 1 of 4 items waits for a reply" in done.err
    assert cast.calls == {"grader": 4}
    cast.grade = true_score
    done = command("measure", "study.yaml", *options, "--json")
    assert done.code == 0, done.err
    assert figures(done.rows, "accuracy") == {"label_flip": (4, 4), ORIGINAL: OWN}
    assert cast.calls == {"grader": 5 + 4, "writer": 4, "checker": 4, "other": 8}


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"judge": "nobody"}, "judge 'nobody' is none of the study's; expected one of grader, other."),
        (
            {"judge": "r", "judges": [{"name": "r", "model": "planted/rater"}]},
            "judge 'r' answers by labels, and there are none",
        ),
        (
            {
                "data": {
                    "path": "sky.jsonl",
                    "columns": {"id": "id", "request": "q", "response": "a", "label": "id"},
                    "labels": {f"sky-{n}": 1 for n in range(4)},
                    "reference": {"judge": "grader"},
                }
            },
            "would stand beside 4 labels of the data",
        ),
    ],
)
def test_a_reference_that_cannot_be_had_is_refused_before_a_call(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer, keys: dict[str, Any], told: str
) -> None:
    write(tmp_path, server, **keys)
    done = command("measure", "study.yaml", "--out", "run")
    assert done.code == 2, done.err
    assert told in done.err
    assert not cast.calls


def test_a_judge_without_a_readable_verdict_is_no_reference(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    cast.grade = lambda text, low, high: says("Hm.")
    write(tmp_path, server, probes=["label_flip"])
    done = command("measure", "study.yaml", "--out", "run")
    assert done.code == 1
    assert "judge grader gave no readable verdict on any of 4 items" in done.err
    assert cast.calls == {"grader": 4}


def test_what_the_reference_cost_is_part_of_the_budget(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    """100 tokens in and 5 out of gpt-4o are $0.0003: four items and as many texts as the rest allows."""
    dear = f"openai/gpt-4o?base_url={server.url}"
    author = {"model": dear, "max_tokens": 20}
    judge = {"name": "grader", "model": dear, "max_tokens": 20}
    checker = {"model": f"openai/gpt-4o-mini?base_url={server.url}", "max_tokens": 20}
    write(tmp_path, server, judges=[judge], author=author, validator=checker, probes=["label_flip"])
    done = command("measure", "study.yaml", "--out", "run", "--budget", "0.0027")
    assert done.code == 1, done.err
    assert "authoring: the budget of $0.0027 is reached" in done.err
    assert 4 < cast.calls["gpt-4o"] < 8
    assert cast.calls["gpt-4o"] * 300e-6 + cast.calls["gpt-4o-mini"] * 18e-6 <= 0.0027
