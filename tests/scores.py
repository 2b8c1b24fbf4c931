"""Pointwise observations for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from steelyard.metrics.scores.columns import Scores, collect_scores
from steelyard.stimuli.stimulus import Label, Lineage, Stimulus, Unknown
from steelyard.trials.judge import Usage
from steelyard.verdicts.observations import Observation
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Unreadable, Verdict

Answer = int | str
"""A score, or `abstain`, `unreadable`, `failed`."""

_OTHER: dict[str, Verdict] = {
    "abstain": Abstained(),
    "unreadable": Unreadable("no answer"),
    "failed": Failed("timeout"),
}


def call(
    item: str,
    answer: Answer,
    expected: int | None = None,
    *,
    probe: str = "original",
    replicate: int = 0,
    scale: str = "binary",
    cluster: str | None = None,
    level: float | None = None,
    number: int = 0,
    judge: str = "j",
) -> Observation:
    """One call on an item; a probe other than `original` makes it an edit."""
    original = probe == "original"
    stimulus = Stimulus(
        id=f"{item}/original" if original else f"{item}/{probe}/{number}",
        probe=probe,
        kind="original" if original else "perturbed",
        cluster=cluster or item,
        stratum="all",
        request="request",
        texts=("text",),
        expectation=Unknown() if expected is None else Label(str(expected)),
        lineage=Lineage(parent=item, edit="edit"),
        scale=scale,
        level=level,
    )
    verdict = Decided(str(answer)) if isinstance(answer, int) else _OTHER[answer]
    return Observation(judge, "base", stimulus, "uv", replicate, verdict, Usage(100, 10), "")


def calls(
    answers: Sequence[Answer],
    expected: Sequence[int | None],
    *,
    scale: str = "binary",
    probe: str = "original",
    judge: str = "j",
) -> list[Observation]:
    """One call per item, items numbered in order."""
    return [
        call(f"i{index:03d}", answer, label, scale=scale, probe=probe, judge=judge)
        for index, (answer, label) in enumerate(zip(answers, expected, strict=True))
    ]


def repeats(
    answers: Iterable[Sequence[Answer]], *, scale: str = "binary", expected: int | None = None
) -> Scores:
    """Several calls per item on the same input."""
    return collect_scores(
        call(f"i{index:03d}", answer, expected, replicate=replicate, scale=scale)
        for index, row in enumerate(answers)
        for replicate, answer in enumerate(row)
    )
