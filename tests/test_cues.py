"""Cues of the probe tradeoff: they leave the facts alone, and a planted judge sees quality through them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from steelyard.core.content_hash import rng_for
from steelyard.core.foreign_code import without_code
from steelyard.errors import ConfigError
from steelyard.probes.probe import Design
from steelyard.probes.tradeoff import CUES_OF, Tradeoff
from steelyard.providers.planted.answer_keys import builtin_key
from steelyard.stimuli.cues import CUES, PADDING, Cue, cued_pair, words
from steelyard.stimuli.ladder import compose
from steelyard.tasks.checklist import catalogue


def keeps_facts(before: str, after: str, cue: Cue) -> bool:
    """Whether a cue left every word in its place and added none but its own."""
    if cue.on_better:
        return _skeleton(before) == _skeleton(after)
    wanted = words(before)
    place = 0
    for word in words(after):
        if place < len(wanted) and word == wanted[place]:
            place += 1
        elif word not in cue.adds:
            return False
    return place == len(wanted)


def _skeleton(text: str) -> list[str]:
    return [word[0] + word[-1] for word in words(text)]


def texts(cue: Cue, quality: int):
    for checklist in catalogue()[::4]:
        plain = compose(checklist, 7)[0].prefix(quality)
        yield checklist, plain, cue.apply(plain, rng_for(7, checklist.id, cue.name))


@pytest.mark.parametrize("cue", CUES.values(), ids=CUES)
def test_no_word_is_lost_and_none_added_but_those_of_the_cue(cue):
    for quality in (0, 3, 5):
        for _, plain, cued in texts(cue, quality):
            assert cued != plain
            assert keeps_facts(plain, cued, cue)


def test_the_check_of_facts_refuses_lost_and_added_words():
    cue = replace(CUES["padding"], adds=frozenset({"more"}))
    assert keeps_facts("Boil the water.", "More: boil the more water.", cue)
    assert not keeps_facts("Boil the water.", "Boil water.", cue)
    assert not keeps_facts("Boil the water.", "Boil the hot water.", cue)
    assert not keeps_facts("Boil the water.", "The water boil.", cue)
    assert not keeps_facts("Boil the water.", "Bail the cat.", CUES["typos"])
    assert keeps_facts("Boil the water.", "Biol the waetr.", CUES["typos"])


@pytest.mark.parametrize(("name", "least"), [("padding_25", 1.25), ("padding", 1.5), ("padding_100", 2.0)])
def test_padding_has_a_dose(name, least):
    shares = [len(cued.split()) / len(plain.split()) for _, plain, cued in texts(CUES[name], 5)]
    assert least <= min(shares) <= max(shares) < least + 0.3


def test_padding_names_no_element():
    stems = {stem.lower() for one in catalogue() for element in one.elements for stem in element.keywords}
    assert not [w for w in words(" ".join(PADDING)) if any(w.startswith(stem) for stem in stems)]


@pytest.mark.parametrize("cue", CUES.values(), ids=CUES)
def test_a_planted_judge_sees_the_quality_and_the_cue(cue):
    for quality in (0, 2, 5):
        for checklist, plain, cued in texts(cue, quality):
            key = builtin_key(checklist.request)
            assert key.quality(cued) == key.quality(plain) == quality
            assert key.carries_cue(cued)
            assert not key.carries_cue(plain)


def test_the_cue_stands_on_the_worse_text_and_errors_on_the_better():
    checklist = catalogue()[0]
    plain = [compose(checklist, 7)[0].prefix(quality) for quality in (4, 2)]
    padded = cued_pair(checklist, CUES["padding"], 2, 4, 7)
    assert padded.texts[0] == plain[0]
    assert padded.texts[1] != plain[1]
    mistyped = cued_pair(checklist, CUES["typos"], 2, 4, 7)
    assert mistyped.texts[0] != plain[0]
    assert mistyped.texts[1] == plain[1]
    assert (padded.kind, padded.delta, padded.cluster) == ("padding", 2.0, checklist.id)


def shown(profile: str, **options):
    return [
        s
        for s in Tradeoff(**options).showings(Design(7, profile), ("base",))
        if s.stimulus.probe == "tradeoff"
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("profile", "pairs"), [("quick", 22), ("standard", 48), ("full", 96)])
def test_every_cue_has_all_steps_in_both_orders(profile, pairs):
    seen = shown(profile)
    cues = list(CUES)[: CUES_OF[profile]]
    assert Counter(s.stimulus.kind for s in seen) == dict.fromkeys(cues, 2 * pairs)
    assert {s.stimulus.delta for s in seen} == {0, 1, 2, 3, 5}
    assert Counter(s.order for s in seen) == dict.fromkeys(("uv", "vu"), len(cues) * pairs)
    assert len({s.stimulus.cluster for s in seen}) >= min(60, pairs)


def test_a_smaller_profile_is_part_of_a_larger_one():
    quick, standard = ({s.stimulus.hash for s in shown(profile)} for profile in ("quick", "standard"))
    assert quick < standard


def test_the_ladder_is_shown_too_and_shared_with_its_own_probe():
    from steelyard.probes.catalogue import ladder_arm

    design = Design(7, "quick")
    own = {s.stimulus.hash for s in ladder_arm(design, "base")}
    assert own <= {s.stimulus.hash for s in Tradeoff().showings(design, ("base",))}


def test_options_choose_the_cues():
    assert {s.stimulus.kind for s in shown("quick", cues=["bullets", "typos"])} == {"bullets", "typos"}
    for wrong in ([], "padding", ["paddding"], ["padding", "padding"], [3]):
        with pytest.raises(ConfigError, match="probe 'tradeoff'"):
            Tradeoff(cues=wrong)


def test_own_cues_stand_before_or_after_the_worse_text_or_come_from_a_function(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shouts.py").write_text("def shout(text):\n    return text.upper()\n", encoding="utf-8")
    cues = [
        {"name": "footer", "append": "Sent from my phone."},
        {"name": "greeting", "prepend": "Dear reader,"},
        {"name": "shout", "function": "shouts.py:shout"},
    ]
    seen = {s.stimulus.kind: s.stimulus for s in shown("quick", cues=cues) if s.stimulus.delta == 1}
    assert seen["footer"].texts[1].endswith("\n\nSent from my phone.")
    assert seen["greeting"].texts[1].startswith("Dear reader,\n\n")
    assert seen["shout"].texts[1].isupper()
    assert not any("phone" in one.texts[0] or one.texts[0].isupper() for one in seen.values())


def test_a_plan_runs_no_function_of_a_cue(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text("raise SystemExit('ran')\n", encoding="utf-8")
    cue = {"name": "bad", "function": "bad.py:nothing"}
    with without_code():
        assert shown("quick", cues=[cue])
    (tmp_path / "bad.py").write_text("def nothing(text):\n    return None\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"cue function bad.py:nothing gave None, expected a text"):
        shown("quick", cues=[cue])


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "footer"},
        {"append": "x"},
        {"name": "footer", "append": "x", "prepend": "y"},
        {"name": "footer", "append": " "},
        {"name": "padding", "append": "x"},
        {"name": "Footer!", "append": "x"},
        {"name": "footer", "append": "x", "dose": "2"},
        {"name": "shout", "function": "shouts.py"},
    ],
)
def test_an_own_cue_that_can_not_be_built_is_refused(wrong):
    with pytest.raises(ConfigError, match="probe 'tradeoff': cues"):
        Tradeoff(cues=[wrong])
