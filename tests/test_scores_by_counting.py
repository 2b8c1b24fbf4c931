"""Figures of single texts against plain loops over the calls, which share nothing with the code.

What a sheet holds is drawn: items with and without labels, clusters, repeats, edits, abstentions, lost calls.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from sklearn import metrics as sklearn_metrics

from scores import Answer, call
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.scores.against_labels import binary_figures, ordinal_figures, unused_levels
from steelyard.metrics.scores.columns import Scores, collect_scores
from steelyard.metrics.scores.edited_texts import invariance_estimates
from steelyard.metrics.scores.repeats import border_noise, noise_floor, stability
from steelyard.metrics.scores.shares import accuracy, false_rates, lost_rates, within_one
from steelyard.verdicts.observations import Observation
from well_formed import check_all

HEADING = EstimateContext("j", "edit", {"protocol": "base"}, 7)
LOST = ("unreadable", "failed")
few, fewer = settings(max_examples=40), settings(max_examples=20)
"""Fewer where each figure is resampled."""


@dataclass(frozen=True)
class Call:
    """One call as a person would write it down."""

    item: int
    cluster: int
    probe: str
    replicate: int
    answer: Answer
    label: int | None

    @property
    def scored(self) -> bool:
        return isinstance(self.answer, int)

    @property
    def read(self) -> bool:
        return self.answer not in LOST

    @property
    def right(self) -> bool:
        return self.answer == self.label


@dataclass(frozen=True)
class Sheet:
    """Calls on one scale."""

    scale: str
    calls: tuple[Call, ...]

    def scores(self) -> Scores:
        return collect_scores(self.observations())

    def observations(self) -> list[Observation]:
        return [
            call(
                f"i{c.item}",
                c.answer,
                c.label,
                probe=c.probe,
                replicate=c.replicate,
                cluster=f"c{c.cluster}",
                scale=self.scale,
            )
            for c in self.calls
        ]

    def changed(self, change: Callable[[Call], Call]) -> Sheet:
        return replace(self, calls=tuple(change(c) for c in self.calls))


@st.composite
def sheets(draw: st.DrawFn, scale: str | None = None, *, lost: bool = True) -> Sheet:
    """Items in clusters, asked as they are and edited, once or more."""
    scale = scale or draw(st.sampled_from(["binary", "1-4"]))
    levels = [0, 1] if scale == "binary" else [1, 2, 3, 4]
    answers = st.sampled_from([*levels, *levels, "abstain", *(LOST if lost else ())])
    items, clusters, repeats = draw(st.integers(1, 6)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    labels = [draw(st.sampled_from([*levels, *levels, None])) for _ in range(items)]
    probes = draw(st.sampled_from([("original",), ("original", "edit")]))
    calls = tuple(
        Call(item, item % clusters, probe, replicate, draw(answers), labels[item])
        for item, probe, replicate in product(range(items), probes, range(repeats))
    )
    return Sheet(scale, calls)


def fraction(estimate: Estimate) -> tuple[int | None, int | None]:
    return estimate.numerator, estimate.denominator


def check(estimate: Estimate, events: Sequence[bool]) -> None:
    """A share is the events among the trials, in integers and as a value; of nothing there is no share."""
    if not events:
        assert estimate.value is None
        assert estimate.note
        assert fraction(estimate) == (None, None)
        return
    assert fraction(estimate) == (sum(events), len(events))
    assert estimate.value == pytest.approx(sum(events) / len(events))


def named(estimates: Iterable[Estimate]) -> dict[str, Estimate]:
    return {estimate.metric: estimate for estimate in estimates}


def lost_counts(calls: Iterable[Call]) -> dict[str, int]:
    ends = Counter(c.answer for c in calls)
    return {ending: ends[ending] for ending in LOST}


# Shares of calls


@few
@given(sheets())
def test_accuracy_counts_right_among_read(sheet: Sheet) -> None:
    labelled = [c for c in sheet.calls if c.label is not None]
    found = accuracy(HEADING, sheet.scores())
    check(found, [c.right for c in labelled if c.read])
    if found.value is not None:
        assert found.n_calls == sum(c.read for c in labelled)
        assert found.n_units == len({c.item for c in labelled if c.read})
        assert found.excluded == lost_counts(labelled)
        assert found.abstained == sum(c.answer == "abstain" for c in labelled)
        assert found.chance == (0.5 if sheet.scale == "binary" else 0.25)


@few
@given(sheets("1-4"))
def test_within_one_is_never_less_than_accuracy(sheet: Sheet) -> None:
    labelled = [c for c in sheet.calls if c.label is not None]
    scores = sheet.scores()
    found = within_one(HEADING, scores)
    near = [c.scored and abs(int(c.answer) - int(c.label or 0)) <= 1 for c in labelled if c.read]
    check(found, near)
    exact = accuracy(HEADING, scores)
    if exact.value is not None:
        assert found.value is not None
        assert found.value >= exact.value


@few
@given(sheets("binary"))
def test_false_rates_part_the_labelled_calls(sheet: Sheet) -> None:
    negatives = [c for c in sheet.calls if c.label == 0 and c.read]
    positives = [c for c in sheet.calls if c.label == 1 and c.read]
    scores = sheet.scores()
    found = named(false_rates(HEADING, scores))
    check(found["false_positive_rate"], [c.answer == 1 for c in negatives])
    check(found["false_negative_rate"], [c.answer == 0 for c in positives])
    right = accuracy(HEADING, scores)
    if right.denominator:
        wrong = sum(estimate.numerator or 0 for estimate in found.values())
        abstained = sum(c.answer == "abstain" for c in (*negatives, *positives))
        assert (right.numerator or 0) + wrong + abstained == right.denominator


@few
@given(sheets())
def test_every_call_that_was_made_is_lost_or_read(sheet: Sheet) -> None:
    found = named(lost_rates(HEADING, sheet.scores()))
    check(found["unreadable_rate"], [c.answer == "unreadable" for c in sheet.calls])
    check(found["failed_rate"], [c.answer == "failed" for c in sheet.calls])
    for estimate in found.values():
        assert estimate.excluded == {"unreadable": 0, "failed": 0}


# Repeats


def repeated(calls: Iterable[Call]) -> list[list[Answer]]:
    """Verdicts of each input that have a second one beside them."""
    inputs: dict[tuple[int, str], list[Answer]] = defaultdict(list)
    for c in calls:
        if c.read:
            inputs[c.item, c.probe].append(c.answer)
    return [answers for answers in inputs.values() if len(answers) > 1]


def scored(calls: Iterable[Call]) -> list[list[Answer]]:
    """The same of scores alone: an abstention is none."""
    return repeated(c for c in calls if c.answer != "abstain")


def equal_and_all(inputs: Iterable[Sequence[Answer]]) -> list[bool]:
    return [a == b for answers in inputs for a, b in combinations(answers, 2)]


@pytest.mark.slow
@few
@given(sheets())
def test_self_agreement_and_noise_are_pairs_of_repeats(sheet: Sheet) -> None:
    scores = sheet.scores()
    agreement, floor = stability(HEADING, scores)[0], noise_floor(HEADING, scores)
    check(agreement, equal_and_all(scored(sheet.calls)))
    check(floor, [not equal for equal in equal_and_all(repeated(sheet.calls))])
    if agreement.value is not None:
        assert agreement.left_out == sum(c.answer == "abstain" for c in sheet.calls)
    if agreement.value is not None and not agreement.left_out:
        assert floor.value == pytest.approx(1 - agreement.value)
        assert agreement.bounds is not None
        assert floor.bounds == pytest.approx((1 - agreement.bounds[1], 1 - agreement.bounds[0]))


@pytest.mark.slow
@few
@given(sheets())
def test_an_input_flips_where_its_repeats_are_not_all_alike(sheet: Sheet) -> None:
    inputs = repeated(sheet.calls)
    found = named(stability(HEADING, sheet.scores()))["flip_rate"]
    check(found, [len(set(answers)) > 1 for answers in inputs])
    if inputs:
        sizes = [len(answers) for answers in inputs]
        assert f"over {min(sizes)} to {max(sizes)} repeats" in (found.note or "")
        assert found.n_calls == sum(sizes)


def hand_fleiss(inputs: Sequence[Sequence[Answer]]) -> float | None:
    """Mean agreement of pairs within an input, beyond the squared shares of all verdicts."""
    verdicts = Counter(answer for answers in inputs for answer in answers)
    total = sum(verdicts.values())
    if len(verdicts) < 2:
        return None
    observed = sum(sum(equal_and_all([a])) / len(equal_and_all([a])) for a in inputs) / len(inputs)
    chance = sum((count / total) ** 2 for count in verdicts.values())
    return (observed - chance) / (1 - chance)


@few
@given(sheets("binary"))
def test_fleiss_kappa_by_counting(sheet: Sheet) -> None:
    expected = hand_fleiss(scored(sheet.calls))
    found = named(stability(HEADING, sheet.scores()))["fleiss_kappa"]
    assert found.value == (None if expected is None else pytest.approx(expected))


def hand_intraclass(inputs: Sequence[Sequence[int]]) -> float | None:
    """A one-way analysis of variance with unequal repeats."""
    calls = [score for scores in inputs for score in scores]
    if len(inputs) < 2 or len(set(calls)) < 2:
        return None
    mean = sum(calls) / len(calls)
    means = [sum(scores) / len(scores) for scores in inputs]
    between = sum(len(s) * (m - mean) ** 2 for s, m in zip(inputs, means, strict=True)) / (len(inputs) - 1)
    within = sum((score - m) ** 2 for s, m in zip(inputs, means, strict=True) for score in s)
    within /= len(calls) - len(inputs)
    repeats = (len(calls) - sum(len(s) ** 2 for s in inputs) / len(calls)) / (len(inputs) - 1)
    spread = between + (repeats - 1) * within
    return (between - within) / spread if spread > 1e-9 else None


@few
@given(sheets("1-4"))
def test_intraclass_correlation_by_analysis_of_variance(sheet: Sheet) -> None:
    inputs: dict[tuple[int, str], list[int]] = defaultdict(list)
    for c in sheet.calls:
        if isinstance(c.answer, int):
            inputs[c.item, c.probe].append(c.answer)
    expected = hand_intraclass([scores for scores in inputs.values() if len(scores) > 1])
    found = named(stability(HEADING, sheet.scores()))["icc"]
    assert found.value == (None if expected is None else pytest.approx(expected, abs=1e-9))


# Edits


def by_item(sheet: Sheet, probe: str) -> dict[int, list[Answer]]:
    found: dict[int, list[Answer]] = defaultdict(list)
    for c in sheet.calls:
        if c.probe == probe and c.read:
            found[c.item].append(c.answer)
    return found


@few
@given(sheets())
def test_invariance_compares_every_edit_with_every_original(sheet: Sheet) -> None:
    plain, edited = by_item(sheet, "original"), by_item(sheet, "edit")
    found = named(invariance_estimates(HEADING, sheet.scores()))
    if not any(c.probe == "edit" for c in sheet.calls):
        assert not found
        return
    same = [a == b for item in edited for a in edited[item] for b in plain.get(item, [])]
    check(found["invariance"], same)


@few
@given(sheets())
def test_the_excess_is_a_mean_over_items(sheet: Sheet) -> None:
    plain, edited = by_item(sheet, "original"), by_item(sheet, "edit")
    excess, behind = [], []
    for item, answers in edited.items():
        pairs = equal_and_all([plain.get(item, [])])
        flips = [a != b for a in answers for b in plain.get(item, [])]
        if pairs and flips:
            excess.append(sum(flips) / len(flips) - (1 - sum(pairs) / len(pairs)))
            behind.append(item)
    found = named(invariance_estimates(HEADING, sheet.scores())).get("excess_flip")
    if found is None:
        assert not edited
    elif not excess:
        assert found.value is None
    else:
        clusters = {c.item: c.cluster for c in sheet.calls}
        assert found.n_units == len(excess)
        assert found.value == pytest.approx(sum(excess) / len(excess))
        assert found.n_clusters == len({clusters[item] for item in behind})
        assert ("this cluster only" in (found.note or "")) == (found.n_clusters == 1)


@few
@given(sheets())
def test_border_noise_is_the_difference_of_two_floors(sheet: Sheet) -> None:
    plain, edited = by_item(sheet, "original"), by_item(sheet, "edit")

    def differ(answers: list[Answer]) -> float | None:
        pairs = equal_and_all([answers])
        return 1 - sum(pairs) / len(pairs) if pairs else None

    apart = [
        a - b
        for item, answers in edited.items()
        if (a := differ(answers)) is not None and (b := differ(plain.get(item, []))) is not None
    ]
    found = border_noise(HEADING, sheet.scores())
    assert found.value == (pytest.approx(sum(apart) / len(apart), abs=1e-12) if apart else None)
    assert found.n_units == len(apart)


# Against labels


def scored_pairs(sheet: Sheet) -> tuple[list[int], list[int]]:
    """Labels and scores of the calls that have both."""
    rows = [(c.label, c.answer) for c in sheet.calls if c.label is not None and isinstance(c.answer, int)]
    return [int(label) for label, _ in rows], [int(answer) for _, answer in rows]


def oracle(formula: Callable[..., float], *arguments: object, **options: object) -> float | None:
    value = formula(*arguments, **options)
    return None if np.isnan(value) else float(value)


@pytest.mark.slow
@fewer
@given(sheets("1-4"))
def test_ordinal_figures_against_scipy_and_scikit_learn(sheet: Sheet) -> None:
    labels, given = scored_pairs(sheet)
    assume(len(set(labels)) > 1 and len(set(given)) > 1)
    found = named(ordinal_figures(HEADING, sheet.scores()))
    x, y = np.array(labels), np.array(given)
    covariance = ((x - x.mean()) * (y - y.mean())).mean()
    assert found["mae"].value == pytest.approx(sklearn_metrics.mean_absolute_error(x, y))
    assert found["bias"].value == pytest.approx((y - x).mean(), abs=1e-12)
    assert found["pearson"].value == pytest.approx(scipy_stats.pearsonr(x, y).statistic, abs=1e-9)
    assert found["spearman"].value == pytest.approx(scipy_stats.spearmanr(x, y).statistic, abs=1e-9)
    assert found["qwk"].value == pytest.approx(
        sklearn_metrics.cohen_kappa_score(x, y, labels=[1, 2, 3, 4], weights="quadratic"), abs=1e-9
    )
    lin = 2 * covariance / (x.var() + y.var() + (x.mean() - y.mean()) ** 2)
    assert found["ccc"].value == pytest.approx(lin, abs=1e-9)
    assert found["compression"].value == pytest.approx(y.std() / x.std())


@pytest.mark.slow
@fewer
@given(sheets("binary"))
def test_binary_figures_against_scikit_learn(sheet: Sheet) -> None:
    labels, given = scored_pairs(sheet)
    assume(len(set(labels)) > 1)
    found = named(binary_figures(HEADING, sheet.scores()))
    assert found["balanced_accuracy"].value == pytest.approx(
        sklearn_metrics.balanced_accuracy_score(labels, given)
    )
    assert found["kappa"].value == pytest.approx(sklearn_metrics.cohen_kappa_score(labels, given), abs=1e-9)
    agree = np.mean(np.equal(labels, given))
    mean = (np.mean(labels) + np.mean(given)) / 2
    chance = 2 * mean * (1 - mean)
    assert found["gwet_ac1"].value == pytest.approx((agree - chance) / (1 - chance))


@pytest.mark.parametrize(
    ("answers", "labels", "undefined"),
    [
        ([2, 2, 3], [1, 1, 1], {"pearson", "spearman", "ccc", "compression", "qwk"}),
        ([2, 2, 2], [1, 2, 3], {"pearson", "spearman", "ccc"}),
        (
            [1, 1, 1],
            [1, 1, 1],
            {"pearson", "spearman", "ccc", "compression", "qwk", "krippendorff_alpha"},
        ),
    ],
)
def test_a_constant_side_leaves_no_correlation(
    answers: list[int], labels: list[int], undefined: set[str]
) -> None:
    calls = tuple(
        Call(n, n, "original", 0, a, b) for n, (a, b) in enumerate(zip(answers, labels, strict=True))
    )
    found = named(ordinal_figures(HEADING, Sheet("1-4", calls).scores()))
    assert {metric for metric, estimate in found.items() if estimate.value is None} == undefined
    for metric in undefined:
        assert found[metric].note


@few
@given(sheets("1-4"))
def test_unused_levels_are_those_nobody_gave(sheet: Sheet) -> None:
    used = {c.answer for c in sheet.calls if c.scored}
    found = unused_levels(HEADING, sheet.scores())
    assert found.value == (4 - len(used) if used else None)
    if used and found.value:
        never = ", ".join(str(level) for level in range(1, 5) if level not in used)
        assert (found.note or "").endswith(f"never used: {never}")


# What must not matter


def everything(sheet: Sheet) -> list[Estimate]:
    """Every estimate, each of which is well formed."""
    scores = sheet.scores()
    against = binary_figures if sheet.scale == "binary" else ordinal_figures
    found = [
        accuracy(HEADING, scores),
        *lost_rates(HEADING, scores),
        *stability(HEADING, scores),
        noise_floor(HEADING, scores),
        *invariance_estimates(HEADING, scores),
        *against(HEADING, scores),
        border_noise(HEADING, scores),
    ]
    check_all(found)
    return found


def other_numbers(sheet: Sheet) -> Sheet:
    """The same sheet with yes and no exchanged, or with its scale moved by ten."""

    def other(value: Answer | None) -> Answer | None:
        if not isinstance(value, int):
            return value
        return 1 - value if sheet.scale == "binary" else value + 10

    changed = sheet.changed(lambda c: replace(c, answer=other(c.answer), label=other(c.label)))
    return replace(changed, scale="binary" if sheet.scale == "binary" else "11-14")


EXCHANGED = {
    "false_positive_rate": "false_negative_rate",
    "false_negative_rate": "false_positive_rate",
    **{name: name for name in ("accuracy", "kappa", "gwet_ac1", "self_agreement", "fleiss_kappa")},
}


def near(value: object) -> object:
    return None if value is None else pytest.approx(value, abs=1e-9)


@pytest.mark.slow
@settings(max_examples=24)
@given(sheets(), st.randoms(use_true_random=False))
def test_neither_order_nor_names_of_numbers_nor_a_second_copy_change_a_value(
    sheet: Sheet, random: Random
) -> None:
    """The order of calls changes no byte; a scale moved by ten moves nothing but itself; exchanging yes and
    no exchanges the false rates; every cluster once more under another name makes intervals shrink."""
    found = everything(sheet)
    calls = list(sheet.calls)
    random.shuffle(calls)
    assert [e.to_json() for e in everything(replace(sheet, calls=tuple(calls)))] == [
        e.to_json() for e in found
    ]
    if sheet.scale == "binary":
        before, after = named(found), named(everything(other_numbers(sheet)))
        for one, two in EXCHANGED.items():
            assert after[two].value == near(before[one].value), one
    else:
        for before, after in zip(found, everything(other_numbers(sheet)), strict=True):
            assert (after.metric, fraction(after)) == (before.metric, fraction(before))
            assert after.value == near(before.value)
            assert after.bounds == near(before.bounds)
    again = tuple(replace(c, item=c.item + 100, cluster=c.cluster + 100) for c in sheet.calls)
    for before, after in zip(found, everything(replace(sheet, calls=sheet.calls + again)), strict=True):
        if before.value is None or before.metric in ("icc", "krippendorff_alpha"):  # They count n − 1.
            continue
        assert after.value == near(before.value), before.metric
        if before.metric in ("accuracy", "noise_floor") and before.n_clusters > 2:
            widths = [e.interval.high - e.interval.low for e in (before, after)]  # type: ignore[union-attr, operator]
            assert widths[1] <= widths[0] + 1e-12


@fewer
@given(sheets())
def test_a_lost_call_is_as_if_it_had_not_been_made_but_for_the_bounds(sheet: Sheet) -> None:
    kept = replace(sheet, calls=tuple(c for c in sheet.calls if c.read))
    assume(kept.calls)
    for metric in (accuracy, noise_floor):
        with_lost, without = metric(HEADING, sheet.scores()), metric(HEADING, kept.scores())
        assert fraction(with_lost) == fraction(without)
        if with_lost.value is not None and with_lost.bounds and without.bounds:
            assert with_lost.bounds[0] <= without.bounds[0] + 1e-12
            assert with_lost.bounds[1] >= without.bounds[1] - 1e-12


def test_nothing_at_all() -> None:
    for estimate in everything(Sheet("binary", ())):
        assert estimate.value is None
        assert estimate.note
        assert estimate.n_calls == 0


@pytest.mark.parametrize("answer", ["abstain", "unreadable", "failed"])
def test_every_call_ends_alike(answer: str) -> None:
    calls = tuple(Call(n, n % 3, "original", r, answer, n % 2) for n in range(6) for r in range(2))
    found = named(everything(Sheet("binary", calls)))
    if answer == "abstain":
        assert fraction(found["accuracy"]) == (0, 12)
        assert found["self_agreement"].note == "no input has two scores"
        assert found["kappa"].value is None
        return
    rate = found[f"{answer}_rate"]
    assert fraction(rate) == (12, 12)
    others = {metric: e for metric, e in found.items() if not metric.endswith("_rate")}
    assert all(estimate.value is None for estimate in others.values())
    assert found["accuracy"].excluded[answer] == 12
