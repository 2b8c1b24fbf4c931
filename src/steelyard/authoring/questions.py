"""The prompts sent to authors, validators, planners and editors, as exchanges."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from steelyard.authoring.drafts import Draft, RunDraft
from steelyard.core.content_hash import content_hash
from steelyard.core.rng import rng_for
from steelyard.stimuli.authored.brief import AMBIGUOUS, LONG, ORDINAL, PADDED, PARAPHRASE, SHORT, Brief
from steelyard.stimuli.authored.checks import words
from steelyard.stimuli.authored.run_edits import PlanStep
from steelyard.study.roles import BORDER, EMBED, EXPANSION, GRADE, MEANING, Editing, Roles, prompt_file
from steelyard.study.study import Study
from steelyard.tasks.scale import Ordinal
from steelyard.tasks.task import Task
from steelyard.tasks.transcripts.transcript import message, render_transcript
from steelyard.trials.judge import Judge
from steelyard.trials.presentation import Message, Slots
from steelyard.trials.prompt import PromptTemplate
from steelyard.trials.trial import AUTHOR, EDITOR, EMBEDDER, PLANNER, SUMMARIZER, Exchange, Trial

PASS_KEY = '"verdict"'
"""A prompt of the user's own for a verifier that names this key asks for PASS or FAIL, and for no score."""
KEEPS_MEANING = (PARAPHRASE, LONG, SHORT, PADDED)


def author_exchange(model: Judge, draft: Draft, attempt: int, study: Study, roles: Roles) -> Exchange:
    brief = draft.brief
    shown = exemplars(study, brief, roles.own.exemplars)
    values = values_of(brief, draft.task, exemplars=shown, feedback=draft.feedback)
    exchange = _exchange(AUTHOR, model, brief.goal, draft, attempt, values)
    return replace(exchange, decoding=roles.decoding(attempt))


def validator_exchange(judge: Judge, protocol: str, draft: Draft) -> Exchange:
    """The question; the same text is asked about once, whichever try it came from."""
    stimulus = draft.stimulus
    scale = question_of(draft.brief, draft.task).scale
    graded = protocol == GRADE
    if graded:
        messages = Trial(judge, GRADE, stimulus, draft.task).messages
    else:
        messages = render_messages(judge, protocol, values_of(draft.brief, draft.task, text=draft.text))
    return Exchange(
        role=draft.confirmed_by,
        judge=judge,
        protocol=protocol,
        brief=draft.brief.name,
        messages=messages,
        decoding=judge.decoding,
        slots=Slots(stimulus.request, stimulus.texts),
        answers=scale.answers if graded else (),
        wants="json" if graded and PASS_KEY not in judge.protocols[protocol].user else "text",
    )


def original_exchange(judge: Judge, protocol: str, draft: Draft) -> Exchange:
    """The question about the item's own response: the same for every text that is made from it."""
    return validator_exchange(judge, protocol, replace(draft, text=draft.brief.item.responses[0]))


def embedding_exchange(judge: Judge, text: str) -> Exchange:
    return Exchange(
        role=EMBEDDER,
        judge=judge,
        protocol=EMBED,
        brief="",
        messages=render_messages(judge, EMBED, {"text": text}),
        decoding=judge.decoding,
        slots=Slots("", (text,)),
        wants="embedding",
    )


def questions_about(goal: str) -> tuple[str, ...]:
    if goal == AMBIGUOUS:
        return (BORDER,)
    if goal == LONG:
        return (GRADE, EXPANSION)
    return (GRADE, MEANING) if goal in KEEPS_MEANING else (GRADE,)


def asks_own_score(brief: Brief) -> bool:
    """True where the item's own response is graded, to have something to hold the text's score against."""
    return brief.expected is None and GRADE in questions_about(brief.goal)


def question_of(brief: Brief, task: Task) -> Task:
    item = brief.item
    return Task(
        task.instruction if item.instruction is None else item.instruction,
        item.rubric or task.rubric,
        item.scale or task.scale,
    )


def values_of(brief: Brief, task: Task, **more: object) -> dict[str, object]:
    asked, item = question_of(brief, task), brief.item
    scale = asked.scale
    low, high = (scale.low, scale.high) if isinstance(scale, Ordinal) else (0, 1)
    return {
        "instruction": asked.instruction,
        "rubric": asked.rubric,
        "request": item.request,
        "reference": item.reference or "",
        "response": item.responses[0],
        "label": item.label,
        "expected": brief.expected,
        "error": brief.error,
        "low": low,
        "high": high,
        "variant": 1 + brief.number // len(scale.answers),
        "words": len(words(item.responses[0])),
        "exemplars": (),
        "feedback": "",
        **more,
    }


def render_messages(judge: Judge, protocol: str, values: Mapping[str, object]) -> tuple[Message, ...]:
    asked = judge.protocols[protocol]
    parts = [("system", asked.system), ("user", asked.user)]
    return tuple(
        Message(role, PromptTemplate(text, f"{judge.name}, {protocol} prompt").render(values))
        for role, text in parts
        if text is not None
    )


def exemplars(study: Study, brief: Brief, count: int) -> tuple[tuple[str, str], ...]:
    """Requests and responses that were given the wanted score by the same rubric; never the item itself.

    All items of the data may serve, drawn or not: few are drawn, and the ends of a scale are rare.
    """
    if brief.goal != ORDINAL:
        return ()
    mine = brief.item
    fitting = sorted(
        (
            item
            for item in (*study.items, *study.undrawn)
            if item.label == brief.expected
            and item.id != mine.id
            and item.responses != mine.responses
            and (item.rubric, item.scale, item.instruction) == (mine.rubric, mine.scale, mine.instruction)
        ),
        key=lambda item: item.id,
    )
    chosen = rng_for(study.seed, "exemplars", brief.name).sample(fitting, min(count, len(fitting)))
    return tuple((item.request, item.responses[0]) for item in chosen)


def brief_hash(study: Study, roles: Roles, brief: Brief) -> str:
    shown = exemplars(study, brief, roles.own.exemplars)
    return content_hash([brief.content, study.task, *([shown] if shown else [])])


def planner_exchange(editing: Editing, draft: RunDraft, attempt: int) -> Exchange:
    places = draft.original.assistant_places
    editable = ", ".join(str(place + 1) for place in places) or "none"
    values = {
        **_target(draft),
        "transcript": render_transcript(draft.original),
        "agent_messages": "\n".join(f"[{place}] {draft.original.turns[place].text}" for place in places),
        "editable": editable,
        "most": editing.steps,
        "feedback": draft.feedback,
    }
    return _exchange(PLANNER, editing.at(editing.planner, attempt), PLANNER, draft, attempt, values)


def editor_exchange(editing: Editing, draft: RunDraft, step: PlanStep, attempt: int) -> Exchange:
    assert draft.plan is not None
    turn = draft.original.turns[step.place]
    values = {
        **_target(draft),
        "thesis": draft.plan.thesis,
        "steps": tuple(f"message {each.number}: {each.goal}" for each in draft.plan.steps),
        "goal": step.goal,
        "number": step.number,
        "message": message(step.number, turn),
        "text": turn.text,
        "calls": ", ".join(f"{json.dumps(call.id)} ({call.function})" for call in turn.calls),
        "before": draft.before(step),
        "after": draft.after(step),
        "edits": draft.edits_before(step),
        "summary": draft.summary,
    }
    return _exchange(EDITOR, editing.at(editing.editor, attempt), EDITOR, draft, attempt, values)


def summarizer_exchange(editing: Editing, draft: RunDraft, messages: str, attempt: int) -> Exchange:
    values = {"messages": messages, "summary": draft.summary, "most": editing.summary_words}
    return _exchange(SUMMARIZER, editing.at(editing.summarizer, attempt), SUMMARIZER, draft, attempt, values)


def _target(draft: RunDraft) -> dict[str, object]:
    values = values_of(draft.brief, draft.task)
    shared = {key: values[key] for key in ("instruction", "rubric", "request", "expected", "low", "high")}
    target = PromptTemplate(prompt_file(f"run_target_{draft.brief.goal}").strip())
    return {**shared, "target": target.render(shared)}


def _exchange(
    role: str, judge: Judge, protocol: str, draft: Draft, attempt: int, values: Mapping[str, object]
) -> Exchange:
    item = draft.brief.item
    return Exchange(
        role=role,
        judge=judge,
        protocol=protocol,
        brief=draft.brief.name,
        messages=render_messages(judge, protocol, values),
        decoding=judge.decoding,
        slots=Slots(item.request, item.responses),
        attempt=attempt,
    )
