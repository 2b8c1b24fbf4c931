"""Pairwise observations for tests."""

from __future__ import annotations

from steelyard.importing.pairs import VERDICTS
from steelyard.stimuli.stimulus import Lineage, NoPreference, Prefers, RecordedText, Stimulus
from steelyard.trials.judge import Usage
from steelyard.verdicts.observations import Observation


def pair(
    name: str,
    answers: tuple[str, str],
    better: str | None = None,
    *,
    replicate: int = 0,
    delta: float | None = None,
    probe: str = "ladder",
    kind: str = "prefix",
    judge: str = "j",
    task: str | None = None,
    stratum: str = "all",
    words: tuple[int, int] | None = None,
    author: str = "catalogue",
) -> list[Observation]:
    """A pair in both orders, u first and then v, with the answers of both calls."""
    stimulus = Stimulus(
        id=name,
        probe=probe,
        kind=kind,
        cluster=task or name,
        stratum=stratum,
        request="request",
        texts=("text u", "text v"),
        expectation=NoPreference() if better is None else Prefers(better),
        lineage=Lineage(parent=task or name, edit="none", author=author),
        delta=delta,
        recorded=None if words is None else RecordedText(words[0], second_words=words[1]),
    )
    return [
        Observation(judge, "base", stimulus, order, replicate, VERDICTS[answer], Usage(), "")
        for order, answer in zip(("uv", "vu"), answers, strict=True)
    ]
