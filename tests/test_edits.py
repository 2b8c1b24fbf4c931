"""Deterministic edits: what each may change, and what it never does."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steelyard.errors import UnknownNameError
from steelyard.stimuli.rubric_edits import rescale, rewrite_range, rubric_order
from steelyard.stimuli.text_edits import (
    INJECTIONS,
    PROTECTED,
    add_markdown,
    authority,
    bandwagon,
    blank_lines,
    indentation,
    injection,
    markdown,
    prose_stretches,
    replace_spans,
    segments,
    space_clusters,
    strip_markdown,
    typos,
)
from steelyard.tasks.pack import pack
from steelyard.tasks.task import Binary, Ordinal

VOCABULARY = (
    "The cat sat on a mat. It is not red! Never pay 12 or 3.5 euros? Use `x = 1` here, don't call NASA "
    "(really) naïve **bold** - 1. # ``` ~~~ \n\n \n \r\n \r \t > * _so_ four machines without"
)
WORDS = st.sampled_from(VOCABULARY.split(" "))
TEXTS = st.one_of(st.text(max_size=80), st.lists(WORDS, max_size=40).map(" ".join))
SEEDS = st.integers(0, 2**32)
CODE = "Look:\n\n```python\nif x:\n    return  1\n```\nThat is all of it."


def code_of(text: str) -> list[str]:
    return [part.text for part in segments(text) if part.code]


@given(TEXTS)
def test_segments_are_the_text(text: str) -> None:
    assert "".join(part.text for part in segments(text)) == text


def test_fenced_code_is_found() -> None:
    assert code_of(CODE) == ["```python\nif x:\n    return  1\n```\n"]
    assert code_of("a\n~~~~\nb\n~~~\nc") == ["~~~~\nb\n~~~\nc"]
    assert code_of("```inline``` is no block\n") == []


@pytest.mark.parametrize("edit", [blank_lines, space_clusters, indentation])
@given(text=TEXTS, seed=SEEDS)
@example(text=CODE, seed=1)
@example(text="one\r\n\r\n  two  three\rfour", seed=2)
@example(text="a\x1cb c\u2028d", seed=3)
def test_layout_edits_change_white_space_and_nothing_else(edit, text: str, seed: int) -> None:
    edited = edit(text, random.Random(seed))
    if edited is not None:
        assert edited.split() == text.split()
        assert edited != text
        assert len(edited) > len(text) or edit is blank_lines
        assert code_of(edited) == code_of(text)
        assert edited == edit(text, random.Random(seed))


@given(st.lists(st.sampled_from(["one", "two,", "three."]), min_size=2, max_size=20), SEEDS)
def test_two_words_can_always_be_edited(words: list[str], seed: int) -> None:
    for edit in (blank_lines, space_clusters, indentation):
        assert edit(" ".join(words), random.Random(seed)) is not None


@pytest.mark.parametrize("text", ["", " \n", "```\ncode here\n```"])
def test_texts_without_prose_cannot_be_edited(text: str) -> None:
    assert [edit(text, random.Random(1)) for edit in (blank_lines, space_clusters, indentation)] == [None] * 3


def test_what_layout_edits_look_like() -> None:
    assert blank_lines("word", random.Random(1)) is None
    assert space_clusters("word\nword", random.Random(1)) is None
    assert re.fullmatch(r"One\.\n{2,4}Two\.", blank_lines("One. Two.", random.Random(1)) or "")
    added = [blank_lines("a\nb\n\nc d", random.Random(seed)) or "" for seed in range(20)]
    gained = [text for text in added if len(text) > len("a\nb\n\nc d")]
    assert {text for text in added if text not in gained} == {"a\nb\nc d"}
    assert 4 <= len(gained) <= 16
    assert all(re.fullmatch(r"a\n{2,4}b\n{3,5}c d", text) for text in gained)
    assert re.fullmatch(r"a {3,7}b", space_clusters("a b", random.Random(1)) or "")
    indented = indentation("def f():\n    return 1\n\nx", random.Random(1)) or ""
    assert re.fullmatch(r"( +)def f\(\):\n\1    return 1\n\n\1x", indented)
    moved = {indentation("x\ny", random.Random(seed)) for seed in range(40)}
    assert moved == {f"{by}x\n{by}y" for by in ("  ", "    ", "      ", "        ", "\t", "\t\t")}
    assert space_clusters("call `f(a, b)`", random.Random(1)) is not None
    assert space_clusters("`f(a, b)`", random.Random(1)) is None


@given(TEXTS, st.floats(0.01, 1.0), SEEDS)
@example(CODE, 1.0, 5)
def test_typos_hit_long_plain_words_alone(text: str, level: float, seed: int) -> None:
    edited = typos(text, level, random.Random(seed))
    if edited is None:
        return
    assert re.findall(r"\s+", edited) == re.findall(r"\s+", text)
    assert code_of(edited) == code_of(text)
    changed = [(a, b) for a, b in zip(text.split(), edited.split(), strict=True) if a != b]
    assert changed
    for before, after in changed:
        assert not re.search(r"\d", before)
        letters = re.sub(r"\W|_", "", before)
        assert len(letters) >= 4
        assert letters.lower() not in PROTECTED
        assert re.sub(r"\W|_", "", after).lower() not in PROTECTED
        assert (before[0], before[-1]) == (after[0], after[-1])


SENTENCE = "Several people never wrote twelve letters without asking their seven neighbours about NASA first."
PLAIN = " ".join([SENTENCE] * 5)
GAPS = re.compile(r"(?<=\S) +(?=\S)")


class EveryTime(random.Random):
    """Hits whatever may be hit, with the least that may be put there."""

    def random(self) -> float:
        return 0.0

    def randint(self, a: int, b: int) -> int:
        return a


AT_HAND = st.lists(
    st.sampled_from(["aaaa", "aaa", "aaaaa", "asaa", "aasa", "Aaaa", "loop", "lopo", "ten."]), max_size=12
)
"""Texts in which each slip of `aaaa` may be a word already, so that it cannot take one."""


def slips(text: str, share: float, seed: int) -> set[tuple[int, str]]:
    pairs = zip(text.split(), (typos(text, share, random.Random(seed)) or text).split(), strict=True)
    return {(place, after) for place, (before, after) in enumerate(pairs) if before != after}


@given(AT_HAND.map(" ".join), st.floats(0.05, 1.0), st.floats(0.05, 1.0), SEEDS)
@example(PLAIN, 0.3, 0.7, 1)
@example("aaaa aaa aaaaa asaa aasa", 0.3, 1.0, 1)
def test_a_share_of_the_words_that_can_take_a_slip(text: str, one: float, other: float, seed: int) -> None:
    low, high = sorted((one, other))
    every = slips(text, 1.0, seed)
    assert slips(text, low, seed) <= slips(text, high, seed) <= every
    for share in (low, high):
        assert len(slips(text, share, seed)) == (max(1, round(share * len(every))) if every else 0)
    if text == PLAIN:  # 8 words of the sentence: Several people wrote letters asking their neighbours about
        assert len(every) == 40


def test_a_word_takes_no_slip_that_is_a_word_of_the_text() -> None:
    assert not {0, 2} & {place for place, _ in slips("aaaa aaa aaaa aaaaa asaa aasa", 1.0, 1)}
    assert 0 in {place for place, _ in slips("aaaa aaa aaaa aaaaa asaa", 1.0, 1)}


@pytest.mark.parametrize("before", ["", "is ", "is. ", "is:\t ", "\n", " ", "`x` "])
def test_a_capital_at_the_beginning_of_a_sentence_is_no_name(before: str) -> None:
    begins = before.strip(" \t")[-1:] in ("", ".", ":", "\n")
    assert (typos(f"{before}Because", 1.0, random.Random(1)) is not None) == begins


@given(TEXTS)
@example(CODE)
@example("`a  b` c  d `e`  `f` g  h")
def test_an_edit_of_gaps_finds_all_in_prose_and_none_in_code(text: str) -> None:
    inside = [
        m.span()
        for m in GAPS.finditer(text)
        if any(a <= m.start() and m.end() <= b for a, b in prose_stretches(text))
    ]
    edited = space_clusters(text, EveryTime(1))
    assert edited == (
        replace_spans(text, {(a, b): text[a:b] + " " * 2 for a, b in inside}) if inside else None
    )


def test_typos_leave_names_alone() -> None:
    text = "Write to Doctor Weiss before Thursday. Patients wait."
    edited = typos(text, 1.0, random.Random(1)) or ""
    kept = [word for word, after in zip(text.split(), edited.split(), strict=True) if word == after]
    assert kept == ["to", "Doctor", "Weiss", "Thursday."]


def test_typos_have_a_level_and_a_place() -> None:
    assert typos("I am no 42", 0.5, random.Random(1)) is None
    assert typos("never seven CAPS don't `code`", 1.0, random.Random(1)) is None
    with pytest.raises(ValueError, match="above 0 and at most 1, found 0"):
        typos("words", 0, random.Random(1))


def letters(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text)


@given(TEXTS)
@example("# Head\n\n- **a** point\n> said *so*\n\n---\n1. `x` [l](u)\n")
@example(CODE.replace("Look", "## **Look**"))
def test_stripping_markdown_keeps_every_letter_and_the_code(text: str) -> None:
    stripped = strip_markdown(text)
    if stripped is not None:
        assert letters(stripped) == letters(text)
        assert all(block in stripped for block in code_of(text))


@given(st.lists(st.text(st.characters(exclude_characters="*_#`~>|[]\\-+•"), min_size=1), max_size=30))
@example(["One", "is", "here.", "Two", "is", "there.\n\n", "Three", "comes.", "Four!", "Five?"])
def test_adding_markdown_can_be_undone(parts: list[str]) -> None:
    text = " ".join(parts)
    added = add_markdown(text)
    if added is not None:
        assert added != text
        assert letters(added) == letters(text)
        assert (strip_markdown(added) or "").split() == text.split()


def test_what_markdown_looks_like() -> None:
    plain = (
        "Boil water first. Add the pasta. Stir it once or twice. Drain it well.\n\nServe it hot with salt."
    )
    formatted = (
        "## Boil water first.\n\n- **Add** the pasta.\n- **Stir it** once or twice.\n- **Drain** it well.\n\n"
        "**Serve it** hot with salt."
    )
    assert markdown(plain) == formatted
    assert (strip_markdown(formatted) or "").split() == plain.split()
    assert markdown("yes it is") is None
    assert strip_markdown("2 * 3 * 4 is a*b*c, and snake_case_name stays") is None
    assert strip_markdown("# Title\n* one\n* __two__\n\n***\n") == "Title\none\ntwo\n\n\n"


@pytest.mark.parametrize("edit", [authority, bandwagon])
@given(text=TEXTS, seed=SEEDS)
def test_claims_leave_the_text_whole(edit, text: str, seed: int) -> None:
    edited = edit(text, random.Random(seed))
    if not text.strip():
        assert edited is None
    else:
        assert text in edited
        assert len(edited) > len(text) + 20


def test_claims_come_in_several_forms_on_both_sides() -> None:
    forms = {authority("Text.", random.Random(seed)) for seed in range(200)}
    assert len(forms) == 10
    assert Counter(form.startswith("Text.") for form in forms if form) == {True: 5, False: 5}


@given(TEXTS, st.sampled_from(sorted(INJECTIONS)), st.sampled_from([None, "0", "6"]))
def test_injections_follow_the_text_and_ask_for_a_verdict(text: str, form: str, wanted: str | None) -> None:
    edited = injection(text, form, wanted)
    assert edited.startswith(text)
    added = edited[len(text) :]
    assert (wanted or "best") in added
    assert "{" not in added or form == "ready_verdict"


def test_an_unknown_injection_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown injection 'bribe': known: command, "):
        injection("text", "bribe")


SCALES = st.tuples(st.integers(-5, 5), st.integers(1, 20)).map(lambda pair: Ordinal(pair[0], sum(pair)))


@given(SCALES, SCALES)
def test_rescaling_keeps_the_ends_and_the_order_and_goes_nearest(source: Ordinal, target: Ordinal) -> None:
    mapped = [int(rescale(answer, source, target)) for answer in source.answers]
    assert (mapped[0], mapped[-1]) == (target.low, target.high)
    assert mapped == sorted(mapped)
    half = 0.5 / (target.high - target.low)
    for answer, new in zip(source.answers, mapped, strict=True):
        here = (int(answer) - source.low) / (source.high - source.low)
        there = (int(new) - target.low) / (target.high - target.low)
        assert abs(here - there) <= half + 1e-12


@given(SCALES, SCALES)
def test_a_wider_scale_and_back_is_the_same_answer(source: Ordinal, target: Ordinal) -> None:
    if target.high - target.low >= source.high - source.low:
        for answer in source.answers:
            assert rescale(rescale(answer, source, target), target, source) == answer


def test_rescaled_by_hand() -> None:
    # 1..6 onto 1..10: 1 + (x - 1) * 9 / 5 = 1, 2.8, 4.6, 6.4, 8.2, 10
    assert [rescale(a, Ordinal(1, 6), Ordinal(1, 10)) for a in "123456"] == ["1", "3", "5", "6", "8", "10"]
    assert [rescale(a, Ordinal(1, 5), Ordinal(0, 100)) for a in "12345"] == ["0", "25", "50", "75", "100"]


@pytest.mark.parametrize(
    ("text", "target", "edited"),
    [
        ("Score from 1 to 6.", Ordinal(0, 100), "Score from 0 to 100."),
        ("Between 1 and 6 (1–6).", Ordinal(1, 10), "Between 1 and 10 (1–10)."),
        ("1: bad\n- 6 = good\n**Score 2**: weak", Ordinal(0, 5), "0: bad\n- 5 = good\n**Score 1**: weak"),
        ("On 1-6:\n1. Clear?\n2. True?", Ordinal(0, 10), "On 0-10:\n1. Clear?\n2. True?"),
        ("1. a\n2. b\n3. c\n4. d\n5. e\n6. f", Ordinal(0, 5), "0. a\n1. b\n2. c\n3. d\n4. e\n5. f"),
        ("Score 1 to 6; 12 points are not meant.", Ordinal(0, 5), "Score 0 to 5; 12 points are not meant."),
        ("Score 1 to 6; a 4 or higher is a pass.", Ordinal(0, 5), None),
        ("1: bad\n6: good", Ordinal(1, 3), None),
        ("Be fair.", Ordinal(1, 3), None),
    ],
)
def test_ranges_are_rewritten_or_refused(text: str, target: Ordinal, edited: str | None) -> None:
    assert rewrite_range(text, Ordinal(1, 6), target) == edited


RUBRIC = "What counts:\n\n- truth\n  in every line\n- form\n\n- length\n\nNothing else."


@given(SEEDS)
def test_points_of_a_rubric_change_places(seed: int) -> None:
    edited = rubric_order(RUBRIC, random.Random(seed)) or ""
    assert edited != RUBRIC
    points = re.findall(r"^- (\w+(?:\n  in every line)?)$", edited, re.MULTILINE)
    assert sorted(points) == ["form", "length", "truth\n  in every line"]
    assert edited.startswith("What counts:\n\n- ")
    assert edited.endswith("\n\nNothing else.")


NUMBERED = "1. truth\n2. form"


def test_numbers_stay_unless_they_may_mean_their_points() -> None:
    assert rubric_order(NUMBERED, random.Random(1), Ordinal(1, 6)) == "1. form\n2. truth"
    assert rubric_order(NUMBERED, random.Random(1), Ordinal(1, 2)) == "2. form\n1. truth"
    assert rubric_order(NUMBERED, random.Random(1)) == "2. form\n1. truth"
    assert rubric_order(NUMBERED + "\n\nRule 2 counts twice.", random.Random(1), Binary()) == (
        "2. form\n1. truth\n\nRule 2 counts twice."
    )
    assert rubric_order("0: bad\n1: good", random.Random(1), Binary()) == "1: good\n0: bad"
    assert rubric_order("- 0: bad\n- 1: good\n", random.Random(1), Binary()) == "- 1: good\n- 0: bad\n"


@pytest.mark.parametrize(
    "rubric", ["", "Be fair.", "- one point", "- same\n- same", "- a\n- b\nunless both", "1. a"]
)
def test_rubrics_without_a_list_have_no_other_order(rubric: str) -> None:
    assert rubric_order(rubric, random.Random(1)) is None


def test_a_sentence_after_a_list_speaks_of_the_whole() -> None:
    rubric = "1. It is true.\n2. It is short.\nBoth must hold.\n"
    edited = "1. It is short.\n2. It is true.\nBoth must hold.\n"
    assert rubric_order(rubric, random.Random(1), Binary()) == edited
    # Between two points it may belong to the one above it.
    assert rubric_order(rubric + "3. It is kind.\n4. It is new.", random.Random(1), Binary()) is None


@pytest.mark.parametrize("task", pack(), ids=lambda task: task.id)
def test_every_rubric_of_the_pack_has_another_order(task) -> None:
    rubric = task.task.rubric
    edited = rubric_order(rubric, random.Random(1), task.task.scale)
    assert edited is not None
    assert sorted(edited.split()) == sorted(rubric.split())
    assert edited.splitlines()[-1] == rubric.splitlines()[-1]


@given(st.lists(st.sampled_from(["- a", "- b", "  - c", "1. d", "2. e", "x", "", "  y", "3: z"])), SEEDS)
def test_no_line_of_a_rubric_is_lost(lines: list[str], seed: int) -> None:
    rubric = "\n".join(lines)
    edited = rubric_order(rubric, random.Random(seed))
    if edited is not None:
        assert sorted(edited.split()) == sorted(rubric.split())
        assert edited.count("\n") == rubric.count("\n")


def test_removed_blank_lines_leave_code_headings_and_line_ends_alone() -> None:
    text = "One.\r\n \r\n\r\nTwo.\n\n---\n\nThree.\n\n```\na\n\n\nb\n```\n\nFour.\n\n"
    kept = "One.\r\nTwo.\n\n---\nThree.\n```\na\n\n\nb\n```\n\nFour.\n\n"
    found = {blank_lines(text, random.Random(seed)) or "" for seed in range(20)}
    assert kept in found
    assert all(len(other) > len(text) for other in found - {kept})
    assert all(other.split() == text.split() and "a\n\n\nb" in other for other in found)
