"""What a study still needs somebody to write."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.lab.study.study import Study
from steelyard.probes.probe import WrittenProbe
from steelyard.stimuli.authored.brief import Brief
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.pack import pack_item

TO_BE_WRITTEN = "to be written"
"""Author of a text that stands in for one that is not there yet."""


def open_briefs(study: Study) -> tuple[Brief, ...]:
    """Every brief that the built-in pack does not fulfil."""
    return tuple(
        brief
        for probe in study.build_probes()
        if isinstance(probe, WrittenProbe)
        for brief in probe.briefs(study.design)
        if pack_item(brief.item) is None
    )


def stand_ins(study: Study, briefs: Sequence[Brief]) -> tuple[Stimulus, ...]:
    """The items' own responses in the place of texts to be written: a plan counts the calls of judges."""
    return tuple(brief.fulfilled(brief.item.responses[0], study.task, TO_BE_WRITTEN) for brief in briefs)
