"""Probes whose edits a rule makes: the words stay, the reference stays, every judge sees the same."""

from __future__ import annotations

import pytest

from steelyard.core.registry import Spec
from steelyard.errors import ConfigError
from steelyard.probes.probe import PROBES, Design
from steelyard.stimuli.stimulus import Label, Stimulus
from steelyard.tasks.pack import pack_items
from steelyard.tasks.task import Binary, Item, Ordinal, Scale, Task

TASK = Task("Score it.", "Is it right?", Binary())
RULED = ("format_invariance_1", "format_invariance_2", "format_invariance_3", "typos", "markdown")
RULED += ("authority", "bandwagon", "injection", "rubric_order")
"""Probes that keep scale and reference of an item."""


def shown(probe: str, items: tuple[Item, ...], **options: object) -> list[Stimulus]:
    design = Design(7, task=TASK, items=items)
    return [s.stimulus for s in PROBES.build(Spec(probe, options)).showings(design, ["base"])]


@pytest.mark.slow
@pytest.mark.parametrize("probe", RULED)
def test_edits_of_the_pack(probe: str) -> None:
    items = {item.id: item for item in pack_items()}
    stimuli = shown(probe, tuple(items.values()))
    edits = [s for s in stimuli if s.probe == probe]
    originals = {s.lineage.parent: s for s in stimuli if s.probe == "original"}
    assert len(edits) >= len(items) / 4
    assert set(originals) == {edit.lineage.parent for edit in edits}
    for edit in edits:
        parent = originals[edit.lineage.parent]
        assert edit.expectation == parent.expectation
        assert (edit.request, edit.scale, edit.cluster) == (parent.request, parent.scale, parent.cluster)
        assert (edit.texts, edit.rubric) != (parent.texts, parent.rubric)
    assert stimuli == shown(probe, tuple(items.values()))


@pytest.mark.parametrize("number", [1, 2, 3])
def test_layout_leaves_the_words(number: int) -> None:
    stimuli = shown(f"format_invariance_{number}", pack_items())
    texts = {s.lineage.parent: s.texts[0] for s in stimuli if s.probe == "original"}
    for edit in (s for s in stimuli if s.probe != "original"):
        assert edit.texts[0].split() == texts[edit.lineage.parent].split()


def test_a_response_of_one_word_has_no_spaces_to_multiply() -> None:
    assert shown("format_invariance_2", (Item("one", "Why?", ("Because.",), "one", label="1"),)) == []


def test_more_typos_at_a_higher_level() -> None:
    edits = [s for s in shown("typos", pack_items()[:6], levels=[0.3, 0.1]) if s.probe == "typos"]
    assert [s.level for s in edits] == [0.1, 0.3] * 6
    parents = {s.lineage.parent: s.texts[0].split() for s in shown("typos", pack_items()[:6])[::4]}

    def hit(edit: Stimulus) -> int:
        return sum(a != b for a, b in zip(edit.texts[0].split(), parents[edit.lineage.parent], strict=True))

    assert all(0 < hit(few) < hit(many) for few, many in zip(edits[::2], edits[1::2], strict=True))


def test_an_item_with_the_highest_score_is_not_worth_an_injection() -> None:
    items = tuple(Item(label, "Why?", ("Because it is so.",), label, label=label) for label in "01")
    assert {s.lineage.parent for s in shown("injection", items)} == {"0"}


def test_only_the_rubric_is_reordered() -> None:
    stimuli = shown("rubric_order", pack_items())
    parents = {s.lineage.parent: s for s in stimuli if s.probe == "original"}
    for edit in (s for s in stimuli if s.probe != "original"):
        before, after = parents[edit.lineage.parent], edit
        assert after.texts == before.texts
        assert sorted((after.rubric or "").split()) != []
        assert after.rubric != before.rubric


SIX = Ordinal(1, 6)


@pytest.mark.parametrize(
    ("rubric", "renumbered", "words"),
    [
        ("1: bad\n2: poor\n3: fair\n4: good\n5: fine\n6: best", "0: bad\n2: poor\n4: fair", "renumbered"),
        (
            "A 4 or more is good.",
            "A 4 or more is good.\nGive the answer on the range from 0 to 10: 0 for 1, 2",
            "table",
        ),
    ],
)
def test_a_rubric_on_another_range(rubric: str, renumbered: str, words: str) -> None:
    task = Task("Rate it from 1 to 6.", rubric, SIX)
    item = Item("i", "Why?", ("Because.",), "c", label="4")
    showings = PROBES.build(Spec("score_range")).showings(Design(7, task=task, items=(item,)), ["base"])
    edit = next(s.stimulus for s in showings if s.stimulus.probe == "score_range")
    assert (edit.scale, edit.instruction, edit.expectation) == ("0-10", "Rate it from 0 to 10.", Label("6"))
    assert (edit.rubric or "").startswith(renumbered)
    assert words in edit.lineage.edit
    assert edit.texts == item.responses


@pytest.mark.parametrize(("scale", "to"), [(Binary(), "0-10"), (SIX, "1-6"), (SIX, "1-5")])
def test_a_range_that_cannot_hold_the_levels_is_not_shown(scale: Scale, to: str) -> None:
    item = Item("i", "Why?", ("Because.",), "c", label="1", scale=scale)
    assert shown("score_range", (item,), to=to) == []


def test_repeats_of_the_items() -> None:
    items = pack_items()[:3]
    design = Design(7, task=TASK, items=items, replicates=2)
    probe = PROBES.build(Spec("stochastic_stability", {"replicates": 3}))
    showings = list(probe.showings(design, ["base"]))
    assert [(s.stimulus.lineage.parent, s.replicate) for s in showings] == [
        (item.id, number) for item in items for number in range(3)
    ]


@pytest.mark.parametrize(
    ("probe", "options"),
    [
        ("stochastic_stability", {"replicates": 1}),
        ("stochastic_stability", {"replicates": True}),
        ("answer_ambiguity", {"replicates": 0}),
        ("score_range", {"to": "binary"}),
        ("score_range", {"to": "high to low"}),
        ("score_range", {"to": 10}),
        ("typos", {"levels": []}),
        ("typos", {"levels": [0.1, 2]}),
        ("typos", {"levels": "many"}),
    ],
)
def test_options_that_make_no_sense(probe: str, options: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=f"probe '{probe}': .* expected "):
        PROBES.build(Spec(probe, options))
