"""What is put to those who edit runs of agents: each question an exchange."""

from __future__ import annotations

import json
from collections.abc import Mapping

from steelyard.authoring.questions import render_messages, values_of
from steelyard.authoring.run_draft import RunDraft
from steelyard.stimuli.authored.run_edits import PlanStep
from steelyard.study.editing import Editing
from steelyard.study.role_prompts import prompt_file
from steelyard.tasks.transcripts.transcript import message, render_transcript
from steelyard.trials.exchange import EDITOR, PLANNER, SUMMARIZER, Exchange
from steelyard.trials.judge import Judge
from steelyard.trials.presentation import Slots
from steelyard.trials.prompt import PromptTemplate


def planner_exchange(editing: Editing, draft: RunDraft, attempt: int) -> Exchange:
    """Which messages to edit, with what was wrong with the try before."""
    editable = ", ".join(str(place + 1) for place in draft.original.assistant_places) or "none"
    values = {
        **_target(draft),
        "transcript": render_transcript(draft.original),
        "editable": editable,
        "most": editing.steps,
        "feedback": draft.feedback,
    }
    return _exchange(PLANNER, editing.at(editing.planner, attempt), draft, attempt, values)


def editor_exchange(editing: Editing, draft: RunDraft, step: PlanStep, attempt: int) -> Exchange:
    """One message, with the plan, the edits before it and what surrounds it."""
    assert draft.plan is not None
    turn = draft.original.turns[step.place]
    values = {
        **_target(draft),
        "thesis": draft.plan.thesis,
        "steps": tuple(f"message {each.number}: {each.goal}" for each in draft.plan.steps),
        "goal": step.goal,
        "number": step.number,
        "message": message(step.number, turn),
        "calls": ", ".join(f"{json.dumps(call.id)} ({call.function})" for call in turn.calls),
        "before": draft.before(step),
        "after": draft.after(step),
        "edits": draft.edits_before(step),
        "summary": draft.summary,
    }
    return _exchange(EDITOR, editing.at(editing.editor, attempt), draft, attempt, values)


def summarizer_exchange(editing: Editing, draft: RunDraft, messages: str, attempt: int) -> Exchange:
    """The messages that an editor will not see, after the summary of those before them."""
    values = {"messages": messages, "summary": draft.summary, "most": editing.summary_words}
    return _exchange(SUMMARIZER, editing.at(editing.summarizer, attempt), draft, attempt, values)


def _target(draft: RunDraft) -> dict[str, object]:
    """What the run is to become, and by which rubric."""
    values = values_of(draft.brief, draft.task)
    shared = {key: values[key] for key in ("instruction", "rubric", "request", "expected", "low", "high")}
    target = PromptTemplate(prompt_file(f"run_target_{draft.brief.goal}").strip())
    return {**shared, "target": target.render(shared)}


def _exchange(
    role: str, judge: Judge, draft: RunDraft, attempt: int, values: Mapping[str, object]
) -> Exchange:
    item = draft.brief.item
    return Exchange(
        role=role,
        judge=judge,
        protocol=role,
        brief=draft.brief.name,
        messages=render_messages(judge, role, values),
        decoding=judge.decoding,
        slots=Slots(item.request, item.responses),
        attempt=attempt,
    )
