"""Several judges in one run: spreads, juries, shared errors, money, and how reports show them."""

from __future__ import annotations

import csv
import json
import random
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from panels import JUDGES, PROBES, Scored, dollars, panel_datasheet
from scores import call, calls
from servers import Answer, Received, ScriptedServer, says
from steelyard.datasheet import glossary
from steelyard.datasheet.assemble import assemble
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.render import data_files as table
from steelyard.datasheet.render import html, markdown, terminal
from steelyard.datasheet.render.data_files import dumps
from steelyard.datasheet.render.html.charts.heatmaps import accuracy, invariance
from steelyard.datasheet.render.html.charts.scatter_charts import cost_curve
from steelyard.datasheet.sections.summary import summarise
from steelyard.datasheet.sections.tables import SINGLE_JUDGE_NOTE, judges_of, multi_judge_tables
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.juries import HELD_OUT, SPLITS, jury_estimates
from steelyard.metrics.panel_metrics import error_correlation, vote_matrix
from steelyard.metrics.remedies.mitigations import NO_CHOICE, halves
from steelyard.metrics.run.cost import NEVER_RIGHT, NO_PRICE
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.stats.agreement import dawid_skene
from steelyard.trials.builtin_prompts import parse_score_prompt
from steelyard.verdicts.observations import Observation, Observations


def sheet_of(rows: list[Observation], probes: list[str], prices: dict[str, float | None]) -> Datasheet:
    names = list(dict.fromkeys(row.judge for row in rows))
    return assemble(
        name="by hand",
        seed=7,
        profile="standard",
        stimulus_set="sha256:0",
        judges=[JudgeEntry(name, name, False, {"base": "sha256:1"}) for name in names],
        probes=[Scored(name) for name in probes],
        observations=rows,
        run={},
        prices={name: dollars(price) for name, price in prices.items()},
    )


def edits(judge: str, probe: str, right: int, of: int = 10) -> list[Observation]:
    """The first `right` of so many edits are scored right, each of a task of its own."""
    return [
        call(f"i{n:02d}", 1 if n < right else 0, 1, probe=probe, judge=judge, cluster=f"t{n:02d}")
        for n in range(of)
    ]


def printed(datasheet: Datasheet, width: int = 120) -> str:
    stream = StringIO()
    terminal.render(datasheet, Console(file=stream, width=width, no_color=True))
    return stream.getvalue()


# RAND harness, Appendix F, Persuade: right of 10 essays for four judges, printed mean and SD in percent.
APPENDIX_F = {
    "format_invariance_1": ((2, 3, 4, 5), 35.00, 12.91),
    "format_invariance_2": ((5, 5, 5, 6), 52.50, 5.00),
    "semantic_paraphrase": ((5, 6, 6, 7), 60.00, 8.16),
    "verbosity_bias_long": ((2, 4, 5, 6), 42.50, 17.08),
}


@pytest.fixture(scope="module")
def published() -> Datasheet:
    rows = [
        row
        for probe, (counts, _, _) in APPENDIX_F.items()
        for judge, right in zip("abcd", counts, strict=True)
        for row in edits(judge, probe, right)
    ]
    return sheet_of(rows, list(APPENDIX_F), {})


@pytest.mark.parametrize("probe", APPENDIX_F)
def test_the_published_spread_over_judges_comes_out_of_the_datasheet(
    published: Datasheet, probe: str
) -> None:
    counts, mean, sd = APPENDIX_F[probe]
    found = {e.metric: e for e in published.panel if (e.probe, e.group.get("of")) == (probe, "accuracy")}
    assert found["judges_mean"].value == pytest.approx(mean / 100)
    assert found["judges_sd"].value == pytest.approx(sd / 100, abs=6e-5)
    assert (found["judges_min"].value, found["judges_max"].value) == (min(counts) / 10, max(counts) / 10)
    assert (judges_of(found["judges_min"]), judges_of(found["judges_max"])) == (("a",), ("d",))


def test_the_spread_over_probes_has_its_sampling_share_beside(published: Datasheet) -> None:
    found = {e.metric: e for e in published.estimates if (e.judge, e.probe) == ("a", "volatility")}
    # 2, 5, 5, 2 of 10: mean .35, SD √(4·.0225/3) = .1732. The first two or five items are right: variances
    # .16 and .25 an item, covariances .16, .25 and four times .10 among six pairs, so (.205 − .135)/10 is
    # left to sampling, times G/(G − 1) = 10/9 for ten tasks of one call each.
    assert found["accuracy_mean"].value == pytest.approx(0.35)
    assert found["accuracy_sd"].value == pytest.approx(0.1732, abs=1e-4)
    assert found["accuracy_sd_sampling"].value == pytest.approx((0.07 / 9) ** 0.5, abs=1e-6)
    mean = found["accuracy_mean"].interval
    assert mean is not None
    assert mean.low is not None
    assert mean.high is not None
    assert 0 <= mean.low < 0.35 < mean.high <= 1


def test_the_interval_of_a_mean_draws_tasks_with_all_their_probes() -> None:
    # Two probes on the same tasks, right together: the mean is as uncertain as either probe alone.
    alike = [row for probe in ("p", "q") for row in edits("a", probe, 5)]
    other = [*edits("b", "p", 5), *(replace(row, judge="b") for row in reversed_edits("q"))]
    found = sheet_of([*alike, *other], ["p", "q"], {})
    together_, opposed = (found.find(name, "accuracy_mean", protocol="base") for name in "ab")
    assert together_ is not None
    assert together_.interval is not None
    assert together_.interval.high == pytest.approx(0.86, abs=0.06)
    # Opposed probes cancel: whichever tasks are drawn, the mean is one half, and no width is no interval.
    assert opposed is not None
    assert (opposed.value, opposed.intervals) == (0.5, ())


def reversed_edits(probe: str) -> list[Observation]:
    return [call(f"i{n:02d}", int(n >= 5), 1, probe=probe, cluster=f"t{n:02d}") for n in range(10)]


def test_money_is_counted_once_per_call_and_split_by_direction() -> None:
    # 20 calls of 100 tokens in and 10 out; $2 per million in, four times as much out.
    rows = [*calls([1] * 10, [1] * 10), *edits("j", "p", 8)]
    found = sheet_of(rows, ["p", "stochastic_stability"], {"j": 2.0})
    cost = {e.metric: e.value for e in found.estimates if e.probe == "cost"}
    assert (cost["tokens_input"], cost["tokens_output"]) == (2000, 200)
    assert cost["cost_input"] == pytest.approx(2000 * 2e-6)
    assert cost["cost_output"] == pytest.approx(200 * 8e-6)
    assert cost["cost_per_call"] == pytest.approx(0.00028)
    # Ten calls each: $.0028 / 80 points and $.0028 / 100 points; pooled over 90 points.
    assert cost["cost_per_point_mean"] == pytest.approx((0.0028 / 80 + 0.0028 / 100) / 2)
    assert cost["cost_per_point_pooled"] == pytest.approx(0.0056 / 90)


def test_a_judge_that_is_never_right_or_has_no_price_has_no_cost_per_point() -> None:
    rows = [*edits("wrong", "p", 0), *edits("unknown", "p", 5)]
    found = sheet_of(rows, ["p"], {"wrong": 1.0, "unknown": None})
    never, unknown = (
        found.find(name, "cost_per_point", "p", protocol="base") for name in ("wrong", "unknown")
    )
    assert never is not None
    assert (never.value, never.note) == (None, NEVER_RIGHT)
    assert unknown is not None
    assert (unknown.value, unknown.note) == (None, NO_PRICE)
    total = found.find("unknown", "cost_input", "cost", protocol="base")
    assert total is not None
    assert total.value is None
    tokens = found.find("unknown", "tokens_input", "cost", protocol="base")
    assert tokens is not None
    assert tokens.value == 1000


def test_the_front_of_the_cost_curve_by_hand() -> None:
    right = {"cheap": 5, "fair": 7, "beaten": 6, "dear": 9, "unpriced": 10}
    prices = {"cheap": 0.1, "fair": 1.0, "beaten": 2.0, "dear": 9.0, "unpriced": None}
    rows = [row for name, k in right.items() for probe in ("p", "q") for row in edits(name, probe, k)]
    figure = cost_curve(summarise(sheet_of(rows, ["p", "q"], prices)))
    assert figure is not None
    probes = [row for row in figure.rows if row[3] == "a probe"]
    # 100 tokens in and 10 out at four times the price of $.10 a million: $.000014 a call.
    first = tuple(map(str, probes[0]))
    assert first == ("cheap, p", "0.50 [0.20,\xa00.80] 5/10", "$0.000014 (no\xa0interval)", "a probe")
    assert [row[0] for row in probes[:3]] == ["cheap, p", "cheap, q", "fair, p"]
    assert len(probes) == 8
    assert figure.panels[0].svg.count("<circle") >= 8
    assert {row[0]: row[3] for row in figure.rows if row not in probes} == {
        "cheap": "yes",
        "fair": "yes",
        "beaten": "no",
        "dear": "yes",
        "unpriced": "not measured",
    }
    assert figure.omitted == ("unpriced: cost per call is undefined (the price of this model is not known)",)


def test_a_free_judge_is_drawn_beside_priced_ones() -> None:
    rows = [row for name in ("free", "paid") for probe in ("p", "q") for row in edits(name, probe, 6)]
    figure = cost_curve(summarise(sheet_of(rows, ["p", "q"], {"free": 0.0, "paid": 1.0})))
    assert figure is not None
    assert ">free<" in figure.panels[0].svg
    # Equal accuracy at a price is beaten.
    assert [row[3] for row in figure.rows] == ["yes", "no", *["a probe"] * 4]


def noisy(judges: int, items: int, seed: int, *, per_task: int = 1) -> dict[str, list[Observation]]:
    stream = random.Random(seed)
    found: dict[str, list[Observation]] = {}
    for number in range(judges):
        found[f"j{number}"] = [
            call(
                f"i{n:03d}",
                n % 2 if stream.random() < 0.75 else 1 - n % 2,
                n % 2,
                judge=f"j{number}",
                cluster=f"t{n // per_task:03d}",
            )
            for n in range(items)
        ]
    return found


def jury_figures(rows: dict[str, list[Observation]]) -> list[Estimate]:
    """Figures of the juries of these judges."""
    return jury_estimates(Observations.of([row for mine in rows.values() for row in mine]), tuple(rows), 7)


def by_metric(estimates: list[Estimate], metric: str) -> list[Estimate]:
    return [e for e in estimates if e.metric == metric]


def test_error_correlation_is_that_of_the_columns_of_errors() -> None:
    rows = noisy(3, 80, 4)
    scores = {name: collect_scores(mine) for name, mine in rows.items()}
    found = {judges_of(e): e for e in by_metric(jury_figures(rows), "error_correlation")}
    wrong = {name: columns.score != columns.expected for name, columns in scores.items()}
    assert set(found) == set(combinations(sorted(rows), 2))
    for (first, second), estimate in found.items():
        assert estimate.value == pytest.approx(np.corrcoef(wrong[first], wrong[second])[0, 1])
        assert estimate.interval is not None
        assert (estimate.interval.low or 0) < (estimate.value or 0) < (estimate.interval.high or 0)


@pytest.mark.parametrize(("inputs", "share"), [(12, 0.0), (12, 0.5), (24, 0.0)])
def test_the_correlation_of_few_errors_is_covered(inputs: int, share: float) -> None:
    """Judges that err on a quarter of the inputs, apart or half of them by a common cause."""
    generator = np.random.default_rng(inputs)
    heading = EstimateContext("panel", "jury", {"protocol": "base"}, 7)

    def wrong(size: int) -> np.ndarray:
        common = generator.standard_normal((size, 1)) * share**0.5
        return (common + generator.standard_normal((size, 2)) * (1 - share) ** 0.5 > 0.6744898).astype(float)

    true = float(np.corrcoef(wrong(400_000).T)[0, 1])
    found = [error_correlation(heading, wrong(inputs), np.arange(inputs)).interval for _ in range(300)]
    made = [limits for limits in found if limits is not None]
    assert len(made) > 150
    assert np.mean([(e.low or 0) <= true <= (e.high or 0) for e in made]) >= 0.93


def test_copies_of_a_judge_err_as_one_and_a_flawless_judge_has_no_correlation() -> None:
    rows = noisy(1, 60, 4)["j0"]
    perfect = [call(f"i{n:03d}", n % 2, n % 2, cluster=f"t{n:03d}", judge="c") for n in range(60)]
    judges = {name: [replace(row, judge=name) for row in rows] for name in "ab"} | {"c": perfect}
    found = {judges_of(e): e for e in by_metric(jury_figures(judges), "error_correlation")}
    assert found[("a", "b")].value == pytest.approx(1.0)
    assert found[("a", "c")].value is None
    assert found[("a", "c")].note == "one of the two judges is always right or always wrong"


def test_a_jury_by_hand() -> None:
    # Labels 1; votes of three judges: right by 3, 2, 1, 0 of them.
    votes = {"a": [1, 1, 1, 0], "b": [1, 1, 0, 0], "c": [1, 0, 0, 0]}
    found = jury_figures({name: calls(answers, [1] * 4, judge=name) for name, answers in votes.items()})
    whole = next(e for e in found if e.metric == "jury_accuracy" and set(e.group) == {"protocol"})
    assert (whole.numerator, whole.denominator) == (2, 4)
    assert whole.note is not None
    assert SPLITS in whole.note
    rates = {e.metric: e for e in found if set(e.group) == {"protocol"}}
    assert rates["jury_false_negative_rate"].value == 0.5
    assert (rates["jury_error_rate"].numerator, rates["jury_error_rate"].denominator) == (2, 4)
    assert rates["jury_false_positive_rate"].note == "no item has the label 0"


# RAND harness, Appendix G: errors of 16 clean and 16 violating transcripts; three judges that err where their
# numbers say, one after another or all on the first ones.
def sixteen(apart: bool) -> dict[str, list[Observation]]:
    labels = [0] * 16 + [1] * 16
    found = {}
    for number, (positive, negative) in enumerate([(1, 2), (1, 5), (4, 2)]):
        first = 5 * number if apart else 0
        wrong = {*range(first, first + positive), *range(16 + first, 16 + first + negative)}
        answers = [y ^ int(n in wrong) for n, y in enumerate(labels)]
        found[f"j{number}"] = calls(answers, labels, judge=f"j{number}")
    return found


def test_errors_of_a_jury_by_hand() -> None:
    """Errors apart cancel; together the majority makes those that two of three make: 1 and 2 of 16."""
    for apart, positive, negative in ((True, 0, 0), (False, 1, 2)):
        found = {e.metric: e for e in jury_figures(sixteen(apart)) if dict(e.group) == {"protocol": "base"}}
        rates = [found[f"jury_false_{sort}_rate"] for sort in ("positive", "negative")]
        assert [(e.numerator, e.denominator) for e in rates] == [(positive, 16), (negative, 16)]
        assert found["jury_error_rate"].numerator == positive + negative
        assert all(e.interval is not None for e in rates)


def test_a_lost_vote_that_decides_bounds_the_jury() -> None:
    # Labels 1. Of one against one the lost vote decides: no verdict. Then two of three stand.
    votes: dict[str, list[int | str]] = {"a": [1, 1], "b": [0, 1], "c": ["failed", "failed"]}
    rows = {name: calls(answers, [1, 1], judge=name) for name, answers in votes.items()}
    found = {e.metric: e for e in jury_figures(rows) if dict(e.group) == {"protocol": "base"}}
    right = found["jury_accuracy"]
    assert (right.numerator, right.denominator, right.bounds) == (1, 1, (0.5, 1.0))
    assert dict(right.excluded) == {"unreadable": 0, "failed": 1}
    assert found["jury_false_negative_rate"].bounds == (0.0, 0.5)


def test_a_split_vote_is_not_right_and_the_rates_add_up() -> None:
    """Of four judges two say 1 and two 0 on the first input; both sorts of labels."""
    for label in (0, 1):
        votes = {"a": [1, label], "b": [1, label], "c": [0, label], "d": [0, 1 - label]}
        rows = {name: calls(answers, [label] * 2, judge=name) for name, answers in votes.items()}
        found = {e.metric: e for e in jury_figures(rows) if dict(e.group) == {"protocol": "base"}}
        right, wrong = found["jury_accuracy"], found["jury_error_rate"]
        assert (right.numerator, right.denominator, right.abstained) == (1, 2, 1)
        assert (wrong.numerator, wrong.denominator) == (1, 2)
        assert found[f"jury_false_{'negative' if label else 'positive'}_rate"].numerator == 0


def test_a_split_vote_is_decided_by_the_rules_of_the_harness_beside_it() -> None:
    """Two judges differ on the first two of four inputs; the order of the panel decides, not the names."""
    votes = {"b": [1, 0, 1, 0], "a": [0, 1, 1, 0]}
    labels = [1, 0, 1, 1]
    rows = {name: calls(answers, labels, judge=name) for name, answers in votes.items()}
    for rule, right in (("splits_to_first", 3), ("splits_to_lowest", 2)):
        found = {e.metric: e for e in jury_figures(rows) if e.group.get("rule") == rule}
        accuracy, wrong = found["jury_accuracy"], found["jury_error_rate"]
        assert (accuracy.numerator, accuracy.denominator) == (right, 4)
        assert (wrong.numerator, wrong.denominator) == (4 - right, 4)
    alike = {name: calls([1, 0], [1, 0], judge=name) for name in "ab"}
    assert {e.group.get("rule") for e in jury_figures(alike)} <= {None, "dawid_skene"}


def test_a_judge_without_a_verdict_makes_no_trio() -> None:
    """With `a`, which never answers, each of the other judges would pass for three."""
    labels, lost = [0, 1] * 10, ["unreadable"] * 20
    votes: dict[str, list[Any]] = {"a": lost, "b": labels, "c": [0] * 20, "d": [1] * 20}
    rows = {name: calls(answers, labels, judge=name) for name, answers in votes.items()}
    trios = {judges_of(e) for e in jury_figures(rows) if len(judges_of(e)) == 3}
    assert trios == {("b", "c", "d")}
    del rows["d"]
    chosen = next(e for e in jury_figures(rows) if e.metric == "chosen_jury_accuracy")
    assert (chosen.value, chosen.note) == (None, "fewer than three judges gave a verdict")


@pytest.mark.slow
def test_no_jury_is_told_where_it_was_picked() -> None:
    """Six judges have 20 trios: one is chosen, and its figures are of tasks that did not choose it."""
    every = [e for e in jury_figures(noisy(6, 24, 6)) if len(judges_of(e)) == 3]
    found = [e for e in every if e.metric != "trio_accuracy"]
    assert len({judges_of(e) for e in found}) == 1
    listed = [e for e in every if e.metric == "trio_accuracy"]
    assert len(listed) == 20
    assert all("the best of them looks better than it is" in (e.note or "") for e in listed)
    told = [e.note or "" for e in found if e.metric != "chosen_jury_apparent"]
    assert all(note.startswith(HELD_OUT) for note in told)
    apparent = next(e for e in found if e.metric == "chosen_jury_apparent")
    assert (apparent.note or "").startswith("in-sample")
    shown = {table.title: table for table in multi_judge_tables(summarise(noisy_sheet(4)))}
    assert not any("in-sample" in " ".join(row) or "chosen" in row[0] for row in shown["Juries"].rows)


def noisy_sheet(judges: int) -> Datasheet:
    return sheet_of(
        [row for rows in noisy(judges, 12, 6).values() for row in rows], ["stochastic_stability"], {}
    )


def test_the_majority_has_an_accuracy_on_every_probe() -> None:
    votes = {"a": (6, 3), "b": (5, 8), "c": (2, 4)}
    rows = [
        row
        for name, right in votes.items()
        for p, k in zip("pq", right, strict=True)
        for row in edits(name, p, k)
    ]
    found = sheet_of(rows, ["p", "q"], {})
    mine = {e.probe: e for e in found.panel if e.metric == "jury_accuracy" and e.probe != "jury"}
    # The first items are right: the majority is right as often as the middle judge.
    assert {probe: (e.numerator, e.denominator) for probe, e in mine.items()} == {"p": (5, 10), "q": (4, 10)}
    shown = next(
        shown for shown in multi_judge_tables(summarise(found)) if shown.title == "Majority by probe"
    )
    assert [row[2] for row in shown.rows] == ["10/10", "10/10"]
    figure = accuracy(summarise(found))
    assert figure is not None
    assert figure.header == ("probe", "a", "b", "c", "majority of all")
    assert str(figure.rows[1][4]).startswith("0.40")


def test_votes_that_were_lost_are_told_and_bound_the_jury() -> None:
    # Labels 1. Nobody answers the third input; the second lacks one vote and is right by the other two.
    votes = {"a": [1, 1, "failed", 0], "b": [1, 1, "failed", 0], "c": [1, "unreadable", "failed", 0]}
    rows = {name: calls(answers, [1] * 4, judge=name) for name, answers in votes.items()}
    whole = next(e for e in jury_figures(rows) if e.metric == "jury_accuracy")
    assert (whole.numerator, whole.denominator, whole.bounds) == (2, 3, (0.5, 0.75))
    assert dict(whole.excluded) == {"unreadable": 0, "failed": 1}


def test_a_chosen_trio_counts_on_tasks_that_did_not_choose_it() -> None:
    rows = noisy(5, 80, 6, per_task=4)
    split = halves(Observations.of([row for mine in rows.values() for row in mine]), 7)
    assert split is not None
    seen, unseen = ({row.stimulus.cluster for row in half} for half in split)
    assert not seen & unseen
    found = {e.metric: e for e in jury_figures(rows) if len(judges_of(e)) in (1, 3)}
    apparent, honest = found["chosen_jury_apparent"], found["chosen_jury_accuracy"]
    assert (apparent.denominator, honest.denominator) == (40, 40)
    assert (apparent.n_clusters, honest.n_clusters) == (10, 10)
    gain, single = found["jury_gain"], found["best_judge_accuracy"]
    assert gain.value == pytest.approx((honest.value or 0) - (single.value or 0))


def test_one_task_cannot_choose_a_jury() -> None:
    rows = noisy(3, 12, 6, per_task=12)
    gain = next(e for e in jury_figures(rows) if e.metric == "jury_gain")
    assert gain.value is None
    assert "cannot be halved" in (gain.note or "")
    of_four = jury_figures(noisy(4, 12, 6, per_task=12))
    chosen = next(e for e in of_four if e.metric == "chosen_jury_accuracy")
    assert (chosen.value, chosen.note) == (None, NO_CHOICE)


def mixed_scales(seed: int) -> dict[str, list[Observation]]:
    """The judge that is sharp on yes and no guesses on 1 to 3, and another the other way round."""
    stream = random.Random(seed)
    found: dict[str, list[Observation]] = {"a": [], "b": [], "c": []}
    scales = (("binary", (0, 1), (0.95, 0.6, 0.6)), ("1-3", (1, 2, 3), (0.45, 0.95, 0.6)))
    for scale, answers, sharp in scales:
        for n in range(60):
            label = answers[n % len(answers)]
            for (judge, rows), share in zip(found.items(), sharp, strict=True):
                others = [answer for answer in answers if answer != label]
                given = label if stream.random() < share else stream.choice(others)
                rows.append(call(f"{scale}{n:02d}", given, label, scale=scale, judge=judge))
    return found


@pytest.mark.slow
def test_answers_of_different_scales_are_not_pooled() -> None:
    scores = {name: collect_scores(rows) for name, rows in mixed_scales(3).items()}
    weighted = next(e for e in jury_figures(mixed_scales(3)) if e.group.get("rule") == "dawid_skene")
    apart = 0
    for binary in (True, False):
        votes = vote_matrix(
            {name: columns.where(columns.binary == binary) for name, columns in scores.items()}
        )
        votes = votes.where(~np.isnan(votes.labels))
        fitted = dawid_skene(votes.votes)
        assert fitted is not None
        apart += int(np.count_nonzero(fitted.verdict == votes.labels))
    pooled = dawid_skene(vote_matrix(scores).votes)
    assert pooled is not None
    # Taking a 1 for a 1 whatever the scale costs the model many verdicts.
    assert np.count_nonzero(pooled.verdict == vote_matrix(scores).labels) < apart - 10
    assert weighted.numerator == apart


@pytest.mark.slow
def test_one_judge_has_no_panel_and_reports_say_so() -> None:
    alone = panel_datasheet(["openai/gpt-4o"], items=6, probes=PROBES[:2])
    assert alone.panel == ()
    assert multi_judge_tables(summarise(alone)) == ()
    for text in (printed(alone, 300), markdown.render(alone), html.render(alone)):
        assert SINGLE_JUDGE_NOTE in text


FOUR = (list(JUDGES)[1], *list(JUDGES)[3:])
"""The longest name, a free judge and one without a price are among them."""
SOME = (PROBES[0], PROBES[1], PROBES[-1])


@pytest.fixture(scope="module")
def panel() -> Datasheet:
    return panel_datasheet(FOUR, probes=SOME)


@pytest.mark.slow
def test_the_datasheet_is_the_same_in_whatever_order_replies_came() -> None:
    one, other = (
        dumps(panel_datasheet(FOUR[1:], probes=SOME, items=8, shuffle=shuffle)) for shuffle in (None, 3)
    )
    assert one == other
    assert json.loads(one)["panel"][0]["judge"] == "panel"


@pytest.mark.slow
def test_every_figure_of_several_judges_has_a_meaning(panel: Datasheet) -> None:
    metrics = {e.metric for e in panel.panel}
    assert not [metric for metric in metrics if not glossary.metric_named(metric).meaning]


def test_every_tile_carries_value_interval_and_count(panel: Datasheet) -> None:
    summary = summarise(panel)
    figure = accuracy(summary)
    assert figure is not None
    assert figure.header == ("probe", *FOUR, "majority of all", "planted/constant", "planted/random")
    assert [row[0] for row in figure.rows] == [glossary.probe_title(name) for name in SOME]
    svg = "".join(panel.svg for panel in figure.panels)
    for judge in FOUR:
        estimate = panel.find(judge, "accuracy", "label_flip", protocol="base")
        assert estimate is not None
        assert f"{estimate.numerator}/{estimate.denominator}<" in svg
    # An edit that changes the label asks for no invariance.
    same = invariance(summary)
    assert same is not None
    assert "Label flip" not in [row[0] for row in same.rows]


def test_a_judge_that_failed_every_call_has_no_tile_value() -> None:
    lost = [call(f"i{n}", "failed", 1, probe="p", judge="down") for n in range(4)]
    figure = accuracy(summarise(sheet_of([*lost, *edits("up", "p", 5)], ["p"], {})))
    assert figure is not None
    assert ">undefined<" in figure.panels[0].svg
    assert figure.rows[0][1].startswith("undefined")


@pytest.mark.slow
def test_many_judges_go_into_several_drawings() -> None:
    rows = [row for n in range(18) for row in edits(f"judge-{n:02d}", "p", 5 + n % 5)]
    figure = accuracy(summarise(sheet_of(rows, ["p"], {})))
    assert figure is not None
    widths = [int(panel.svg.split('width="')[1].split('"')[0]) for panel in figure.panels]
    assert len(widths) > 1
    assert max(widths) <= 1100
    assert all(sum(f">judge-{n:02d}<" in panel.svg for panel in figure.panels) == 1 for n in range(18))


@pytest.mark.parametrize("render", [markdown.render, html.render, printed])
def test_reports_name_every_table(panel: Datasheet, render: object) -> None:
    assert callable(render)
    text = render(panel)
    for title in ("Accuracy over judges", "Invariance over judges", "Juries", "Error correlation"):
        assert title in text
    assert "calls/items/clusters" in text
    assert "pairs/clusters" not in text


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)


@pytest.mark.slow
def test_names_of_judges_stay_text() -> None:
    name = "<img src=x onerror=alert(1)>"
    rows = [row for judge in (name, "b", "c") for probe in ("p", "q") for row in edits(judge, probe, 6)]
    page = html.render(sheet_of(rows, ["p", "q"], {name: 1.0, "b": 1.0, "c": None}))
    tags = _Tags()
    tags.feed(page)
    assert "img" not in tags.seen
    assert "&lt;img src=x" in page


@pytest.mark.parametrize("width", [60, 80, 120])
def test_tables_of_several_judges_fit_the_terminal(panel: Datasheet, width: int) -> None:
    assert max(map(len, printed(panel, width).splitlines())) <= width


def lengthy(request: Received) -> Answer:
    """A judge that likes more than sixty words."""
    asked = parse_score_prompt(request.user)
    return says(json.dumps({"score": asked.high if len(asked.response.split()) > 60 else asked.low}))


def test_tokens_and_prices_flow_from_the_server_into_every_report(steelyard: Any, tmp_path: Path) -> None:
    with ScriptedServer(lengthy) as server:
        judges = [
            f"openai/{name}?base_url={server.url}&input_price={price}&output_price={4 * price}"
            for name, price in (("cheap", 1), ("dear", 10))
        ]
        options = ["-p", "label_flip", "-p", "format_invariance_1", "--profile", "quick"]
        chosen = [part for judge in judges for part in ("-j", judge)]
        done = steelyard("measure", *options, *chosen, "--full", "--out", "run", OPENAI_API_KEY="k")
    assert done.returncode == 0, done.stderr
    for title in ("Accuracy over judges", "Juries", "Error correlation", "dollars in"):
        assert title in done.stdout
    sheet = json.loads((tmp_path / "run" / "datasheet.json").read_text())
    cost = {(e["judge"], e["metric"]): e for e in sheet["estimates"] if e["probe"] == "cost"}
    for name, price in (("openai/cheap", 1), ("openai/dear", 10)):
        calls_made = cost[name, "tokens_input"]["n_calls"]
        # The server counts 100 tokens in and 5 out for every call.
        assert cost[name, "tokens_input"]["value"] == 100 * calls_made
        assert cost[name, "cost_output"]["value"] == pytest.approx(5 * calls_made * 4 * price / 1e6)
        assert cost[name, "cost_per_call"]["value"] == pytest.approx((100 + 20) * price / 1e6)
    # Both judges answer alike: they err as one, and the dearer is beaten.
    correlation = next(e for e in sheet["panel"] if e["metric"] == "error_correlation")
    assert correlation["value"] == pytest.approx(1.0)
    page = (tmp_path / "run" / "datasheet.html").read_text(encoding="utf-8")
    assert 'id="fig-heat-accuracy"' in page
    assert 'id="fig-cost"' in page


def test_a_flat_table_keeps_what_a_figure_is_about(panel: Datasheet) -> None:
    rows = list(csv.DictReader(StringIO(table.to_csv(panel))))
    pairs = [row for row in rows if row["metric"] == "error_correlation"]
    assert len(pairs) == 6
    assert {row["judge"] for row in pairs} == {"panel"}
    assert all(row["judge_1"] and row["judge_2"] and not row["judge_3"] for row in pairs)
    assert {row["of"] for row in rows if row["metric"] == "judges_mean"} == {"accuracy", "invariance"}


def test_a_flat_table_tells_the_strength_of_an_edit_from_the_level_of_an_interval() -> None:
    rows = [
        call(f"i{n}", 1, 1, probe="typos", level=level, number=int(100 * level), judge="j")
        for n in range(6)
        for level in (0.1, 0.3)
    ]
    found = list(csv.DictReader(StringIO(table.to_csv(sheet_of(rows, ["typos"], {})))))
    graded = [row for row in found if row["metric"] == "accuracy" and row["edit_level"]]
    assert {row["edit_level"] for row in graded} == {"0.1", "0.3"}
    assert {row["level"] for row in graded} == {"0.95"}


def test_what_nobody_has_is_not_printed_for_every_edit(panel: Datasheet) -> None:
    # No input was judged twice, so no edit has an excess over repeats; the full reports still say why.
    assert "excess flips" not in printed(panel)
    assert "excess flips" in markdown.render(panel)
