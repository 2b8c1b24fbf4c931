"""Drafts: one brief on its way, a text or an agent's run, with its attempts and what it came to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeVar

from steelyard.stimuli.authored_checks import Rejection
from steelyard.stimuli.brief import RUN_FAIL, Brief
from steelyard.stimuli.run_edits import EditPlan, PlanStep, find_contradictions
from steelyard.stimuli.stimulus import NOBODY, REJECTED, Stimulus
from steelyard.store.authoring import AuthoredStimulus
from steelyard.study.roles import SHOWN_BEFORE, Roles
from steelyard.study.study import Study
from steelyard.tasks.task import Task
from steelyard.tasks.transcripts.transcript import Transcript, Turn, message, render_transcript
from steelyard.trials.trial import VALIDATOR, VERIFIER


@dataclass
class Draft:
    confirmed_by: ClassVar[str] = VALIDATOR

    brief: Brief
    task: Task
    author: str
    tries: list[Rejection] = field(default_factory=list)
    text: str = ""
    accepted: bool = False
    validation: str = ""
    kept_score: str | None = None
    """Score that the text is kept at, where it is not the one that it was written for."""
    waiting: str | None = None
    """Why this run can not bring it to an end."""

    @property
    def open(self) -> bool:
        return not self.accepted and self.waiting is None

    @property
    def feedback(self) -> str:
        return self.tries[-1].detail if self.tries else ""

    @property
    def stimulus(self) -> Stimulus:
        return self.brief.to_stimulus(self.text, self.task, self.author, self.kept_score)

    @property
    def by_validator(self) -> bool:
        """True where nobody but the validator says what the reference is."""
        return False

    @property
    def remarks(self) -> str:
        return ""

    def reject(self, rejection: Rejection) -> None:
        self.tries.append(rejection)

    def written(self) -> AuthoredStimulus:
        stimulus = self.stimulus
        validation, review = self.validation, stimulus.lineage.review
        if not self.accepted:
            last, count = self.tries[-1], len(self.tries)
            validation, review = f"{last.reason}: {last.detail} (try {count} of {count})", REJECTED
        validation = f"{validation}; {self.remarks}" if self.remarks else validation
        lineage = replace(stimulus.lineage, validation=validation, review=review)
        return AuthoredStimulus(replace(stimulus, lineage=lineage), tuple(self.tries), self.by_validator)


DraftT = TypeVar("DraftT", bound=Draft)


def alive(drafts: Iterable[DraftT], attempt: int) -> list[DraftT]:
    return [draft for draft in drafts if draft.open and len(draft.tries) == attempt]


CHUNK = 40_000
"""Characters that are summed up in one call, at most; a longer message goes alone."""


@dataclass
class RunDraft(Draft):
    confirmed_by = VERIFIER

    plan: EditPlan | None = None
    turns: dict[int, Turn] = field(default_factory=dict)
    """Place to the message that was put there in this try."""
    summary: str = ""
    summed_up: int = 0
    untouched: bool = False

    def begin(self) -> None:
        self.plan, self.turns, self.summary, self.summed_up = None, {}, "", 0

    @property
    def original(self) -> Transcript:
        assert self.brief.item.transcript is not None
        return self.brief.item.transcript

    @property
    def transcript(self) -> Transcript:
        return self.original.with_turns(self.turns) if self.turns else self.original

    @property
    def stimulus(self) -> Stimulus:
        run, author, edit = self.transcript, self.author, self.brief.edit
        if self.untouched:
            author, edit = NOBODY, "none: the run has the wanted answer as it is"
        elif self.plan is not None:
            edit = f"{edit}: {self.plan.words}"
        return self.brief.to_stimulus(render_transcript(run), self.task, author, edit=edit, transcript=run)

    @property
    def fits_as_is(self) -> bool:
        """True where the run may be what is wanted already, as far as its label says."""
        label = self.brief.item.label
        return self.brief.goal != RUN_FAIL and label in (None, self.brief.expected)

    @property
    def by_validator(self) -> bool:
        return self.untouched and self.brief.item.label is None

    @property
    def remarks(self) -> str:
        corrections = self.plan.corrections if self.plan is not None else ()
        parts = [f"plan corrected: {', '.join(corrections)}"] if corrections else []
        strays = find_contradictions(self.original, self.transcript)
        parts += [f"coherence: {', '.join(strays)}"] if strays else []
        return "; ".join(parts)

    def before(self, step: PlanStep) -> str:
        return self._messages(max(0, step.place - SHOWN_BEFORE), step.place) or "(none)"

    def after(self, step: PlanStep) -> str:
        later = [place for place in self.original.assistant_places if place > step.place]
        end = later[0] + 1 if later else len(self.original.turns)
        return self._messages(step.place + 1, end) or "(none)"

    def to_sum_up(self, step: PlanStep) -> tuple[str, int]:
        """The next messages that a summary lacks before this step, and where they end; empty without any."""
        start, end = self.summed_up, max(0, step.place - SHOWN_BEFORE)
        stop, length = start, 0
        while stop < end and (stop == start or length + len(message(stop + 1, self._turn(stop))) <= CHUNK):
            length += len(message(stop + 1, self._turn(stop)))
            stop += 1
        return self._messages(start, stop), stop

    def edits_before(self, step: PlanStep) -> tuple[str, ...]:
        return tuple(message(place + 1, turn) for place, turn in self.turns.items() if place < step.place)

    def _turn(self, place: int) -> Turn:
        return self.turns.get(place, self.original.turns[place])

    def _messages(self, start: int, end: int) -> str:
        return "\n\n".join(message(place + 1, self._turn(place)) for place in range(start, end))


def text_draft(brief: Brief, study: Study, roles: Roles) -> Draft:
    return Draft(brief, study.task, roles.author.address)


def run_draft(brief: Brief, study: Study, roles: Roles) -> RunDraft:
    assert roles.editing is not None
    return RunDraft(brief, study.task, roles.editing.editor.address)
