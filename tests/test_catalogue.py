"""Validity gates of the built-in stimuli: what a judge is measured with must itself be sound."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations

from each import for_each
from steelyard.tasks.checklist import ELEMENTS, Checklist, catalogue

TASKS = catalogue()
COMMON = set(
    """a an and are as at be by can do for from has have if in is it its not of on or so that the this to was
    will with you your""".split()  # noqa: SIM905
)


def words(sentence: str) -> set[str]:
    return set(re.findall(r"[a-z0-9']+", sentence.lower())) - COMMON


def overlap(one: str, other: str) -> float:
    a, b = words(one), words(other)
    return len(a & b) / len(a | b)


def marks(sentence: str, keyword: str) -> bool:
    return re.search(rf"\b{re.escape(keyword.lower())}", sentence.lower()) is not None


def sentences(task: Checklist) -> list[str]:
    written = [s for element in task.elements for s in (*element.wordings, element.weak)]
    return written + [s for pair in task.filler for s in pair]


each_task = for_each("task", TASKS, lambda task: task.id)


def test_size() -> None:
    assert len(TASKS) >= 60
    domains = Counter(task.domain for task in TASKS)
    assert len(domains) >= 8
    assert max(domains.values()) - min(domains.values()) <= 1
    assert len({task.id for task in TASKS}) == len(TASKS)


def test_no_sentence_is_in_two_checklists() -> None:
    seen = Counter(sentence for task in TASKS for sentence in sentences(task))
    assert [sentence for sentence, times in seen.items() if times > 1] == []


@each_task
def test_shape(task: Checklist) -> None:
    assert len(task.elements) == ELEMENTS == len(task.filler)
    assert all(len(element.wordings) >= 3 for element in task.elements)
    assert len(set(sentences(task))) == len(sentences(task))


@each_task
def test_every_sentence_has_ten_words_so_length_tells_nothing(task: Checklist) -> None:
    assert {len(sentence.split()) for sentence in sentences(task)} == {10}


@each_task
def test_sentences_stand_alone(task: Checklist) -> None:
    for sentence in sentences(task):
        assert re.fullmatch(r"[ -~]+\.", sentence), sentence
        assert not re.search(r"[.!?] |[{}<>\[\]]", sentence), sentence
        assert not re.match(r"(Then|Next|Finally|After that|Also|It|They|These)\b", sentence), sentence


@each_task
def test_wordings_really_differ(task: Checklist) -> None:
    groups = [element.wordings for element in task.elements] + list(task.filler)
    for group in groups:
        for one, other in combinations(group, 2):
            assert overlap(one, other) <= 0.5, (one, other)


@each_task
def test_elements_are_marked_and_filler_holds_none(task: Checklist) -> None:
    filler = [sentence for pair in task.filler for sentence in pair]
    for element in task.elements:
        own = (*element.wordings, element.weak)
        others = [s for other in task.elements if other is not element for s in (*other.wordings, other.weak)]
        for sentence in own:
            assert any(marks(sentence, keyword) for keyword in element.keywords), (element.key, sentence)
        for sentence in (*filler, *others):
            assert not any(marks(sentence, keyword) for keyword in element.keywords), (element.key, sentence)


@each_task
def test_a_weak_form_is_neither_the_element_nor_filler(task: Checklist) -> None:
    for element in task.elements:
        assert all(words(element.weak) != words(wording) for wording in element.wordings)
