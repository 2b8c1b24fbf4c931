"""Briefs fulfilled from the built-in pack, whose variants are written out: no author model is needed."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.stimuli.authored.brief import (
    AMBIGUOUS,
    LABEL_FLIP,
    ORDINAL,
    PADDED,
    PARAPHRASE,
    RUN_FAIL,
    RUN_PASS,
    SHORT,
    Brief,
)
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.agent_pack import pack_run
from steelyard.tasks.pack import PackItem, pack_item
from steelyard.tasks.task import Task
from steelyard.tasks.transcripts.transcript import Transcript, render_transcript

AUTHOR = "pack"


def pack_stimuli(briefs: Iterable[Brief], task: Task) -> tuple[Stimulus, ...]:
    made = []
    for brief in briefs:
        run = _version(brief)
        if run is not None:
            made.append(brief.to_stimulus(render_transcript(run), task, AUTHOR, transcript=run))
            continue
        source = pack_item(brief.item)
        written = None if source is None else _pack_text(brief, source)
        if written is not None:
            made.append(brief.to_stimulus(written[0], task, AUTHOR, written[1]))
    return tuple(made)


def is_in_pack(brief: Brief) -> bool:
    """True where nobody needs to write: the item is of the built-in pack, or a run that is edited there."""
    return pack_item(brief.item) is not None or _version(brief) is not None


def _version(brief: Brief) -> Transcript | None:
    run = pack_run(brief.item)
    wanted = brief.goal in (RUN_FAIL, RUN_PASS) and brief.expected is not None
    return run.version(brief.expected or "") if run is not None and wanted else None


def _pack_text(brief: Brief, source: PackItem) -> tuple[str, str | None] | None:
    match brief.goal:
        case name if name == LABEL_FLIP:
            return source.label_flip.response, source.label_flip.label
        case name if name == AMBIGUOUS:
            return None if source.ambiguous is None else (source.ambiguous, None)
        case name if name == ORDINAL:
            texts = source.ordinal if brief.number < len(source.ordinal) else ()  # one for each level
            text = dict(texts).get(brief.expected or "")
            return None if text is None else (text, brief.expected)
    kept = {PARAPHRASE: source.paraphrase, PADDED: source.long, SHORT: source.short}
    return (kept[brief.goal], source.label) if brief.goal in kept else None
