"""Probes whose texts somebody has to write, fulfilled from the built-in pack."""

from __future__ import annotations

import pytest

from steelyard.core.registry import Spec
from steelyard.probes.probe import PROBES
from steelyard.stimuli.brief import GOALS, LONG, ORDINAL, flip_label
from steelyard.stimuli.stimulus import Label, Unknown
from steelyard.study.study import Study
from steelyard.tasks.pack import pack, pack_items
from steelyard.tasks.task import Binary, Item, Ordinal, Pairwise, Task

TASK = Task("Score it.", "", Binary())


def study(probe: str, items: tuple[Item, ...]) -> Study:
    return Study("s", 7, "quick", 1, (), (Spec(probe),), TASK, items)


@pytest.mark.parametrize(
    ("label", "scale", "other"),
    [("0", Binary(), "1"), ("1", Binary(), "0"), ("5", Ordinal(1, 6), "1"), ("3", Ordinal(1, 6), "6")],
)
def test_the_answer_a_flip_aims_at(label: str, scale: Binary | Ordinal, other: str) -> None:
    assert flip_label(label, scale) == other


def test_pairs_have_no_flip() -> None:
    assert flip_label("1", Pairwise()) is None


PACKED = tuple(goal for goal in GOALS if goal != LONG)
"""Goals whose texts the pack holds."""


@pytest.mark.parametrize("probe", PACKED)
def test_the_pack_fulfils_the_briefs(probe: str) -> None:
    made = study(probe, pack_items())
    texts = made.design.authored[probe]
    shown = list(PROBES.build(Spec(probe)).showings(made.design, ["base"]))
    edits = [s.stimulus for s in shown if s.stimulus.probe == probe]
    parents = {s.stimulus.lineage.parent for s in shown if s.stimulus.probe == "original"}
    assert list(dict.fromkeys(edits)) == list(texts)
    compared = set() if probe == "synthetic_ordinal" else {stimulus.lineage.parent for stimulus in edits}
    assert parents == compared
    assert {stimulus.lineage.author for stimulus in texts} == {"pack"}


def test_references_of_the_pack_texts() -> None:
    source = next(item for task in pack() for item in task.items if item.ambiguous and not item.ordinal)
    items = tuple(item for item in pack_items() if item.id == source.id)
    names = [goal for goal in PACKED if goal != ORDINAL]
    found = {name: study(name, items).design.authored[name][0].expectation for name in names}
    assert found.pop("answer_ambiguity") == Unknown()
    assert found.pop("label_flip") == Label(source.label_flip.label) != Label(source.label)
    assert set(found.values()) == {Label(source.label)}


def test_every_level_of_an_ordinal_item() -> None:
    source = next(item for task in pack() for item in task.items if item.ordinal)
    items = tuple(item for item in pack_items() if item.id == source.id)
    made = study("synthetic_ordinal", items).design.authored["synthetic_ordinal"]
    assert [(s.expectation, s.texts) for s in made] == [(Label(n), (text,)) for n, text in source.ordinal]


def test_an_item_from_elsewhere_has_no_text() -> None:
    item = Item("mine", "Why?", ("Because.",), "mine", label="1")
    assert study("semantic_paraphrase", (item,)).design.authored == {}
