"""The one look-up finds what reading every estimate in turn finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steelyard.datasheet.estimate_index import EstimateIndex, JudgeEstimates
from steelyard.metrics.estimate import Estimate

NAMES = st.sampled_from(["a", "b"])
GROUPS = st.dictionaries(
    st.sampled_from(["protocol", "delta"]), st.sampled_from(["base", 0, 1.0]), max_size=2
)
ESTIMATES = st.lists(st.builds(Estimate, NAMES, NAMES, NAMES, GROUPS, st.just("call"), st.integers(0, 9)))


@given(ESTIMATES, NAMES, st.none() | NAMES, NAMES, GROUPS)
def test_what_a_scan_finds(
    estimates: list[Estimate], judge: str, probe: str | None, metric: str, group: dict[str, str | float]
) -> None:
    look_up = EstimateIndex(estimates)
    of_judge = [e for e in estimates if e.judge == judge]
    named = [e for e in of_judge if e.metric == metric and probe in (None, e.probe)]
    exact = [e for e in named if dict(e.group) == group]
    assert list(look_up.of_judge(judge)) == of_judge
    assert list(look_up.of(judge, metric, probe)) == named
    assert look_up.find(judge, metric, probe, group) == (exact[0] if exact else None)


@given(ESTIMATES)
def test_rows_hold_every_judge_in_order_of_first_appearance(estimates: list[Estimate]) -> None:
    look_up = EstimateIndex(estimates)
    addresses = [(e.probe, e.metric, frozenset(e.group.items())) for e in estimates]
    assert list(look_up.rows) == list(dict.fromkeys(addresses))
    for address, cells in look_up.rows.items():
        mine = [e for e, there in zip(estimates, addresses, strict=True) if there == address]
        assert list(cells) == list(dict.fromkeys(e.judge for e in mine))
        for judge, cell in cells.items():
            assert cell == look_up.find(judge, address[1], address[0], dict(address[2]))
    for probe, metric in {(probe, metric) for probe, metric, _ in addresses}:
        groups = [frozenset(group.items()) for group in look_up.conditions(probe, metric)]
        assert groups == [there[2] for there in look_up.rows if there[:2] == (probe, metric)]


def test_the_figures_of_one_judge() -> None:
    def row(judge: str, metric: str, value: float, **group: str | float) -> Estimate:
        return Estimate(judge, "ladder", metric, group, "call", value)

    rows = [
        row("other", "flip_excess", 0.9, protocol="base", delta=0, kind="same_subset"),
        row("mine", "flip_excess", 0.1, protocol="strict"),
        row("mine", "flip_excess", 0.2, protocol="base", kind="same_subset", delta=0),
        row("mine", "flip_excess", 0.3, protocol="strict", delta=1),
        row("mine", "flip_excess", 0.4),
    ]
    figures = JudgeEstimates("mine", EstimateIndex(rows))
    assert figures.protocols("flip_excess") == ["strict", "base"]
    assert figures.between_equals("flip_excess") == rows[2]
    assert figures.find("flip_excess") == rows[4]
    assert figures.of_probe("vacuum", "flip_excess", protocol="strict") is None


PROTOCOLS = st.sampled_from([{}, {"protocol": "base"}, {"protocol": "strict", "delta": 0}])
VALUES = st.sampled_from([None, float("nan"), 0.0, 1])
VALUED = st.builds(Estimate, st.just("a"), NAMES, st.just("m"), PROTOCOLS, st.just("call"), VALUES)


@given(st.lists(VALUED, min_size=3), st.sampled_from([None, "base", "strict"]), st.none() | NAMES)
def test_figures_that_have_a_value(
    estimates: list[Estimate], protocol: str | None, probe: str | None
) -> None:
    others = [Estimate("b", "a", "m", {}, "call", 1), Estimate("a", "a", "n", {}, "call", 1)]
    found = JudgeEstimates("a", EstimateIndex([*others, *estimates])).known("m", protocol, probe)
    of_probe = [each for each in estimates if probe in (None, each.probe) and each.value in (0.0, 1)]
    assert found == [each for each in of_probe if not protocol or each.group.get("protocol") == protocol]
