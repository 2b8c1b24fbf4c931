"""The file of stimuli under review: decisions made in it by hand, and runs as reviewers edit them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from steelyard.core.content_hash import canonical_json
from steelyard.core.files import atomic_write_text
from steelyard.errors import DataError
from steelyard.stimuli.brief import LABEL_FLIP
from steelyard.stimuli.original import ORIGINAL
from steelyard.stimuli.stimulus import (
    ACCEPTED,
    EDITED,
    PENDING,
    REVIEWS,
    Label,
    Lineage,
    Stimulus,
    StimulusSet,
    reference_label,
)
from steelyard.tasks.task import parse_scale
from steelyard.tasks.transcripts.transcript import (
    ToolCall,
    Transcript,
    Turn,
    changes,
    render_transcript,
    unedited,
)


class ArgumentsError(Exception):
    """Arguments of a tool call that are no JSON object."""


@dataclass(frozen=True)
class ReviewerEdit:
    text: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)


def with_run(made: Stimulus, run: Transcript) -> Stimulus:
    """The stimulus with another version of its run: what a judge reads, and what differs, go with it."""
    return replace(
        made, transcript=run, texts=(render_transcript(run),), changes=changes(before_edit(made), run)
    )


def run_of(text: str) -> Transcript:
    return Transcript.from_json(json.loads(text))


def run_text(run: Transcript) -> str:
    return canonical_json(run.to_json())


def edited_run(run: Transcript, edits: Mapping[int, ReviewerEdit]) -> Transcript:
    turns: dict[int, Turn] = {}
    for place, edit in edits.items():
        if 0 <= place < len(run.turns):
            turn = run.turns[place]
            spoken = turn if edit.text is None or edit.text == turn.text else turn.saying(edit.text)
            calls = tuple(_called(call, edit.arguments.get(call.id)) for call in turn.calls)
            turns[place] = replace(spoken, calls=calls)
    return run.with_turns(turns)


def _called(call: ToolCall, arguments: str | None) -> ToolCall:
    if arguments is None:
        return call
    try:
        body = json.loads(arguments)
    except ValueError as error:
        raise ArgumentsError(
            f"the arguments of {call.function} are not JSON ({error}): correct them."
        ) from error
    if not isinstance(body, dict):
        raise ArgumentsError(f"the arguments of {call.function} must be an object: write {{…}}.")
    return call if body == call.arguments else replace(call, arguments=body, fault=None)


def before_edit(made: Stimulus) -> Transcript:
    if made.transcript is None:
        raise ValueError(f"{made.id} is no run")
    return unedited(made.transcript, made.changes or ())


def under_review(stimuli: Iterable[Stimulus]) -> tuple[Stimulus, ...]:
    return tuple(_with(stimulus, PENDING) if stimulus.judged else stimulus for stimulus in stimuli)


def all_accepted(stimuli: Iterable[Stimulus]) -> tuple[Stimulus, ...]:
    return tuple(_with(s, ACCEPTED) if s.lineage.review == PENDING else s for s in stimuli)


def read_manual_edits(
    stimuli: Iterable[Stimulus], path: Path, known: Collection[str], lines: Iterable[Stimulus] | None = None
) -> tuple[Stimulus, ...]:
    """The stimuli as the file has them; `lines` are those of the file, where they were read already."""
    if not path.exists():
        return tuple(stimuli)
    held = {stimulus.id: stimulus for stimulus in (StimulusSet.read(path) if lines is None else lines)}
    decided = []
    for made in stimuli:
        if made.id in held:
            where = f"{path}: stimulus {made.id!r}"
            decided.append(_decided(made, held[made.id], where))
            original = held.get(f"{made.lineage.parent}/{ORIGINAL}")
            if not flips(decided[-1], original):
                raise DataError(
                    f"{where}: its label {reference_label(decided[-1].expectation)!r} is the item's own, so "
                    'nothing was flipped; set "review" to "rejected", or write a text that deserves another '
                    "label."
                )
        elif made.id in known:
            raise DataError(
                f"{path}: stimulus {made.id!r} is missing; restore its line, and to leave it out set its "
                '"review" to "rejected".'
            )
        else:
            decided.append(made)
    return tuple(decided)


def write_stimuli(path: Path, stimuli: Iterable[Stimulus]) -> None:
    held = {stimulus.id: stimulus for stimulus in StimulusSet.read(path)} if path.exists() else {}
    held |= {stimulus.id: stimulus for stimulus in stimuli}
    lines = [json.dumps(stimulus.to_json(), sort_keys=True) for stimulus in StimulusSet.of(held.values())]
    atomic_write_text(path, "".join(line + "\n" for line in lines))


def _decided(made: Stimulus, held: Stimulus, where: str) -> Stimulus:
    """What a person may change is text, label and review, and what was changed must be said."""
    if held == made:
        return made
    word = held.lineage.review
    if word is not None and word not in REVIEWS:
        raise DataError(
            f'{where}: found "review": {word!r}, expected one of {", ".join(REVIEWS)}; correct it.'
        )
    for name in _changed_fields(made, held):
        raise DataError(
            f"{where}: {name!r} was changed, expected changes of texts, label and review only; restore it."
        )
    if len(held.texts) != 1 or not isinstance(held.texts[0], str):
        raise DataError(
            f"{where}: expected one text in a list under 'texts', found {held.texts!r}; restore it."
        )
    if made.transcript is not None and not _is_run(made, held):
        raise DataError(
            f"{where}: its text is what a judge reads of a run, and was changed without the run; change the "
            "run with `steelyard review`, or restore the text."
        )
    relabelled = _relabelled(made, held, where)
    if held.texts == made.texts and not relabelled and word == EDITED:
        raise DataError(
            f'{where}: says "edited" and its text and label are unchanged; set "review" to "accepted".'
        )
    if (held.texts != made.texts or relabelled) and word != EDITED:
        part = "text" if held.texts != made.texts else "label"
        raise DataError(
            f'{where}: its {part} was changed; set its "review" to "edited", or restore the {part}.'
        )
    if word in (ACCEPTED, EDITED) and not held.texts[0].strip():
        raise DataError(
            f'{where}: has no text and can not be {word}; write one, or set "review" to "rejected".'
        )
    if word is None and made.lineage.review is not None:
        raise DataError(f'{where}: "review" was taken away; set it to one of {", ".join(REVIEWS)}.')
    decided = replace(_with(made, word), texts=held.texts, expectation=held.expectation)
    return replace(decided, transcript=held.transcript, changes=held.changes)


def flips(flip: Stimulus, original: Stimulus | None) -> bool:
    """False for a flipped text with the item's own label: it flips nothing, and would count as a flip."""
    own = original.expectation if original is not None else None
    return (
        flip.probe != LABEL_FLIP or not flip.judged or not isinstance(own, Label) or flip.expectation != own
    )


def _relabelled(made: Stimulus, held: Stimulus, where: str) -> bool:
    if held.expectation == made.expectation:
        return False
    answers = parse_scale(made.scale or "").answers
    new = held.expectation.value if isinstance(held.expectation, Label) else None
    if not isinstance(made.expectation, Label) or new not in answers:
        expected = (
            f"one of {', '.join(answers)}" if isinstance(made.expectation, Label) else "none, as it was"
        )
        raise DataError(f"{where}: found the label {new!r}, expected {expected}; correct it.")
    return True


def _is_run(made: Stimulus, held: Stimulus) -> bool:
    """Whether a run was changed as a run: what a judge reads is its rendering, and its changes are told."""
    if made.transcript is None or held.transcript is None:
        return False
    if held.transcript == made.transcript:
        return (held.texts, held.changes) == (made.texts, made.changes)
    again = with_run(made, held.transcript)
    return (again.texts, again.changes) == (held.texts, held.changes)


def _changed_fields(made: Stimulus, held: Stimulus) -> list[str]:
    free = ("texts", "expectation", "lineage", *(("transcript", "changes") if _is_run(made, held) else ()))
    own = [f.name for f in fields(Stimulus) if f.name not in free]
    inner = [f.name for f in fields(Lineage) if f.name != "review"]
    return [
        *(name for name in own if getattr(made, name) != getattr(held, name)),
        *(f"lineage.{name}" for name in inner if getattr(made.lineage, name) != getattr(held.lineage, name)),
    ]


def _with(stimulus: Stimulus, review: str | None) -> Stimulus:
    return replace(stimulus, lineage=replace(stimulus.lineage, review=review))
