from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from steelyard.errors import DataError
from steelyard.probes.probe import PROBES, Design, Showing
from steelyard.providers.planted.answer_keys import builtin_key
from steelyard.stimuli.ladder import Kind, allocate, compose, order_checklists
from steelyard.stimuli.stimulus import NoPreference, Prefers, Stimulus, StimulusSet
from steelyard.study.planner import DEFAULT_PROBES
from steelyard.tasks.checklist import ELEMENTS, catalogue, subjects

ALL = DEFAULT_PROBES


def showings(
    profile: str, *probes: str, seed: int = 7, protocols: tuple[str, ...] = ("base", "strict")
) -> set[Showing]:
    design = Design(seed, profile)
    return {showing for name in probes for showing in PROBES.factory(name)().showings(design, protocols)}


def stimuli(profile: str, seed: int = 7) -> dict[str, Stimulus]:
    return {s.stimulus.id: s.stimulus for s in showings(profile, *ALL, seed=seed)}


def count(profile: str, protocol: str = "base") -> Counter[tuple[str, float | None]]:
    return Counter(
        (s.stimulus.kind, s.stimulus.delta) for s in showings(profile, *ALL) if s.protocol == protocol
    )


def pairs_by_question(profile: str, seed: int = 7) -> dict[str, list[Stimulus]]:
    """The pairs of a profile by the design that allocates them."""
    found: dict[str, list[Stimulus]] = {
        "vacuum": [],
        "prefix": [],
        "same_subset": [],
        "padded": [],
        "controls": [],
    }
    for stimulus in stimuli(profile, seed).values():
        name = stimulus.probe if stimulus.probe == "vacuum" else stimulus.kind
        found[name if name in found else "controls"].append(stimulus)
    return found


def test_standard_has_the_published_sizes() -> None:
    calls = count("standard")
    assert [calls[kind, None] for kind in ("empty", "blank", "identical")] == [40, 40, 40]
    assert calls["same_subset", 0] == 120
    assert [calls["prefix", delta] for delta in (1, 2, 3, 4, 5)] == [100, 80, 60, 40, 20]
    assert (calls["filler", 0], calls["different_subset", 0]) == (56, 16)
    assert (calls["padded", 1], calls["padded", 2]) == (20, 28)
    assert calls.total() == 660
    strict = count("standard", "strict")
    assert strict.total() == 540
    assert {kind for kind, _ in strict}.isdisjoint({"different_subset", "filler", "padded"})


def test_quick_has_72_calls_on_36_checklists() -> None:
    calls = count("quick")
    assert [calls[kind, None] for kind in ("empty", "blank", "identical")] == [4, 4, 4]
    assert calls["same_subset", 0] == 16
    assert [calls["prefix", delta] for delta in (1, 2, 3, 4, 5)] == [24, 0, 8, 6, 6]
    assert (calls["filler", 0], calls["different_subset", 0]) == (0, 0)
    assert calls.total() == 72
    assert count("quick", "strict").total() == 72
    assert len({s.cluster for s in stimuli("quick").values()}) == 36


def test_full_has_half_steps_and_2064_calls() -> None:
    calls = count("full")
    assert [calls["prefix", delta] for delta in (0.5, 1, 2, 3, 4, 5)] == [480, 240, 192, 144, 96, 48]
    assert calls.total() == 2064


@pytest.mark.parametrize("profile", ["quick", "standard", "full"])
@pytest.mark.parametrize("seed", [7, 8])
def test_no_checklist_has_a_second_pair_before_each_has_one(profile: str, seed: int) -> None:
    for question, pairs in pairs_by_question(profile, seed).items():
        held = Counter(pair.cluster for pair in pairs)
        numbers = [held[task.id] for task in order_checklists(catalogue(), seed)]
        assert max(numbers) - min(numbers) <= 1, question
        assert sum(numbers) == len(pairs)


@pytest.mark.parametrize("seed", [7, 8])
def test_steps_and_levels_are_spread_over_checklists_and_domains(seed: int) -> None:
    quick = pairs_by_question("quick", seed)["prefix"]
    small = [pair for pair in quick if pair.delta == 1]
    assert len({pair.stratum for pair in small}) == 12
    assert sorted(Counter(pair.base_level for pair in small).values()) == [2, 2, 2, 3, 3]
    assert len({pair.stratum for pair in quick if pair.delta != 1}) == 10
    standard = pairs_by_question("standard", seed)["prefix"]
    levels = Counter((pair.base_level, pair.delta) for pair in standard)
    assert len(levels) == 15
    assert set(levels.values()) == {10}
    steps = Counter((pair.cluster, pair.delta) for pair in standard)
    assert set(steps.values()) == {1}


@pytest.mark.parametrize("seed", [7, 8])
def test_each_profile_holds_the_smaller_one(seed: int) -> None:
    """Equal in every field, so that a folder which grows pays for no call twice."""
    quick, standard, full = (showings(profile, *ALL, seed=seed) for profile in ("quick", "standard", "full"))
    assert quick < standard < full


def test_every_pair_is_shown_in_both_orders() -> None:
    seen = showings("standard", *ALL)
    for showing in seen:
        other = Showing(showing.stimulus, showing.protocol, showing.order[::-1], showing.replicate)
        assert other in seen


def test_a_judge_without_a_strict_protocol_is_not_shown_one() -> None:
    seen = showings("quick", *ALL, protocols=("base",))
    assert {showing.protocol for showing in seen} == {"base"}


@pytest.mark.parametrize("task", catalogue(), ids=lambda task: task.id)
def test_the_chain_is_nested_and_dominates(task) -> None:
    for composition in compose(task, 7):
        full = {place.full for place in composition.places}
        contained = [{s for s in full if s in composition.prefix(level)} for level in range(ELEMENTS + 1)]
        assert [len(c) for c in contained] == [0, 1, 2, 3, 4, 5]
        assert all(low < high for low, high in pairwise(contained))


@pytest.mark.slow
def test_quality_is_what_the_key_says() -> None:
    for stimulus in stimuli("full").values():
        u, v = (builtin_key(stimulus.request).quality(text) for text in stimulus.texts)
        match stimulus.kind:
            case "prefix" | "padded":
                assert (u - v, v) == (stimulus.delta, stimulus.base_level)
                assert stimulus.expectation == Prefers("u")
            case "same_subset" | "different_subset" | "filler":
                assert u == v == stimulus.base_level
                assert stimulus.expectation == NoPreference()
            case _:
                assert stimulus.texts[0] == stimulus.texts[1]


def test_answers_are_length_matched_except_in_filler_pairs() -> None:
    for stimulus in stimuli("full").values():
        lengths = [len(text.split()) for text in stimulus.texts]
        if stimulus.kind == "filler":
            assert lengths[0] < lengths[1] == 10 * ELEMENTS
        elif stimulus.probe == "ladder":
            assert lengths == [10 * ELEMENTS] * 2


def test_same_subset_pairs_share_no_sentence() -> None:
    for stimulus in stimuli("standard").values():
        if stimulus.kind == "same_subset":
            one, other = (set(text.split(". ")) for text in stimulus.texts)
            assert not one & other


def test_different_subsets_are_different_and_as_many() -> None:
    for stimulus in stimuli("standard").values():
        if stimulus.kind == "different_subset":
            assert stimulus.texts[0] != stimulus.texts[1]


def test_the_seed_alone_decides() -> None:
    first, again, other = (StimulusSet.of(stimuli("quick", seed).values()) for seed in (7, 7, 8))
    assert first.hash == again.hash != other.hash


def test_domains_take_turns_in_the_drawn_order() -> None:
    for seed in range(20):
        ordered = order_checklists(catalogue(), seed)
        assert sorted(task.subject for task in ordered) == sorted(subjects())
        for first in range(0, 60, 12):
            assert len({task.domain for task in ordered[first : first + 12]}) == 12


@pytest.mark.slow
def test_over_seeds_every_twin_is_drawn_as_often() -> None:
    """Of 400 draws of one of two 200, with a standard deviation of 10: the farthest of 60 within four."""
    drawn = Counter(task.id for seed in range(400) for task in order_checklists(catalogue(), seed))
    assert set(drawn) == {task.id for task in catalogue()}
    assert max(abs(times - 200) for times in drawn.values()) <= 40
    first = [order_checklists(catalogue(), seed)[0].subject for seed in range(400)]
    assert len(set(first)) == len(subjects())


def test_a_subject_that_is_added_changes_the_twin_of_no_other() -> None:
    fewer = tuple(task for task in catalogue() if task.subject != subjects()[0])
    for seed in range(20):
        assert set(order_checklists(fewer, seed)) < set(order_checklists(catalogue(), seed))


def test_a_design_ends_where_the_checklists_have_given_all() -> None:
    kinds = (Kind(("a", "b"), (3, 9, 9)), Kind(("c",), (1, 9, 9)))
    assert Counter(allocate(kinds, "quick", 2, 1)) == Counter([(1, "a"), (0, "a"), (1, "b"), (0, "c")])
    assert Counter(allocate(kinds, "full", 2)) == Counter(
        (number, pair) for number in (0, 1) for pair in "abc"
    )


def test_a_set_survives_the_file(tmp_path: Path) -> None:
    frozen = StimulusSet.of(stimuli("quick").values())
    frozen.write(tmp_path / "stimuli.jsonl")
    assert StimulusSet.read(tmp_path / "stimuli.jsonl").hash == frozen.hash


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "stimuli.jsonl"
    path.write_text('{"id": "x"}\n')
    with pytest.raises(DataError, match=r"stimuli\.jsonl, line 1: not a stimulus"):
        StimulusSet.read(path)


def test_two_stimuli_of_one_name_are_refused() -> None:
    one = next(iter(stimuli("quick").values()))
    with pytest.raises(DataError, match="two stimuli are named"):
        StimulusSet.of([one, one])
