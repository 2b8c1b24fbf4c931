"""Cost per point and volatility, against the arithmetic of the published tables."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from statistics import stdev

import pytest

from scores import call, calls
from steelyard.datasheet import glossary, numbers
from steelyard.datasheet.assemble import assemble
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.sections.sections import sections
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.juries import panel_estimates
from steelyard.metrics.run.cost import (
    NO_PRICE,
    NO_TOKENS,
    CostRow,
    cost_estimates,
    overall_cost,
    pareto_front,
    run_costs,
)
from steelyard.metrics.run.volatility import (
    METRICS,
    accuracy_column,
    sampling_sd,
    share_table,
    spread_figures,
    volatility_estimates,
)
from steelyard.metrics.scores import probe as pointwise
from steelyard.metrics.scores.probe import pooled_estimates, probe_scores
from steelyard.probes.edits import ScoreRange
from steelyard.probes.probe import Design, Showing
from steelyard.providers.provider import PROVIDERS
from steelyard.runner.prices import LongPrompt, Price, price_at
from steelyard.trials.judge import Usage
from steelyard.verdicts.observations import Observation, Observations

# RAND harness, Appendix B: dollars per point on Fortress, Persuade, HarmBench, AgentHarm, and overall.
APPENDIX_B = {
    "Llama 4 Maverick 17B": ((0.0016, 0.0008, 0.0015, 0.0001), 0.0010),
    "Claude Sonnet 4.5": ((0.0230, 0.0260, 0.0352, 0.0050), 0.0223),
    "GPT 4o": ((0.0150, 0.0430, 0.0190, 0.0013), 0.0196),
    "Gemini 2.5 Pro": ((0.0108, 0.0073, 0.0132, 0.0007), 0.0080),
}

# Appendix F: the accuracies over four judges that mean, least and greatest leave possible, with the printed
# mean and standard deviation.
APPENDIX_F = {
    "Persuade format_invariance_1": ((20, 30, 40, 50), 35.00, 12.91),
    "Persuade format_invariance_2": ((50, 50, 50, 60), 52.50, 5.00),
    "Persuade format_invariance_3": ((40, 40, 40, 40), 40.00, 0.00),
    "Persuade semantic_paraphrase": ((50, 60, 60, 70), 60.00, 8.16),
    "Persuade verbosity_bias_long": ((20, 40, 50, 60), 42.50, 17.08),
    "Persuade verbosity_bias_short": ((30, 40, 60, 60), 47.50, 15.00),
    "HarmBench format_invariance_1": ((800 / 15, 800 / 15, 60, 80), 61.66, 12.62),
    "HarmBench format_invariance_2": ((40, 40, 700 / 15, 1400 / 15), 55.00, 25.75),
    "Fortress format_invariance_1": ((60, 70, 80, 80), 72.50, 9.57),
    "Fortress label_flip": ((30, 50, 50, 70), 50.00, 16.33),
    "Fortress verbosity_bias_long": ((60, 60, 70, 70), 65.00, 5.77),
}

# Appendix E (means by judge) and F (means by test) of the two benchmarks printed in full.
MEANS = {
    "Persuade": ((37.26, 48.43, 53.20, 52.62), (35.0, 52.5, 40.0, 60.0, 37.5, 68.02, 42.5, 47.5)),
    "Fortress": ((69.42, 70.00, 63.46, 78.75), (72.5, 82.5, 80.0, 50.0, 57.5, 83.25, 65.0, 72.5)),
}


@pytest.mark.parametrize("judge", APPENDIX_B)
def test_the_printed_overall_row_is_the_mean_of_rows(judge: str) -> None:
    points, printed = APPENDIX_B[judge]
    # The accuracies are not printed beside; any will do for the mean of rows, equal ones show the other way.
    rows = [CostRow(str(index), point * 100 * 0.5, 0.5) for index, point in enumerate(points)]
    found = overall_cost(rows)
    assert found.mean_of_rows == pytest.approx(printed, abs=6e-5)
    # The table's note divides all dollars by the mean accuracy: four times as much over four equal rows.
    assert found.pooled == pytest.approx(sum(points))


@pytest.mark.parametrize("name", APPENDIX_F)
def test_published_spread_over_judges(name: str) -> None:
    values, mean, sd = APPENDIX_F[name]
    found, spread, _, low, high = (value for value, _ in spread_figures(values, "judge", None))
    assert found == pytest.approx(mean, abs=0.011)
    assert spread == pytest.approx(sd, abs=0.006)
    assert (low, high) == (min(values), max(values))


@pytest.mark.parametrize("benchmark", MEANS)
def test_the_two_published_tables_are_margins_of_one(benchmark: str) -> None:
    by_judge, by_test = MEANS[benchmark]
    means = [spread_figures(values, "judge", None)[0][0] for values in (by_judge, by_test)]
    assert means[0] == pytest.approx(means[1], abs=0.01)


def test_cost_per_point_by_hand() -> None:
    # Four labelled calls at 100 and 10 tokens: 4 · (100 · $1 + 10 · $2) per million = $0.00048; 3 of 4 right.
    rows = calls([1, 1, 1, 0], [1, 1, 1, 1])
    per_call, per_point, total = cost_estimates(
        EstimateContext.for_protocol("j", "stability", "base", 7),
        Observations.of(rows),
        price,
        unchanged=True,
    )
    assert total.value == pytest.approx(0.00048)
    assert per_call.value == pytest.approx(0.00012)
    assert per_point.value == pytest.approx(0.00048 / 75)
    assert per_point.n_calls == 4
    assert per_point.interval is not None


def price(usage: Usage) -> float:
    return (usage.input_tokens * 1.0 + usage.output_tokens * 2.0) / 1e6


def test_an_unreadable_call_is_paid_and_buys_nothing() -> None:
    rows = calls([1, 1, "unreadable"], [1, 1, 1])
    per_point = cost_estimates(
        EstimateContext.for_protocol("j", "stability", "base", 7),
        Observations.of(rows),
        price,
        unchanged=True,
    )[1]
    # Accuracy 2/2 on verdicts, three calls paid.
    assert per_point.value == pytest.approx(3 * 0.00012 / 100)
    assert per_point.excluded["unreadable"] == 1


def test_cost_counts_the_edits_whose_accuracy_it_divides_by() -> None:
    rows = [*calls([1, 1], [1, 1]), *calls([0, 1], [1, 1], probe="typos")]
    per_point = cost_estimates(
        EstimateContext.for_protocol("j", "typos", "base", 7), Observations.of(rows), price
    )[1]
    assert per_point.value == pytest.approx(2 * 0.00012 / 50)


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([0, 0], "no call is right: no amount buys a point"),
        (["failed", "failed"], "no call of this condition ended in a verdict"),
    ],
)
def test_no_accuracy_has_no_cost_per_point(answers: list[int | str], reason: str) -> None:
    per_point = cost_estimates(
        EstimateContext.for_protocol("j", "stability", "base", 7),
        Observations.of(calls(answers, [1, 1])),
        price,
        unchanged=True,
    )[1]
    assert (per_point.value, per_point.note) == (None, reason)
    assert CostRow("x", 1.0, 0.0).per_point is None
    assert overall_cost([CostRow("x", 1.0, 0.0), CostRow("y", 1.0, 0.5)]).mean_of_rows is None


def test_probes_that_a_judge_fails_altogether_are_paid_for_too() -> None:
    """Nine probes of ten calls at $.00012: six without a right call, three with 10, 9 and 9 of ten.

    All dollars are 9 · .0012 = .0108, the mean accuracy is 28/90; the three alone look nine times cheaper.
    """
    right = {"typos": 10, "markdown": 9, "authority": 9}
    probes = [
        *right,
        "injection",
        "bandwagon",
        "rubric_order",
        "label_flip",
        "score_range",
        "verbosity_bias_long",
    ]
    rows = [
        call(f"i{n}", int(n < right.get(probe, 0)), 1, probe=probe) for probe in probes for n in range(10)
    ]
    figures = [accuracy_of("j", probe, right.get(probe, 0)) for probe in probes]
    found = {
        e.metric: e for e in run_costs("j", Observations.of(rows), figures, price, 7) if e.probe == "cost"
    }
    pooled, mean = found["cost_per_point_pooled"], found["cost_per_point_mean"]
    assert pooled.value == pytest.approx(0.0108 / (100 * 28 / 90))
    assert pooled.note == "all dollars over 100 times the mean accuracy of 9 probes"
    assert mean.value is None
    assert (mean.note or "").startswith("a point has no cost where no call is right: injection, bandwagon")
    assert sum(
        e.value or 0
        for e in run_costs("j", Observations.of(rows), figures, price, 7)
        if e.metric == "cost_total"
    ) == (pytest.approx(0.0108))


def test_a_judge_that_is_never_right_has_no_overall_cost_per_point() -> None:
    rows = [call(f"i{n}", 0, 1, probe=probe) for probe in ("typos", "markdown") for n in range(4)]
    rows += [call(f"i{n}", "unreadable", 1, probe="injection") for n in range(4)]
    figures = [
        accuracy_of("j", "typos", 0),
        accuracy_of("j", "markdown", 0),
        accuracy_of("j", "injection", None),
    ]
    found = {
        e.metric: e for e in run_costs("j", Observations.of(rows), figures, price, 7) if e.probe == "cost"
    }
    pooled = found["cost_per_point_pooled"]
    assert (pooled.value, found["cost_per_point_mean"].value) == (None, None)
    assert pooled.note == (
        "no call is right: no amount buys a point; left out, paid for without a verdict: injection"
    )


def test_a_long_prompt_costs_what_is_listed_for_long_prompts() -> None:
    listed = Price(3e-6, 15e-6, "list", (LongPrompt(200_000, 6e-6, 22.5e-6),))
    assert listed.dollars(200_000, 1000) == pytest.approx(0.6 + 0.015)
    assert listed.dollars(200_001, 1000) == pytest.approx(1.200006 + 0.0225)
    # A plan of ten prompts of 100,000 tokens has no long one among them.
    assert listed.dollars(1_000_000, 0, calls=10) == pytest.approx(3.0)
    rows = [replace(call("i0", 1, 1), usage=Usage(300_000, 1000)), call("i1", 1, 1)]

    def dollars(usage: Usage) -> float:
        return listed.dollars(usage.input_tokens, usage.output_tokens)

    found = {e.metric: e.value for e in run_costs("j", Observations.of(rows), [], dollars, 7)}
    assert found["cost_input"] == pytest.approx(1.8 + 100 * 3e-6)
    assert found["cost_output"] == pytest.approx(0.0225 + 10 * 15e-6)


# Dollars per million tokens of short prompts; the last three are printed in the harness, Appendix C.
SHORT = {
    ("openai", "gpt-5.6-sol"): (4, 20),
    ("openai", "gpt-5.6-terra"): (2, 12),
    ("openai", "gpt-5.6-luna"): (0.2, 1.2),
    ("openai", "gpt-4o"): (2.5, 10),
    ("anthropic", "claude-sonnet-4-5"): (3, 15),
    ("google", "gemini-2.5-pro"): (1.25, 10),
}


@pytest.mark.parametrize(("provider", "model"), SHORT)
def test_listed_prices_are_those_of_short_prompts(provider: str, model: str) -> None:
    dollars = SHORT[(provider, model)]
    # Another seller that does not list it: the maker's list.
    for seller in {provider, "openai"}.intersection(PROVIDERS.names()):
        found = price_at(seller, model, {})
        assert found is not None
        assert (found.input * 1e6, found.output * 1e6) == pytest.approx(dollars)
        assert found.table.startswith(f"{provider} list, ")
    assert price_at("openai", "my-model", {}) is None


def test_an_unknown_price_is_said() -> None:
    found = cost_estimates(
        EstimateContext.for_protocol("j", "stability", "base", 7),
        Observations.of([call("i", 1, 1)]),
        None,
        unchanged=True,
    )
    assert [(e.value, e.note) for e in found] == [(None, NO_PRICE)] * 3


def test_the_front_holds_what_nothing_beats() -> None:
    cheap, dear = CostRow("cheap", 1.0, 0.7), CostRow("dear", 5.0, 0.9)
    beaten, twin = CostRow("beaten", 4.0, 0.7), CostRow("twin", 5.0, 0.8)
    assert pareto_front([dear, beaten, twin, cheap]) == (cheap, dear)
    assert pareto_front([]) == ()


def accuracy_of(judge: str, probe: str, right: int | None, protocol: str = "base") -> Estimate:
    value = None if right is None else right / 10
    return Estimate(judge, probe, "accuracy", {"protocol": protocol}, "call", value, right, 10)


def test_volatility_is_over_whole_probes_only() -> None:
    estimates = [
        accuracy_of("a", "format_invariance_1", 2),
        accuracy_of("a", "format_invariance_2", 5),
        accuracy_of("a", "label_flip", 8),
        accuracy_of("a", "typos", None),
        replace(accuracy_of("a", "typos", 0), group={"protocol": "base", "level": 1}),
        accuracy_of("a", "label_flip", 1, "strict"),
        accuracy_of("b", "label_flip", 4),
    ]
    found = volatility_estimates("a", estimates, 7)
    assert [e.metric for e in found] == [metric.id for metric in METRICS]
    # 2, 5, 8 of 10: mean .5, SD .3; estimates alone do not tell what they share.
    assert [e.value for e in found] == [pytest.approx(0.5), pytest.approx(0.3), None, 0.2, 0.8]
    assert found[1].note == "over 3 probes"
    assert found[4].note == "probe label_flip"
    assert volatility_estimates("b", estimates, 7) == []
    assert volatility_estimates("a", [], 7) == []


def steady(probes: int, flips: float) -> dict[str, float | None]:
    """Volatility of a judge that is right on 30 of 40 items whatever the probe, but for one edit's flips."""
    rows = []
    for probe in range(probes):
        for item in range(40):
            flipped = probe == 0 and item < 40 * flips
            given = int((item < 30) != flipped)
            rows.append(call(f"i{item:02d}", given, 1, probe=f"p{probe}", cluster=f"t{item // 2:02d}"))
    figures = [
        e
        for p in range(probes)
        for e in pointwise.pointwise_estimates(EstimateContext.for_protocol("j", f"p{p}", "base", 7), rows)
    ]
    return {e.metric: e.value for e in volatility_estimates("j", figures, 7, rows)}


@pytest.mark.slow
def test_probes_of_the_same_items_move_together() -> None:
    still = steady(8, 0.0)
    assert (still["accuracy_sd"], still["accuracy_sd_sampling"]) == (0.0, 0.0)
    moved = steady(8, 0.15)
    # 24 of 40 instead of 30: the spread of eight is .15/√8. Its own difference varies over 20 tasks of two
    # items, three of them flipped whole: (3 · 1.7² + 17 · .3²)/40² · 20/19, an eighth of which is sampling.
    assert moved["accuracy_sd"] == pytest.approx(0.15 / 8**0.5)
    assert moved["accuracy_sd_sampling"] == pytest.approx((10.2 / 1600 * 20 / 19 / 8) ** 0.5)


@pytest.mark.slow
def test_what_sampling_gives_is_what_it_gives() -> None:
    """Probes that toss their own coins for each item scatter by what is told, in the mean over runs."""
    stream = random.Random(5)
    told, seen = [], []
    for _ in range(60):
        hard = [stream.random() for _ in range(20)]
        rows = [
            call(f"i{i:02d}", int(hard[i] + 0.4 * stream.random() < 0.9), 1, probe=f"p{p}")
            for p in range(4)
            for i in range(20)
        ]
        columns = [accuracy_column(probe_scores(f"p{p}", "base", rows)) for p in range(4)]
        table = share_table(columns)
        told.append((sampling_sd(table) or 0.0) ** 2)
        seen.append(stdev((table[..., 0].sum(0) / 20).tolist()) ** 2)
    assert sum(told) == pytest.approx(sum(seen), rel=0.25)


class Scored:
    """A pointwise probe of any name."""

    question = "?"
    metrics = pointwise.METRICS
    levels = ("pointwise",)

    def __init__(self, name: str) -> None:
        self.name = name
        self.unchanged = name == "stability"

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        """None: the observations are made by hand."""
        return ()

    def estimates(self, judge: str, observations: Sequence[Observation], seed: int) -> list[Estimate]:
        """Every pointwise figure."""
        return pointwise.pointwise_estimates(
            EstimateContext.for_protocol(judge, self.name, "base", seed),
            observations,
            unchanged=self.unchanged,
        )


def datasheet() -> Datasheet:
    """Two judges, one priced, on an ordinal and a binary task."""
    stream = random.Random(3)
    rows = []
    for judge in ("steady", "noisy"):
        for index in range(30):
            item, label = f"i{index:02d}", index % 2
            for replicate in range(2):
                given = label if judge == "steady" or stream.random() < 0.8 else 1 - label
                rows.append(call(item, given, label, replicate=replicate, judge=judge))
                edited = given if stream.random() < 0.9 else 1 - given
                rows.append(call(item, edited, label, probe="typos", replicate=replicate, judge=judge))
        for index in range(12):
            label = 1 + index % 6
            given = max(1, min(6, label + stream.choice([-1, 0, 0, 1])))
            rows.append(call(f"o{index:02d}", given, label, probe="grades", scale="1-6", judge=judge))
    return assemble(
        name="scores",
        seed=7,
        profile="standard",
        stimulus_set="sha256:0",
        judges=[
            JudgeEntry(name, f"openai/{name}", False, {"base": "sha256:1"}) for name in ("steady", "noisy")
        ],
        probes=[Scored("typos"), Scored("grades"), Scored("stability")],
        observations=rows,
        run={},
        prices={"steady": price},
    )


@pytest.mark.slow
def test_a_datasheet_of_scores_names_costs_and_volatility() -> None:
    sheet = datasheet()
    found = {(e.judge, e.probe, e.metric): e for e in sheet.estimates if set(e.group) == {"protocol"}}
    typos = found[("steady", "typos", "cost_per_point")]
    accuracy = found[("steady", "typos", "accuracy")]
    assert typos.value == pytest.approx(60 * 0.00012 / (100 * (accuracy.value or 0)))
    assert ("noisy", "typos", "cost_per_point") not in found
    for metric in ("cost_per_point_pooled", "cost_per_point_mean"):
        assert found[("steady", "cost", metric)].value is not None
    assert found[("noisy", "volatility", "accuracy_sd")].value is not None
    titles = [section.title for section in sections(sheet)]
    assert titles[:3] == ["Unchanged items", "Reliability", "Failures"]
    further = ["Typing errors", "Grades", "Stability", "Cost", "Volatility over probes", "Confidence"]
    assert titles[3:] == further
    typed = next(section for section in sections(sheet) if section.title == "Typing errors")
    assert [(row.label, row.depth) for row in typed.rows[:4]] == [
        ("accuracy", 0),
        ("unchanged items", 1),
        ("change of accuracy", 0),
        ("invariance", 0),
    ]


@pytest.mark.slow
def test_every_pointwise_figure_has_a_meaning() -> None:
    metrics = {e.metric for e in datasheet().estimates}
    assert not [metric for metric in metrics if not glossary.metric_named(metric).meaning]


def test_an_amount_below_a_cent_keeps_two_digits() -> None:
    assert [numbers.dollars(x) for x in (0.0, 0.0000123, 0.05, 1.5)] == [
        "$0.00",
        "$0.000012",
        "$0.050",
        "$1.50",
    ]


def test_tokens_that_were_not_counted_have_no_cost() -> None:
    rows = [replace(row, usage=Usage()) for row in calls([1, 1], [1, 1])]
    found = cost_estimates(
        EstimateContext.for_protocol("j", "stability", "base", 7),
        Observations.of(rows),
        price,
        unchanged=True,
    )
    assert [(e.value, e.note) for e in found] == [(None, NO_TOKENS)] * 3
    # A model that costs nothing needs no tokens to say so.
    assert (
        cost_estimates(
            EstimateContext.for_protocol("j", "stability", "base", 7),
            Observations.of(rows),
            lambda usage: 0.0,
            unchanged=True,
        )[1].value
        == 0.0
    )


def renumbered(judge: str = "j") -> Observations:
    """Four items of label 4 on 1–6, which is 6 on 0–10; a 5 there is the middle, which goes back to 4."""
    return Observations.of(
        observation
        for number in range(4)
        for observation in (
            call(f"i{number}", 4, 4, scale="1-6", judge=judge),
            call(f"i{number}", 5, 6, scale="0-10", probe="score_range", judge=judge),
            call(f"i{number}", number, 4, scale="1-6", probe="typos", judge=judge),
        )
    )


def test_an_answer_on_another_range_is_right_where_it_is_right_on_the_items_own() -> None:
    """All four are right in accuracy, so cost, volatility and juries count four: a dollar buys 25 points."""
    seen = renumbered()
    (right,) = (
        e
        for e in ScoreRange().estimates("j", seen, 7)
        if e.metric == "accuracy" and set(e.group) == {"protocol"}
    )
    assert (right.numerator, right.denominator) == (4, 4)
    costs = cost_estimates(
        EstimateContext.for_protocol("j", "score_range", "base", 7), seen, lambda usage: 0.25
    )
    assert {e.metric: e.value for e in costs}["cost_per_point"] == pytest.approx(1 / 100)
    column = accuracy_column(probe_scores("score_range", "base", seen))
    assert (int(column.events.sum()), int(column.trials.sum())) == (4, 4)
    judges = {judge: renumbered(judge) for judge in ("a", "b", "c")}
    figures = [e for judge, mine in judges.items() for e in ScoreRange().estimates(judge, mine, 7)]
    seen = Observations.of([row for mine in judges.values() for row in mine])
    jury = [e for e in panel_estimates(seen, tuple(judges), figures, 7) if e.metric == "jury_accuracy"]
    assert {(e.probe, e.value) for e in jury if e.probe == "score_range"} == {("score_range", 1.0)}


def test_pooled_scores_are_on_the_range_of_the_items() -> None:
    """Typing errors bring 0 to 3 where 4 is right, the other range 4: errors of 4, 3, 2, 1 and none."""
    seen = renumbered()
    figures = [
        *ScoreRange().estimates("j", seen, 7),
        *pointwise.pointwise_estimates(EstimateContext.for_protocol("j", "typos", "base", 7), seen),
    ]
    pooled = {e.metric: e for e in pooled_estimates("j", seen, figures, 7)}
    assert pooled["mae"].value == pytest.approx(10 / 8)
