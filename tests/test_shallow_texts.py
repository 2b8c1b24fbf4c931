"""What counts of marks and words tell of the single texts of the pack and of the runs of agents.

So few texts scatter by luck alone. How far is measured: the same reader reads the same texts with answers
that were dealt anew, and what it reaches there in one of twenty cases is no evidence of a mark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from random import Random

import numpy as np
import pytest

from each import for_each
from steelyard.stimuli import shallow_reader
from steelyard.stimuli.shallow_reader import Example, ShallowReading, read_examples
from steelyard.stimuli.surface_counts import surface_counts
from steelyard.tasks.pack import FAILS, PASSES, PackItem, agent_pack, pack
from steelyard.tasks.task import Binary, Ordinal, Scale
from steelyard.tasks.transcripts.transcript import render_transcript

PAGE = Path(__file__).parents[1] / "docs" / "evidence.md"
DEALS = 40
ONE_IN_TWENTY = 1.645
"""Standard deviations above chance that luck passes in one case of twenty."""


@pytest.fixture(scope="module", autouse=True)
def _counted_once() -> Iterator[None]:
    """Dealing answers anew changes no text, so none is counted twice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shallow_reader, "surface_counts", cache(surface_counts))
        yield


def entries(scale: Scale) -> Iterator[PackItem]:
    return (entry for task in pack() if task.scale == scale for entry in task.items)


def against_flips(scale: Scale) -> Iterator[Example]:
    for entry in entries(scale):
        flip = entry.label_flip
        texts = {entry.label: entry.response, flip.label: flip.response}
        yield Example(entry.id, entry.request, texts[max(texts)], texts[min(texts)])


def alone(scale: Scale) -> Iterator[Example]:
    """Responses as they are; good is the upper half of the scale."""
    upper = scale.answers[len(scale.answers) // 2 :]
    for entry in entries(scale):
        yield Example(entry.id, entry.request, entry.response, good=entry.label in upper)


def written_levels() -> Iterator[Example]:
    for entry in entries(Ordinal(1, 6)):
        for (_, worse), (_, better) in combinations(entry.ordinal, 2):
            yield Example(entry.id, entry.request, better, worse)


def edited_runs() -> Iterator[Example]:
    for run in agent_pack():
        better, worse = (render_transcript(run.version(answer)) for answer in (PASSES, FAILS))
        yield Example(run.transcript.id, run.transcript.request, better, worse)


SETS: dict[str, tuple[Example, ...]] = {
    "pass or fail: response and its flip": tuple(against_flips(Binary())),
    "pass or fail: one response": tuple(alone(Binary())),
    "levels 1-6: response and its flip": tuple(against_flips(Ordinal(1, 6))),
    "levels 1-6: one response, above the middle or not": tuple(alone(Ordinal(1, 6))),
    "levels 1-6: two levels written for one request": tuple(written_levels()),
    "runs of agents: run and its edit": tuple(edited_runs()),
}


def dealt(examples: Sequence[Example], chance: Random) -> list[Example]:
    """The same texts, with answers that say nothing.

    Of pairs, a subject has all its pairs turned round or none; single texts exchange their answers.
    """
    if examples[0].worse is None:
        answers = chance.sample([one.good for one in examples], len(examples))
        return [replace(one, good=good) for one, good in zip(examples, answers, strict=True)]
    turned = {subject: chance.random() < 0.5 for subject in dict.fromkeys(one.subject for one in examples)}
    return [
        replace(one, text=one.worse, worse=one.text) if turned[one.subject] and one.worse else one
        for one in examples
    ]


@cache
def reading(name: str) -> ShallowReading:
    return read_examples(SETS[name])


@cache
def deals(name: str) -> tuple[ShallowReading, ...]:
    chance = Random(18)
    return tuple(read_examples(dealt(SETS[name], chance)) for _ in range(DEALS))


def bound(name: str) -> float:
    """A tenth above chance, or where luck alone goes further in one of twenty cases, that."""
    shares = np.array([one.overall for one in deals(name)])
    return max(shallow_reader.OVERALL, 0.5 + ONE_IN_TWENTY * float(np.sqrt(np.mean((shares - 0.5) ** 2))))


def planted(examples: Sequence[Example]) -> list[Example]:
    """The same texts with a remark in brackets after every good one."""
    return [replace(one, text=f"{one.text} (As above.)") if one.good else one for one in examples]


each_set = for_each("name", SETS)


@pytest.mark.slow
@each_set
def test_texts_tell_nothing_to_who_does_not_read(name: str) -> None:
    assert reading(name).overall <= bound(name)


@pytest.mark.slow
@each_set
def test_nor_does_any_one_count_tell_more_than_luck(name: str) -> None:
    """The best of so many counts is far above a half by luck: as far in one of twenty deals."""
    best = sorted(one.single for one in deals(name))
    assert reading(name).single <= best[-DEALS // 20]


@pytest.mark.slow
@each_set
def test_a_mark_in_the_good_texts_is_seen(name: str) -> None:
    assert read_examples(planted(SETS[name])).overall > bound(name)


@pytest.mark.slow
def test_luck_says_the_better_text_in_half_of_the_cases() -> None:
    for name in SETS:
        shares = [one.overall for one in deals(name)]
        error = float(np.std(shares)) / np.sqrt(DEALS)
        assert abs(float(np.mean(shares)) - 0.5) < 4 * error


@pytest.mark.slow
def test_the_table_of_the_page_is_what_is_read() -> None:
    page = PAGE.read_text("utf-8")
    for name, examples in SETS.items():
        shares = bound(name), reading(name).overall, read_examples(planted(examples)).overall
        cells = name, str(len(examples)), *(f"{share:.2f}".removeprefix("0") for share in shares)
        assert f"| {' | '.join(cells)} |" in page
    assert f"{DEALS} deals" in page
