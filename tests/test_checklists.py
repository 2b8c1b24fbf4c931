"""Checklists as files state them: twins that are each other's filler, or filler of their own."""

from __future__ import annotations

from typing import Any

from steelyard.stimuli.ladder import compose
from steelyard.tasks.checklist import ELEMENTS, subject_checklists


def element(name: str) -> dict[str, Any]:
    wordings = [f"{name} said the {way} way." for way in ("first", "second", "third")]
    return {"key": name, "means": name, "keywords": [name], "wordings": wordings, "weak": f"{name}, perhaps."}


def twin(name: str, **more: Any) -> dict[str, Any]:
    elements = [element(f"{name}{number}") for number in range(ELEMENTS)]
    return {"id": name, "request": f"What of {name}?", "elements": elements, **more}


def test_without_filler_of_their_own_twins_fill_each_other() -> None:
    one, other = subject_checklists({"subject": "tea", "domain": "drinks", "twins": [twin("a"), twin("b")]})
    assert (one.subject, one.domain, other.subject, other.domain) == ("tea", "drinks", "tea", "drinks")
    assert one.filler == tuple(each.wordings for each in other.elements)
    assert other.filler == tuple(each.wordings for each in one.elements)
    first, second = compose(one, 7)
    assert not set(first.prefix(0).split(". ")) & set(second.prefix(0).split(". "))
    assert all(name.startswith("b") for name in first.prefix(0).split(". "))


def test_stated_filler_is_taken_in_any_number_of_two_wordings_and_more() -> None:
    filler = [[f"Filler {number} {way}." for way in ("plain", "turned")] for number in range(ELEMENTS + 2)]
    (alone,) = subject_checklists({"subject": "tea", "domain": "drinks", "twins": [twin("a", filler=filler)]})
    assert alone.filler == tuple(map(tuple, filler))
    one, other = compose(alone, 7)
    assert one.prefix(0).count("Filler") == other.prefix(0).count("Filler") == ELEMENTS
    assert one.prefix(ELEMENTS).count("Filler") == 0
