"""What a metric declares: its limit by condition, the conditions of a stimulus, the events of columns."""

from __future__ import annotations

import re

import numpy as np
import pytest

from steelyard.datasheet.glossary import declared, metric_named
from steelyard.metrics import Metric, ShownAs
from steelyard.metrics.instrument.worth_estimates import BEATS_PADDED
from steelyard.metrics.merit import LEVEL_AGREEMENT
from steelyard.metrics.metric import Group
from steelyard.metrics.pairs.decomposition import POSITIONAL_FALSE_PREFERENCE, STABLE_CROSS_SENSITIVITY
from steelyard.metrics.pairs.equals import RAW_FALSE_PREFERENCE, TIE_RATE
from steelyard.metrics.pairs.flips import REPEAT_FLIP_RATE
from steelyard.metrics.pairs.ladder import TARGET_SENSITIVITY
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE
from steelyard.metrics.proportions import ACCURACY, DARK_CURRENT, KAPPA
from steelyard.metrics.scores.shares import FOLLOWED
from steelyard.probes.probe_metadata import installed_probes, metrics_of, probe_metrics, reading_order


@pytest.mark.parametrize(
    ("metric", "group", "limit"),
    [
        (DARK_CURRENT, {"protocol": "strict"}, 0.10),
        (DARK_CURRENT, {"protocol": "base", "slot": 1}, None),
        (TARGET_SENSITIVITY, {"delta": 1}, 0.80),
        (TARGET_SENSITIVITY, {"delta": 2}, None),
        (TARGET_SENSITIVITY, {"delta": 1, "base_level": 0}, None),
        (STABLE_CROSS_SENSITIVITY, {"kind": "same_subset", "protocol": "base"}, 0.10),
        (STABLE_CROSS_SENSITIVITY, {"kind": "same_subset", "protocol": "strict"}, None),
        (ACCURACY, {}, None),
    ],
)
def test_a_limit_holds_where_it_was_declared(metric: Metric, group: Group, limit: float | None) -> None:
    found = metric.limit_in(group)
    assert (None if found is None else found.value) == limit


@pytest.mark.parametrize(
    ("metric", "kind", "delta", "conditions"),
    [
        (DARK_CURRENT, "blank", None, [{}]),
        (RAW_FALSE_PREFERENCE, "same_subset", 0.0, [{"delta": 0, "kind": "same_subset"}]),
        (RAW_FALSE_PREFERENCE, "filler", 0.0, []),
        (TARGET_SENSITIVITY, "prefix", 1.0, [{}, {"delta": 1}]),
        (TARGET_SENSITIVITY, "prefix", 0.5, [{}, {"delta": 0.5}]),
        (TARGET_SENSITIVITY, "same_subset", 0.0, []),
        (TIE_RATE, "prefix", 2.0, [{"delta": 2}]),
        (TIE_RATE, "natural", None, [{}]),
        (NET_SLOT_PREFERENCE, "natural", None, [{}]),
        (NET_SLOT_PREFERENCE, "prefix", 1.0, []),
    ],
)
def test_the_conditions_that_a_stimulus_counts_in(
    metric: Metric, kind: str, delta: float | None, conditions: list[Group]
) -> None:
    assert [dict(group) for group in metric.conditions(kind, delta)] == conditions


@pytest.mark.parametrize("given", [[1, 0], [True], [[True, False]], 1.0])
def test_an_event_is_a_truth_value_for_each_row(given: object) -> None:
    metric = Metric("warmth", "warmth", "How warm.", event=lambda columns: np.atleast_1d(given))
    with pytest.raises(ValueError, match=r"the event of warmth gives .*, for 2 rows"):
        metric.events([0, 1])
    with pytest.raises(ValueError, match="warmth is no share of units"):
        Metric("warmth", "warmth", "How warm.").events([0, 1])


def test_every_metric_is_declared_once() -> None:
    homes: dict[str, set[int]] = {}
    for metric in (*probe_metrics(), *(m for name in installed_probes() for m in metrics_of(name))):
        homes.setdefault(metric.id, set()).add(id(metric))
    assert not {name for name, objects in homes.items() if len(objects) > 1}
    assert all(metric.meaning.endswith(".") and metric.label for metric in declared().values())
    assert metric_named("of_nobody").label == "of nobody"


def test_shares_have_no_sign_and_money_is_no_share() -> None:
    for metric in declared().values():
        if metric.event is not None:
            assert (metric.signed, metric.shown_as, metric.estimated) == (False, ShownAs.DECIMAL, True)
        assert metric.id.startswith("cost_") == (metric.shown_as is ShownAs.DOLLARS)
    limits = {metric.id: metric.limit for metric in declared().values() if metric.limit}
    assert {name for name, limit in limits.items() if not limit.probes} == {
        DARK_CURRENT.id,
        TARGET_SENSITIVITY.id,
        STABLE_CROSS_SENSITIVITY.id,
        REPEAT_FLIP_RATE.id,
        POSITIONAL_FALSE_PREFERENCE.id,
        FOLLOWED.id,
        LEVEL_AGREEMENT.id,
        BEATS_PADDED.id,
    }
    assert {name: (limit.value, limit.side) for name, limit in limits.items() if limit.probes} == {
        "kappa": (0.4, "min"),
        "qwk": (0.6, "min"),
        "compression": (0.75, "min"),
        "self_agreement": (0.9, "min"),
        "fleiss_kappa": (0.6, "min"),
        "icc": (0.75, "min"),
        "missed_failure_rate": (0.2, "max"),
        "false_alarm_rate": (0.2, "max"),
        "unreadable_rate": (0.02, "max"),
        "failed_rate": (0.02, "max"),
        "contradiction_rate": (0.05, "max"),
        "confidence_auroc": (0.6, "min"),
        "overconfidence": (0.1, "max"),
    }


def test_a_limit_for_some_probes_holds_no_other() -> None:
    assert KAPPA.limit_in({"protocol": "base"}, "original") is KAPPA.limit
    assert KAPPA.limit_in({"protocol": "base"}, "position") is KAPPA.limit
    assert KAPPA.limit_in({"protocol": "base"}, "typos") is KAPPA.limit_in({"protocol": "base"}) is None


def test_items_as_they_are_are_read_before_their_edits() -> None:
    order = reading_order()
    assert order[:7] == ("vacuum", "ladder", "criterion", "length", "tradeoff", "position", "best_of")
    assert order.index("original") == 7
    assert order.index("label_flip") == 8


TERMS = re.compile(r"[κρα′²%]|\b(rate|shift|floor|threshold|bias|volatility|correlation|G²|AC1)\b")
"""What a newcomer does not know, in a label."""
PLAIN = {"tie rate", "accuracy without ties"}
"""Labels that hold such a word and say what they mean."""


def test_every_term_has_a_plain_name_that_fits_a_column() -> None:
    for metric in declared().values():
        assert len(metric.short) <= 30, metric.id
        assert metric.plain or metric.label in PLAIN or not TERMS.search(metric.label), metric.id
        assert not TERMS.search(metric.plain), metric.id


def test_no_two_figures_share_a_plain_name() -> None:
    plain = [metric.plain for metric in declared().values() if metric.plain]
    assert len(set(plain)) == len(plain)
    assert not set(plain) & {metric.label for metric in declared().values()}


def test_judges_are_compared_on_all_pairs_together_as_well() -> None:
    equals = {"delta": 0, "kind": "same_subset"}
    assert list(NET_SLOT_PREFERENCE.compared_in("same_subset", 0.0)) == [{}, equals]
    assert list(NET_SLOT_PREFERENCE.compared_in("prefix", 1.0)) == [{}]
    assert list(TIE_RATE.compared_in("prefix", 2.0)) == [{}, {"delta": 2}]
    assert list(TIE_RATE.compared_in("natural", None)) == [{}]
    assert list(RAW_FALSE_PREFERENCE.compared_in("prefix", 1.0)) == []
