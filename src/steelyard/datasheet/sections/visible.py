"""Names and notes as they may be shown: one line, every invisible character spelled out."""

from __future__ import annotations

from dataclasses import replace

from steelyard.datasheet.datasheet import Datasheet
from steelyard.metrics.estimate import Estimate


def visible(text: str) -> str:
    """White space as single spaces; escape codes, direction marks, lone surrogates as `\\x1b`, `\\u202e`."""
    return spelled(" ".join(text.split()))


def spelled(text: str) -> str:
    """Spaces as they are; every other invisible character as `\\n`, `\\x1b`, `\\u202e`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def visible_datasheet(datasheet: Datasheet) -> Datasheet:
    """The same datasheet with every text made visible; names stay equal wherever they were equal."""
    return replace(
        datasheet,
        name=visible(datasheet.name),
        profile=visible(datasheet.profile),
        version=visible(datasheet.version),
        stimulus_set=visible(datasheet.stimulus_set),
        reference=None if datasheet.reference is None else visible(datasheet.reference),
        judges=tuple(
            replace(judge, name=visible(judge.name), model=visible(judge.model)) for judge in datasheet.judges
        ),
        estimates=tuple(_estimate(estimate) for estimate in datasheet.estimates),
        panel=tuple(_estimate(estimate) for estimate in datasheet.panel),
        readings=tuple(
            replace(
                reading,
                judge=visible(reading.judge),
                title=visible(reading.title),
                word=visible(reading.word),
                sentence=visible(reading.sentence),
            )
            for reading in datasheet.readings
        ),
    )


def _estimate(estimate: Estimate) -> Estimate:
    judge = visible(estimate.judge)
    note = None if estimate.note is None else visible(estimate.note)
    words = [
        key for key, value in estimate.group.items() if isinstance(value, str) and value != visible(value)
    ]
    if not words and judge == estimate.judge and note == estimate.note:
        return estimate
    group = {key: visible(v) if isinstance(v, str) else v for key, v in estimate.group.items()}
    return replace(estimate, judge=judge, note=note, group=group)
