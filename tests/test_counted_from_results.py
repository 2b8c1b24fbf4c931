"""Every share of a datasheet, counted again from `results.jsonl` and `stimuli.jsonl` as a reader would.

A judge over real HTTP gives every kind of answer there is, and some of no kind; a planted one stands beside.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from servers import Answer, Received, ScriptedServer, fails, says, wins
from steelyard.commands.compare import compare_judges, load_verdicts
from steelyard.commands.measure import measure
from steelyard.metrics.estimate import Estimate
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.limits import RunLimits
from steelyard.study.study_file import StudyConfig, build_study
from well_formed import check_all

Row = dict[str, Any]
Events = dict[tuple[object, ...], bool | None]
"""Unit to whether it shows the event; None without a verdict."""
LIMITS = RunLimits(attempts=1, backoff=0.0, concurrency=4, preflight=False)
PAIRS: tuple[Answer, ...] = (
    wins("1"),
    wins("1"),
    wins("2"),
    wins("tie"),
    says('{"winner": "abstain"}'),
    says("I like both."),
    fails(400),
)
SCORES: tuple[Answer, ...] = (
    says('{"score": 1}'),
    says('{"score": 1}'),
    says('{"score": 0}'),
    says('{"score": "abstain"}'),
    says("Hard to say."),
    fails(400),
)


def moody(answers: tuple[Answer, ...]) -> Callable[[Received], Answer]:
    """Answers that follow from the prompt alone, of every kind."""

    def script(request: Received) -> Answer:
        digest = hashlib.sha256(json.dumps(request.body, sort_keys=True).encode()).digest()
        return answers[digest[0] % len(answers)]

    return script


class Run:
    """A run folder, read as any program could."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        stimuli = {s["id"]: s for s in self._lines(folder / "stimuli.jsonl")}
        self.rows = [{**stimuli[row["id"]], **row} for row in self._lines(folder / "results.jsonl")]
        self.estimates = json.loads((folder / "datasheet.json").read_text())["estimates"]
        self.judges = sorted({row["judge"] for row in self.rows})

    @staticmethod
    def _lines(path: Path) -> list[Row]:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def calls(self, judge: str, **where: object) -> list[Row]:
        return [r for r in self.rows if r["judge"] == judge and all(r[key] == v for key, v in where.items())]

    def figure(self, judge: str, probe: str, metric: str, **group: object) -> Row:
        wanted = {"protocol": "base", **group}
        found = [
            e
            for e in self.estimates
            if (e["judge"], e["probe"], e["metric"], e["group"]) == (judge, probe, metric, wanted)
        ]
        assert len(found) == 1, (judge, probe, metric, group, len(found))
        return dict(found[0])


def check(figure: Row, events: Iterable[bool]) -> None:
    counted = list(events)
    if counted:
        assert (figure["numerator"], figure["denominator"]) == (sum(counted), len(counted)), figure
        assert figure["value"] == pytest.approx(sum(counted) / len(counted))
    else:
        assert figure["value"] is None
        assert figure["note"]


def read(rows: Iterable[Row]) -> list[Row]:
    """Calls with a verdict: a slot or a score, a tie, a valid abstention."""
    return [row for row in rows if row["verdict"] not in ("unreadable", "failed")]


def decided(row: Row) -> bool:
    return row["verdict"] in ("1", "2")


def lost(rows: Iterable[Row]) -> dict[str, int]:
    ends = [row["verdict"] for row in rows]
    return {ending: ends.count(ending) for ending in ("unreadable", "failed")}


# Pairs


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Vacuum and ladder, twice over, of two judges."""
    folder = tmp_path_factory.mktemp("pairs")
    with ScriptedServer(moody(PAIRS)) as server:
        judge = {"model": "openai/moody", "base_url": server.url, "input_price": 0, "output_price": 0}
        config = StudyConfig(judges=[judge, "planted/probit"], probes=["vacuum", "ladder"], replicates=2)
        study = build_study(config, folder)
        study = replace(study, judges=study.judges[:2])  # baselines answer less than these do
        measure(study, RunFolder(folder / "run"), LIMITS)
    return Run(folder / "run")


def test_every_kind_of_answer_was_given(pairs: Run) -> None:
    seen = {row["verdict"] for row in pairs.calls("openai/moody")}
    assert seen == {"1", "2", "tie", "abstain", "unreadable", "failed"}
    assert set(pairs.judges) == {"openai/moody", "planted/probit"}


def test_every_estimate_of_pairs_is_well_formed(pairs: Run) -> None:
    check_all(Estimate.from_json(row) for row in pairs.estimates)


def test_dark_current_and_its_kinds(pairs: Run) -> None:
    for judge in pairs.judges:
        rows = pairs.calls(judge, probe="vacuum", protocol="base")
        figure = pairs.figure(judge, "vacuum", "dark_current")
        check(figure, (decided(row) for row in read(rows)))
        assert figure["excluded"] == lost(rows)
        assert figure["n_units"] == len({row["id"] for row in read(rows)})
        assert figure["n_clusters"] == len({row["task"] for row in read(rows)})
        for kind in {row["kind"] for row in rows}:
            here = [row for row in read(rows) if row["kind"] == kind]
            check(pairs.figure(judge, "vacuum", "dark_current", kind=kind), map(decided, here))


def both_orders(rows: Iterable[Row]) -> list[tuple[Row, Row]]:
    """The two calls on each pair and replicate, u first before v first."""
    found: dict[tuple[str, int], dict[str, Row]] = {}
    for row in rows:
        found.setdefault((row["id"], row["replicate"]), {})[row["order"]] = row
    return [(orders["uv"], orders["vu"]) for orders in found.values()]


def test_the_cells_of_same_quality_pairs(pairs: Run) -> None:
    for judge in pairs.judges:
        rows = pairs.calls(judge, probe="ladder", protocol="base", kind="same_subset")
        group = {"delta": 0, "kind": "same_subset"}
        check(pairs.figure(judge, "ladder", "raw_false_preference", **group), map(decided, read(rows)))
        check(pairs.figure(judge, "ladder", "tie_rate", **group), (not decided(row) for row in read(rows)))
        complete = [pair for pair in both_orders(rows) if len(read(pair)) == 2]
        cells: dict[str, Callable[[Row, Row], bool]] = {
            "stable_cross_sensitivity": lambda a, b: a["winner"] is not None and a["winner"] == b["winner"],
            "positional_false_preference": lambda a, b: decided(a) and a["verdict"] == b["verdict"],
            "one_sided_commit": lambda a, b: decided(a) != decided(b),
            "no_preference": lambda a, b: not decided(a) and not decided(b),
        }
        for metric, event in cells.items():
            check(pairs.figure(judge, "ladder", metric, **group), (event(a, b) for a, b in complete))
        net = pairs.figure(judge, "ladder", "net_slot_preference", **group)
        verdicts = [row["verdict"] for pair in complete for row in pair]
        if complete:
            assert net["numerator"] == verdicts.count("1") - verdicts.count("2")
            assert net["denominator"] == len(verdicts)


@pytest.mark.parametrize("delta", [1, 3, 4, 5])
def test_choices_at_each_step(pairs: Run, delta: int) -> None:
    for judge in pairs.judges:
        rows = read(r for r in pairs.calls(judge, probe="ladder", protocol="base") if r["delta"] == delta)
        right = [row["winner"] == row["label"] for row in rows]
        check(pairs.figure(judge, "ladder", "target_sensitivity", delta=delta), right)
        check(pairs.figure(judge, "ladder", "miss_by_tie", delta=delta), (not decided(row) for row in rows))
        check(
            pairs.figure(judge, "ladder", "wrong_choice", delta=delta),
            (decided(row) and row["winner"] != row["label"] for row in rows),
        )
        check(
            pairs.figure(judge, "ladder", "nontie_accuracy", delta=delta),
            (row["winner"] == row["label"] for row in rows if decided(row)),
        )
        assert all(row["right"] is (row["winner"] == row["label"]) for row in rows)
        for level in {row["base_level"] for row in rows}:
            check(
                pairs.figure(judge, "ladder", "target_sensitivity", delta=delta, base_level=level),
                (row["winner"] == row["label"] for row in rows if row["base_level"] == level),
            )


def test_padding(tmp_path: Path) -> None:
    """Quick shows no padded pair."""
    config = StudyConfig(judges=["planted/probit"], probes=["ladder", "length"], profile="standard")
    study = build_study(config, tmp_path)
    measure(replace(study, judges=study.judges[:1]), RunFolder(tmp_path / "run"), LIMITS)
    run = Run(tmp_path / "run")
    (judge,) = run.judges
    rows = run.calls(judge, probe="ladder", protocol="base")
    padded = [row for row in rows if "filler" in row["kind"] and decided(row)]
    (figure,) = [e for e in run.estimates if e["metric"] == "padded_preference"]
    check(figure, (row["winner"] == "v" for row in padded))
    for step in (1, 2):
        mine = [row for row in run.calls(judge, probe="length") if float(row["delta"]) == step]
        (share,) = [e for e in run.estimates if e["metric"] == "beats_padded" and e["group"]["delta"] == step]
        points = [1.0 if row["winner"] == "u" else 0.0 if decided(row) else 0.5 for row in mine]
        assert (len(mine), share["n_calls"]) == ({1: 20, 2: 28}[step],) * 2
        assert share["value"] == pytest.approx(sum(points) / len(points))


def test_losses_of_each_probe_and_of_the_run(pairs: Run) -> None:
    for judge in pairs.judges:
        for ending in ("unreadable", "failed"):
            for probe in ("vacuum", "ladder"):
                rows = pairs.calls(judge, probe=probe, protocol="base")
                figure = pairs.figure(judge, probe, f"{ending}_rate")
                check(figure, (row["verdict"] == ending for row in rows))
            (whole,) = [
                e
                for e in pairs.estimates
                if (e["judge"], e["probe"], e["metric"]) == (judge, "run", f"{ending}_rate")
            ]
            check(whole, (row["verdict"] == ending for row in pairs.calls(judge)))


def test_flips_of_repeats_and_of_swaps(pairs: Run) -> None:
    for judge in pairs.judges:
        rows = read(pairs.calls(judge, probe="ladder", protocol="base", kind="same_subset"))
        repeats: list[bool] = []
        swaps: list[bool] = []
        for pair in {row["id"] for row in rows}:
            here = [row for row in rows if row["id"] == pair]
            orders = [[row["winner"] for row in here if row["order"] == order] for order in ("uv", "vu")]
            same = [winners[0] != winners[1] for winners in orders if len(winners) == 2]
            across = [one != two for one in orders[0] for two in orders[1]]
            if same and across:
                repeats += same
                swaps += across
        group = {"delta": 0, "kind": "same_subset"}
        check(pairs.figure(judge, "ladder", "repeat_flip_rate", **group), repeats)
        check(pairs.figure(judge, "ladder", "swap_flip_rate", **group), swaps)


# Single texts


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """An edit of every item of the pack, twice over, of two judges."""
    folder = tmp_path_factory.mktemp("scores")
    with ScriptedServer(moody(SCORES)) as server:
        judge = {"model": "openai/moody", "base_url": server.url, "input_price": 0, "output_price": 0}
        config = StudyConfig(
            judges=[judge, "planted/rater"],
            probes=["typos", "label_flip"],
            replicates=2,
            task={"scale": "binary"},
        )
        study = build_study(config, folder)
        study = replace(study, judges=study.judges[:2])  # baselines answer less than these do
        measure(study, RunFolder(folder / "run"), LIMITS)
    return Run(folder / "run")


def test_every_estimate_of_scores_is_well_formed(scores: Run) -> None:
    check_all(Estimate.from_json(row) for row in scores.estimates)


def edits(run: Run, judge: str, probe: str) -> tuple[list[Row], list[Row]]:
    """Calls on a probe's edits, and on the unchanged items that they were made from."""
    edited = run.calls(judge, probe=probe, protocol="base")
    parents = {row["item"] for row in edited}
    plain = [row for row in run.calls(judge, kind="original", protocol="base") if row["item"] in parents]
    return edited, plain


@pytest.mark.parametrize("probe", ["typos", "label_flip"])
def test_accuracy_and_false_rates_of_edits_and_of_unchanged_items(scores: Run, probe: str) -> None:
    for judge in scores.judges:
        edited, plain = edits(scores, judge, probe)
        for rows, group in ((edited, {}), (plain, {"kind": "original"})):
            held = [row for row in read(rows) if row["label"] is not None]
            check(
                scores.figure(judge, probe, "accuracy", **group),
                (row["verdict"] == row["label"] for row in held),
            )
        held = [row for row in read(edited) if row["label"] is not None]
        for metric, label in (("false_positive_rate", "0"), ("false_negative_rate", "1")):
            wrong = {"0": "1", "1": "0"}[label]
            check(
                scores.figure(judge, probe, metric),
                (row["verdict"] == wrong for row in held if row["label"] == label),
            )


def test_invariance_compares_with_the_judges_own_verdicts(scores: Run) -> None:
    for judge in scores.judges:
        edited, plain = edits(scores, judge, "typos")
        own: dict[str, list[str]] = {}
        for row in read(plain):
            own.setdefault(row["item"], []).append(row["verdict"])
        same = [row["verdict"] == before for row in read(edited) for before in own.get(row["item"], [])]
        check(scores.figure(judge, "typos", "invariance"), same)


def test_agreement_of_repeats(scores: Run) -> None:
    for judge in scores.judges:
        edited, _ = edits(scores, judge, "typos")
        verdicts: dict[str, list[str]] = {}
        for row in read(edited):
            verdicts.setdefault(row["id"], []).append(row["verdict"])
        twice = [both for both in verdicts.values() if len(both) == 2]
        scored = [both for both in twice if "abstain" not in both]
        check(scores.figure(judge, "typos", "self_agreement"), (one == two for one, two in scored))
        check(scores.figure(judge, "typos", "flip_rate"), (one != two for one, two in twice))


def test_right_is_what_verdict_and_label_say(scores: Run) -> None:
    for row in scores.rows:
        if row["verdict"] in ("unreadable", "failed") or row["label"] is None:
            assert row["right"] is None
        else:
            assert row["right"] is (row["verdict"] == row["label"])


# Two judges


def call_events(run: Run, judge: str, probe: str, event: Callable[[Row], bool], **where: object) -> Events:
    """Whether each call of a probe shows the event; None without a verdict."""
    rows = run.calls(judge, probe=probe, protocol="base", **where)
    return {(row["id"], row["order"], row["replicate"]): event(row) if read([row]) else None for row in rows}


def pair_events(run: Run, judge: str, event: Callable[[Row, Row], bool], **where: object) -> Events:
    """The same for pairs in both orders."""
    rows = run.calls(judge, probe="ladder", protocol="base", **where)
    return {
        (a["id"], a["replicate"]): event(a, b) if len(read((a, b))) == 2 else None
        for a, b in both_orders(rows)
    }


def stable(a: Row, b: Row) -> bool:
    return a["winner"] is not None and a["winner"] == b["winner"]


COMPARED: dict[tuple[str, str, tuple[tuple[str, object], ...]], Callable[[Run, str], Events]] = {
    ("vacuum", "dark_current", ()): lambda run, judge: call_events(run, judge, "vacuum", decided),
    **{
        ("ladder", "target_sensitivity", (("delta", delta),)): lambda run, judge, delta=delta: call_events(
            run, judge, "ladder", lambda row: row["winner"] == row["label"], delta=float(delta)
        )
        for delta in (1, 3, 4)
    },
    ("ladder", "raw_false_preference", (("delta", 0), ("kind", "same_subset"))): lambda run, judge: (
        call_events(run, judge, "ladder", decided, kind="same_subset")
    ),
    ("ladder", "stable_cross_sensitivity", (("delta", 0), ("kind", "same_subset"))): lambda run, judge: (
        pair_events(run, judge, stable, kind="same_subset")
    ),
}


@pytest.mark.parametrize("figure", COMPARED, ids=lambda figure: figure[1])
def test_two_judges_are_compared_on_the_units_that_both_answered(pairs: Run, figure: Any) -> None:
    probe, metric, condition = figure
    verdicts = load_verdicts(pairs.folder)
    names = ("openai/moody", "planted/probit")
    sheet = compare_judges(verdicts, verdicts.pick(names[0]), verdicts, verdicts.pick(names[1]))
    group = {"protocol": "base", **dict(condition)}
    (row,) = [r for r in sheet.rows if (r.probe, r.metric, dict(r.group)) == (probe, metric, group)]
    one, two = (COMPARED[figure](pairs, name) for name in names)
    assert one.keys() == two.keys()
    shared = [(one[unit], two[unit]) for unit in one if one[unit] is not None and two[unit] is not None]
    assert row.n_shared == len(shared)
    assert row.first == pytest.approx(sum(bool(a) for a, _ in shared) / len(shared))
    assert row.second == pytest.approx(sum(bool(b) for _, b in shared) / len(shared))
    assert row.gained == sum(not a and bool(b) for a, b in shared)
    assert row.lost == sum(bool(a) and not b for a, b in shared)
    assert row.difference == pytest.approx((row.gained - row.lost) / len(shared))
    lacking = sum(event is None for event in one.values())
    assert row.dropped_first.unreadable + row.dropped_first.failed == lacking
    assert row.dropped_second.unreadable + row.dropped_second.failed == 0


def test_exchanging_the_judges_of_a_run_turns_every_sign(pairs: Run) -> None:
    verdicts = load_verdicts(pairs.folder)
    one, two = (verdicts.pick(name) for name in ("openai/moody", "planted/probit"))
    there, back = (compare_judges(verdicts, a, verdicts, b).rows for a, b in ((one, two), (two, one)))
    assert len(there) > 10
    for row, turned in zip(there, back, strict=True):
        assert (row.metric, row.group, row.n_shared) == (turned.metric, turned.group, turned.n_shared)
        assert (row.gained, row.lost) == (turned.lost, turned.gained)
        assert (row.p, row.q) == (turned.p, turned.q)
        assert (row.dropped_first, row.dropped_second) == (turned.dropped_second, turned.dropped_first)
        if row.difference is not None and turned.difference is not None:
            assert row.difference == pytest.approx(-turned.difference)
            low, high = row.intervals[0].low, row.intervals[0].high
            assert low is not None
            assert high is not None
            assert (turned.intervals[0].low, turned.intervals[0].high) == pytest.approx((-high, -low))
