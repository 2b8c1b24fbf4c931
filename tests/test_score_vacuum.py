"""Dark current of judges of single texts: stimuli, figures by hand and against an oracle, the whole pipe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.scores.probe import score_vacuum_estimates
from steelyard.metrics.stats.clusters import Tally, wilson_cluster
from steelyard.probes.catalogue import Vacuum
from steelyard.probes.probe import Design
from steelyard.stimuli.ladder import TEXTS, vacuum_response
from steelyard.stimuli.stimulus import Label
from steelyard.tasks.task import Binary, Item, Ordinal, Scale, Task
from steelyard.trials.judge import Usage
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Unreadable, Verdict

SIX = Task("Score it.", "More is better.", Ordinal(1, 6))
YES = Task("Score it.", "More is better.", Binary())


def items(count: int) -> tuple[Item, ...]:
    return tuple(
        Item(f"i{n:02d}", f"Request {n}", (f"Answer {n}",), f"c{n:02d}", "1", f"s{n % 3}")
        for n in range(count)
    )


def observed(task: Task, rows: list[tuple[int, str, Verdict]]) -> Observations:
    """One call per (item, kind, verdict)."""
    source, seen = items(40), dict[tuple[int, str], int]()
    observations = []
    for number, kind, verdict in rows:
        replicate = seen[number, kind] = seen.get((number, kind), -1) + 1
        stimulus = vacuum_response(source[number], task, kind, 0)
        observations.append(Observation("j", "base", stimulus, "uv", replicate, verdict, Usage(), "p"))
    return Observations.of(observations)


def figures(task: Task, rows: list[tuple[int, str, Verdict]]) -> list[Estimate]:
    return score_vacuum_estimates(
        EstimateContext.for_protocol("j", "vacuum", "base", 7), observed(task, rows)
    )


def find(estimates: list[Estimate], metric: str, **group: str) -> Estimate:
    (found,) = [e for e in estimates if e.metric == metric and e.group == {"protocol": "base", **group}]
    return found


# Stimuli


SIZES = [("quick", 20, 4), ("standard", 108, 12), ("full", 408, 24)]


@pytest.mark.parametrize(("profile", "calls", "requests"), SIZES)
def test_sizes(profile: str, calls: int, requests: int) -> None:
    """Per request: quick 5 kinds; standard 1 + 2 + 2 + 2 + 2; full 1 + 2 + 3 + 3 + 8."""
    shown = list(Vacuum().showings(Design(7, profile, 1, SIX, items(40)), ["base"]))
    assert len(shown) == calls
    assert len({showing.stimulus.request for showing in shown}) == requests
    assert {showing.order for showing in shown} == {"uv"}
    assert {showing.stimulus.kind for showing in shown} == set(TEXTS)
    assert len({showing.stimulus.id for showing in shown}) == calls
    assert {showing.stimulus.stratum for showing in shown} == {"s0", "s1", "s2"}


def test_every_text_of_a_kind_has_its_turn() -> None:
    shown = list(Vacuum().showings(Design(7, "standard", 1, YES, items(40)), ["base"]))
    used = {(showing.stimulus.kind, showing.stimulus.texts[0]) for showing in shown}
    assert used == {(kind, text) for kind, texts in TEXTS.items() for text in texts}


@pytest.mark.parametrize(("scale", "lowest"), [(Binary(), "0"), (Ordinal(1, 6), "1"), (Ordinal(0, 10), "0")])
def test_the_lowest_score_is_expected(scale: Scale, lowest: str) -> None:
    stimulus = vacuum_response(items(1)[0], Task("I", "R", scale), "master_key", 2)
    assert stimulus.expectation == Label(lowest)
    assert stimulus.texts == ("Solution",)
    assert (stimulus.request, stimulus.cluster, stimulus.lineage.parent) == ("Request 0", "c00", "i00")


def test_one_request_is_asked_once_however_many_items_share_it() -> None:
    twins = tuple(Item(f"i{n}", "The same", (f"Answer {n}",), "c") for n in range(9))
    shown = list(Vacuum().showings(Design(7, "standard", 1, YES, twins), ["base"]))
    assert len({showing.stimulus.lineage.parent for showing in shown}) == 1


# Figures


def test_dark_current_counts_scores_above_the_lowest() -> None:
    """Four items, one empty and one blank each: 3 of 8 calls above 1, an abstention among the rest."""
    given = ["2", "1", "1", "6", "1", "1", "4"]
    rows: list[tuple[int, str, Verdict]] = [
        (number // 2, ("empty", "blank")[number % 2], Decided(score)) for number, score in enumerate(given)
    ]
    rows.append((3, "blank", Abstained()))
    sheet = figures(SIX, rows)
    pooled = find(sheet, "dark_current")
    assert (pooled.numerator, pooled.denominator, pooled.n_units, pooled.n_clusters) == (3, 8, 4, 4)
    assert "1 abstained, counted as not above the lowest score" in (pooled.note or "")
    assert find(sheet, "dark_current", kind="empty").numerator == 2
    assert find(sheet, "dark_current", kind="blank").numerator == 1
    assert find(sheet, "mean_score").value == pytest.approx(16 / 7)
    assert find(sheet, "mean_score", kind="empty").value == pytest.approx(8 / 4)


def test_on_a_binary_scale_dark_current_is_the_pass_rate_and_there_is_no_mean() -> None:
    rows: list[tuple[int, str, Verdict]] = [(n, "empty", Decided(str(n % 2))) for n in range(10)]
    sheet = figures(YES, rows)
    assert find(sheet, "dark_current").value == 0.5
    assert not [e for e in sheet if e.metric == "mean_score"]


def test_a_failure_is_never_a_score_and_widens_the_bounds() -> None:
    """Six calls of 1, one unreadable, one failed: the mean is 1, and may be (6·1 + 2·6)/8 at worst."""
    rows: list[tuple[int, str, Verdict]] = [(n, "empty", Decided("1")) for n in range(6)]
    rows += [(6, "empty", Unreadable("empty")), (7, "empty", Failed("timeout"))]
    sheet = figures(SIX, rows)
    dark, mean = find(sheet, "dark_current"), find(sheet, "mean_score")
    assert (dark.numerator, dark.denominator, dark.bounds) == (0, 6, (0.0, 0.25))
    assert (mean.value, mean.bounds, mean.excluded) == (1.0, (1.0, 2.25), {"unreadable": 1, "failed": 1})
    assert find(sheet, "unreadable_rate").numerator == find(sheet, "failed_rate").numerator == 1


def test_without_any_verdict_nothing_is_defined() -> None:
    sheet = figures(SIX, [(n, "empty", Unreadable("empty")) for n in range(4)])
    for metric in ("dark_current", "mean_score"):
        assert find(sheet, metric).value is None
        assert find(sheet, metric).note


@pytest.mark.slow
def test_the_mean_agrees_with_clustered_least_squares() -> None:
    import statsmodels.api as sm

    generator = np.random.default_rng(3)
    rows: list[tuple[int, str, Verdict]] = []
    for number in range(9):
        centre = generator.integers(1, 5)
        rows += [
            (number, "off_topic", Decided(str(int(np.clip(centre + generator.integers(-1, 2), 1, 6)))))
            for _ in range(int(generator.integers(2, 7)))
        ]
    mean = find(figures(SIX, rows), "mean_score")
    values = np.array([float(v.value) for _, _, v in rows if isinstance(v, Decided)])
    groups = np.array([number for number, _, _ in rows])
    fit = sm.OLS(values, np.ones((len(values), 1))).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "df_correction": True}, use_t=True
    )
    assert mean.value == pytest.approx(fit.params[0])
    assert mean.interval is not None
    assert mean.interval.method == "t_cluster"
    assert (mean.interval.low, mean.interval.high) == pytest.approx(tuple(fit.conf_int()[0]))


def test_a_judge_that_always_gives_the_lowest_score_is_not_certain() -> None:
    """12 calls in 4 tasks, all 1: the mean may be 1 + 5·p, with p the upper limit of 0 of 12."""
    mean = find(figures(SIX, [(n % 4, "empty", Decided("1")) for n in range(12)]), "mean_score")
    counts = Tally(np.zeros(4, dtype=np.int64), np.full(4, 3), 12, 4)
    assert mean.interval is not None
    assert mean.interval.method == "wilson_mean"
    assert (mean.interval.low, mean.interval.high) == (1.0, pytest.approx(1 + 5 * wilson_cluster(counts)[1]))


def test_one_task_only_is_said() -> None:
    rows: list[tuple[int, str, Verdict]] = [(0, "empty", Decided(score)) for score in "112"]
    mean = find(figures(SIX, rows), "mean_score")
    assert "this cluster only" in (mean.note or "")
    assert mean.interval is not None


# The whole pipe


def sheet(folder: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((folder / "datasheet.json").read_text())
    return body


def pooled(folder: Path, metric: str, judge: str) -> dict[str, Any]:
    wanted = (judge, metric, {"protocol": "base"}, "vacuum")
    rows = sheet(folder)["estimates"]
    (row,) = [r for r in rows if (r["judge"], r["metric"], r["group"], r["probe"]) == wanted]
    return dict(row)


@pytest.mark.parametrize("scale", ["binary", "1-6"])
def test_a_sound_rater_on_the_pack(steelyard, tmp_path: Path, scale: str) -> None:
    rater = "planted/rater?specificity=1&noise=0"
    command = ("measure", "--scale", scale, "-p", "vacuum", "-j", rater, "--out", "run")
    done = steelyard(*command)
    assert done.returncode == 0, done.stderr
    assert pooled(tmp_path / "run", "dark_current", "planted/rater")["numerator"] == 0
    assert pooled(tmp_path / "run", "dark_current", "constant")["value"] == 1.0
    assert sheet(tmp_path / "run")["study"]["level"] == "pointwise"
    page = (tmp_path / "run" / "datasheet.html").read_text()
    assert "Does it reward a response when there is nothing to judge?" in page
    assert "calls/items/clusters" in page
    before = (tmp_path / "run" / "datasheet.json").read_bytes()
    again = steelyard(*command)
    assert "No calls: every trial was answered before." in again.stdout
    report = steelyard("report", "run", "--format", "json")
    assert report.returncode == 0, report.stderr
    assert report.stdout.encode() == before
    assert (tmp_path / "run" / "datasheet.json").read_bytes() == before


def test_a_scale_that_the_pack_does_not_have(steelyard) -> None:
    done = steelyard("measure", "--scale", "1-9", "-j", "planted/rater", "--dry-run")
    assert done.returncode == 2
    assert "scale '1-9': the built-in pack has no items on it, only on 1-6, binary;" in done.stderr


def test_what_does_not_fit_the_scale_is_exit_2(steelyard) -> None:
    for arguments, complaint in (
        (("-p", "ladder", "-j", "planted/rater"), "probe 'ladder': needs a pairwise scale"),
        (("-j", "embedded/smollm2-135m-likelihood"), "compares two texts and gives no score"),
        (("-j", "planted/coin"), "compares two texts and gives no score"),
    ):
        done = steelyard("plan", "--scale", "binary", *arguments)
        assert done.returncode == 2
        assert complaint in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
