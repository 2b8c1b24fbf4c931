"""Validity gates of the built-in stimuli: what a judge is measured with must itself be sound."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import combinations

import pytest

from each import for_each
from steelyard.tasks.checklist import ELEMENTS, Checklist, Element, catalogue, subjects

COMMON = set(
    """a an and are as at be by can do for from has have if in is it its not of on or so that the this to was
    will with you your""".split()  # noqa: SIM905
)
STOP = COMMON | set(
    """all any but each every how i into me my no one only our out over should than their them then there they
    up us use what when where which who why would about after again also am before being between both could
    did does down during few had he her here him his just more most must need new nor now off once other own
    same she some such too two under until very were while give tell say says cover covering explain write
    keep keeping short""".split()  # noqa: SIM905
)
"""Words of a request that say nothing of what it asks for."""
TWINS = {name: tuple(task for task in catalogue() if task.subject == name) for name in subjects()}
MOST_APART = {"commas": 0.45, "digits": 0.45, "letters": 6, "capitals": 0.6, "hyphens": 0.4}
"""How far the means of two twins' sentences may lie apart on the surface."""


def words(sentence: str) -> set[str]:
    return set(re.findall(r"[a-z0-9']+", sentence.lower())) - COMMON


def stems(text: str) -> set[str]:
    """Content words without their endings, six letters at most."""
    found = set(re.findall(r"[a-z0-9']+", text.lower())) - STOP
    return {re.sub(r"(?<=\w{3})(ing|ies|es|ed|s)$", "", word)[:6] for word in found}


def overlap(one: str, other: str) -> float:
    a, b = words(one), words(other)
    return len(a & b) / len(a | b)


def marks(sentence: str, keyword: str) -> bool:
    return re.search(rf"\b{re.escape(keyword.lower())}", sentence.lower()) is not None


def sentences(elements: Iterable[Element]) -> list[str]:
    return [sentence for element in elements for sentence in (*element.wordings, element.weak)]


def wordings(task: Checklist) -> list[str]:
    return [wording for element in task.elements for wording in element.wordings]


def surface(task: Checklist) -> dict[str, float]:
    """Means of a sentence."""
    written = wordings(task)
    patterns = {"commas": ",", "capitals": "[A-Z]", "hyphens": "-", "letters": "."}
    means = {
        name: len(re.findall(found, " ".join(written))) / len(written) for name, found in patterns.items()
    }
    return {**means, "digits": sum(any(map(str.isdigit, one)) for one in written) / len(written)}


each_task = for_each("task", catalogue(), lambda task: task.id)
each_subject = for_each("subject", subjects(), str)


def test_size() -> None:
    domains = Counter(twins[0].domain for twins in TWINS.values())
    assert (len(subjects()), len(catalogue()), len(domains)) == (60, 120, 12)
    assert set(domains.values()) == {5}
    assert len({task.id for task in catalogue()}) == len(catalogue())
    assert len({" ".join(task.request.split()) for task in catalogue()}) == len(catalogue())


def test_no_sentence_is_there_twice() -> None:
    seen = Counter(sentence for task in catalogue() for sentence in sentences(task.elements))
    assert [sentence for sentence, times in seen.items() if times > 1] == []


@each_subject
def test_the_elements_of_one_twin_are_the_filler_of_the_other(subject: str) -> None:
    one, other = TWINS[subject]
    assert one.domain == other.domain
    assert one.filler == tuple(element.wordings for element in other.elements)
    assert other.filler == tuple(element.wordings for element in one.elements)


@each_task
def test_shape(task: Checklist) -> None:
    assert len(task.elements) == ELEMENTS == len(task.filler)
    assert {len(element.wordings) for element in task.elements} == {3}
    assert len({element.key for element in task.elements}) == ELEMENTS


@each_task
def test_every_sentence_has_ten_words_so_length_tells_nothing(task: Checklist) -> None:
    assert {len(sentence.split()) for sentence in sentences(task.elements)} == {10}


@each_task
def test_sentences_stand_alone(task: Checklist) -> None:
    for sentence in sentences(task.elements):
        assert re.fullmatch(r"[ -~]+\.", sentence), sentence
        assert not re.search(r"[.!?] |[{}<>\[\]!?]", sentence), sentence
        assert sentence.count(".") == 1 + len(re.findall(r"\d\.\d", sentence)), sentence
        assert not re.match(r"(Then|Next|Finally|After that|Also|It|They|These)\b", sentence), sentence


@each_task
def test_wordings_really_differ(task: Checklist) -> None:
    for element in task.elements:
        for one, other in combinations(element.wordings, 2):
            assert overlap(one, other) <= 0.5, (one, other)


@pytest.mark.slow
@each_subject
def test_a_keyword_marks_its_element_and_no_other_of_both_twins(subject: str) -> None:
    elements = [element for task in TWINS[subject] for element in task.elements]
    for element in elements:
        for sentence in sentences([element]):
            assert any(marks(sentence, keyword) for keyword in element.keywords), (element.key, sentence)
        for sentence in sentences(other for other in elements if other is not element):
            assert not any(marks(sentence, keyword) for keyword in element.keywords), (element.key, sentence)


@each_task
def test_a_weak_form_is_not_the_element(task: Checklist) -> None:
    for element in task.elements:
        assert all(words(element.weak) != words(wording) for wording in element.wordings)


@each_subject
def test_words_of_a_request_are_in_the_sentences_of_both_twins_alike(subject: str) -> None:
    """A judge that counts words of the request would pass for one that reads."""
    held = [[stems(wording) for wording in wordings(task)] for task in TWINS[subject]]
    for task, own, others in zip(TWINS[subject], held, held[::-1], strict=True):
        asked = stems(task.request)
        apart = {stem: sum(stem in s for s in own) - sum(stem in s for s in others) for stem in asked}
        assert {stem: more for stem, more in apart.items() if abs(more) > 2} == {}, task.id
        assert abs(sum(apart.values())) <= 3, (task.id, apart)


@each_subject
def test_twins_are_alike_on_the_surface(subject: str) -> None:
    one, other = TWINS[subject]
    assert abs(len(one.request.split()) - len(other.request.split())) <= 8
    means = surface(one), surface(other)
    for name, most in MOST_APART.items():
        assert abs(means[0][name] - means[1][name]) <= most, name
