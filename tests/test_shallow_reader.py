"""The shallow reader: what counts of marks and words tell of quality without any understanding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from scipy.optimize import minimize

from steelyard.stimuli import shallow_reader
from steelyard.stimuli.ladder import order_checklists
from steelyard.stimuli.shallow_reader import (
    Example,
    ShallowReading,
    ladder_of,
    read_checklists,
    read_examples,
)
from steelyard.stimuli.surface_counts import COUNTS, surface_counts
from steelyard.tasks.checklist import Checklist, catalogue, subjects

PAGE = Path(__file__).parents[1] / "docs" / "evidence.md"
SEEDS = range(3)
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "knoll")


def counted(text: str, request: str = "Tell me how to boil the eggs.") -> dict[str, float]:
    return dict(zip(COUNTS, surface_counts(request, text), strict=True))


def test_counts_are_those_of_the_text() -> None:
    found = counted("Boil two eggs for 10 minutes, never longer. The half-cooked Egg is usually runny.")
    expected = {
        "words": 14,
        "sentences": 2,
        "commas": 1,
        "hyphens": 1,
        "digits": 2,
        "figures": 1,
        "units": 1,
        "capitals": 3,
        "capitals inside sentences": 1,
        "number words": 1,
        "vague words": 2,
        "the": 1,
        "words that deny": 1,
        "forms of be": 1,
        "sentences that open with an article": 1,
        "words of the request": 3,
        "content words of the request": 2,
        "stems of the request": 0,
        "distinct words": 14,
        "distinct words a word": 1,
        "place of the first letter": ord("b"),
    }
    assert {name: found[name] for name in expected} == expected
    assert len(COUNTS) >= 40


def test_an_empty_text_has_counts_too() -> None:
    assert set(counted("").values()) == {0.0}


def test_the_fit_is_the_maximum_of_the_penalised_likelihood() -> None:
    chance = np.random.default_rng(3)
    rows, weight = chance.normal(0.4, 1, (60, 5)), chance.uniform(0.5, 2, 60)

    def loss(found: np.ndarray) -> float:
        likelihood = weight / weight.sum() @ np.logaddexp(0, -rows @ found)
        return float(likelihood + shallow_reader._PENALTY * (found @ found) / 2)

    best = minimize(loss, np.zeros(5), tol=1e-10).x
    assert shallow_reader._fit(rows, weight) == pytest.approx(best, abs=1e-4)


# The built-in catalogue


@pytest.fixture(scope="module")
def both_twins() -> ShallowReading:
    return read_checklists(catalogue(), SEEDS)


@pytest.mark.slow
def test_the_catalogue_tells_nothing_to_who_does_not_read(both_twins: ShallowReading) -> None:
    """Both twins of every subject, composed with several seeds."""
    assert (both_twins.subjects, both_twins.examples) == (60, 3 * 120 * 15)
    assert both_twins.faults == ()


@pytest.mark.slow
def test_nor_do_runs_which_have_one_twin_of_each_subject() -> None:
    """Six runs together: within one, luck alone moves a share by .04."""
    drawn = (e for seed in range(6) for e in ladder_of(order_checklists(catalogue(), seed), seed))
    reading = read_examples(drawn)
    assert (reading.subjects, reading.examples) == (60, 6 * 60 * 15)
    assert reading.faults == ()


def chatter(task: Checklist) -> Checklist:
    """Filler that names the subject and says nothing: vague, without a number, a comma or a name."""
    name = task.subject.replace("-", " ").split()[0]
    said = (
        "Many people like to think about the {} quite often.",
        "There are all kinds of things about the {} anyway.",
        "Asking about the {} is something that people often do.",
        "Life is full of things such as the {} everywhere.",
        "Some people find the {} quite interesting in general.",
    )
    filler = tuple((one.format(name), one.format(f"whole {name}")) for one in said)
    return replace(task, filler=filler)


@pytest.mark.slow
def test_chatter_as_filler_of_a_third_of_the_subjects_is_seen() -> None:
    few = set(subjects()[::3])
    reading = read_checklists([chatter(task) if task.subject in few else task for task in catalogue()])
    assert reading.overall > shallow_reader.OVERALL
    assert reading.beyond_chance
    assert "a judge that does not read can pass for one that does" in reading.sentence


@pytest.mark.slow
def test_the_table_of_the_page_is_what_is_read(both_twins: ShallowReading) -> None:
    page, loose = PAGE.read_text("utf-8"), read_checklists(map(chatter, catalogue()), SEEDS)
    shares = (
        ("all pairs, all counts together", "overall", shallow_reader.OVERALL),
        ("one step, all counts together", "one_step", None),
        ("three steps and more, all counts together", "far", shallow_reader.FAR),
        ("all pairs, the one count that is best on other subjects", "chosen", shallow_reader.CHOSEN),
        ("all pairs, the best count of all", "single", shallow_reader.SINGLE),
    )
    for name, field, most in shares:
        read = [getattr(reading, field) for reading in (both_twins, loose)]
        assert f"| {' | '.join([name, hundredths(most), *map(hundredths, read)])} |" in page
    assert f"{len(COUNTS)} counts" in page


def hundredths(share: float | None) -> str:
    return "" if share is None else f"{share:.2f}".lstrip("0")


# Texts whose marks are known


def text(chance: Random, commas: int) -> str:
    drawn = chance.choices(WORDS, k=20)
    for place in chance.sample(range(19), commas):
        drawn[place] += ","
    return " ".join(drawn).capitalize() + "."


def pairs(subjects: int, more: int) -> Iterator[Example]:
    """Pairs whose better text has so many commas more."""
    chance = Random(5)
    for number in range(subjects):
        for steps in (1, 3):
            yield Example(f"s{number}", "?", text(chance, 2 + more), text(chance, 2), steps=steps)


def test_a_mark_of_the_better_text_is_found_and_named() -> None:
    reading = read_examples(pairs(30, 3))
    assert (reading.single, reading.single_name, reading.chosen) == (1.0, "commas", 1.0)
    assert reading.overall > 0.9
    assert (reading.one_step or 0) > 0.9
    assert (reading.far or 0) > 0.9
    assert reading.faults[2:] == (
        "the count that is best on other subjects 1.00, at most 0.60",
        "the count of commas 1.00, at most 0.66",
    )
    assert reading.sentence == (
        f"Counting marks and words names the better text in {100 * reading.overall:.0f} of 100 pairs "
        f"(chance: 50): a judge that does not read can pass for one that does ({'; '.join(reading.faults)})."
    )


@pytest.mark.slow
def test_texts_without_a_mark_tell_nothing() -> None:
    reading = read_examples(pairs(200, 0))
    assert abs(reading.overall - 0.5) < 3 * reading.error < 0.15
    assert not reading.beyond_chance


def test_what_was_learned_of_a_subject_does_not_serve_on_it() -> None:
    """One pair of each subject, ten times over: who had seen it once would know it, others tell nothing."""
    chance = Random(1)
    once = [Example(f"s{n}", "?", text(chance, 2), text(chance, 2), steps=1) for n in range(20)]
    reading = read_examples(one for one in once for _ in range(10))
    assert abs(reading.overall - 0.5) < 3 * reading.error < 0.4


def singles(texts: int, good: float, more: int) -> Iterator[Example]:
    chance = Random(2)
    for number in range(texts):
        well = chance.random() < good
        yield Example(f"s{number}", "?", text(chance, 1 + more * well), good=well)


def test_a_mark_of_good_single_texts_is_found_however_many_are_good() -> None:
    for share in (0.5, 0.85):
        reading = read_examples(singles(150, share, 4))
        assert (reading.single_name, reading.one_step, reading.far) == ("commas", None, None)
        assert min(reading.overall, reading.chosen, reading.single) > 0.9
        assert "tells good from bad in" in reading.sentence


def test_good_and_bad_texts_weigh_the_same() -> None:
    """Eight good texts with a comma, one bad text with and one without: all right and half right are .75."""
    rows = [*[("Amber, birch.", True)] * 8, ("Amber, birch.", False), ("Amber birch.", False)]
    reading = read_examples(Example(f"s{n}", "?", said, good=good) for n, (said, good) in enumerate(rows))
    assert (reading.single_name, reading.single) == ("commas", pytest.approx(0.75))


def test_who_says_good_to_everything_is_right_by_half() -> None:
    reading = read_examples(singles(300, 0.85, 0))
    assert abs(reading.overall - 0.5) < 3 * reading.error < 0.2
    assert not reading.beyond_chance


def test_few_subjects_are_not_told_from_luck() -> None:
    shares = ShallowReading(45, 3, 0.7, 0.6, 0.8, 0.6, 0.65, "commas", 0.12)
    assert shares.sentence.endswith("3 subjects are too few to tell this from luck.")
    assert replace(shares, overall=0.55, far=0.6).sentence.endswith("quality does not show on the surface.")


def test_one_subject_is_refused() -> None:
    with pytest.raises(ValueError, match="got 1 subjects, expected two and more"):
        read_examples([Example("s", "?", "One.", "Two.")])
