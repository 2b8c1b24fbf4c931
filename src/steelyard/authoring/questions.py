"""What is put to authors, validators and embedding models: each question an exchange."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from steelyard.authoring.draft import Draft
from steelyard.core.content_hash import content_hash
from steelyard.core.rng import rng_for
from steelyard.stimuli.authored.brief import AMBIGUOUS, LONG, ORDINAL, PADDED, PARAPHRASE, SHORT, Brief
from steelyard.stimuli.authored.checks import words
from steelyard.study.role_prompts import BORDER, EMBED, EXPANSION, GRADE, MEANING
from steelyard.study.roles import Roles
from steelyard.study.study import Study
from steelyard.tasks.item import Item
from steelyard.tasks.scale import Ordinal
from steelyard.tasks.task import Task
from steelyard.trials.exchange import AUTHOR, EMBEDDER, Exchange
from steelyard.trials.judge import Judge
from steelyard.trials.presentation import Message, Slots
from steelyard.trials.prompt import PromptTemplate
from steelyard.trials.trial import Trial

KEEPS_MEANING = (PARAPHRASE, LONG, SHORT, PADDED)
"""Goals whose texts must say what the item says."""


def author_exchange(model: Judge, draft: Draft, attempt: int, study: Study, roles: Roles) -> Exchange:
    """What to write, with what was wrong with the try before and examples of the score where they help."""
    brief = draft.brief
    shown = exemplars(study, brief, roles.exemplars)
    values = values_of(brief, draft.task, exemplars=shown, feedback=draft.feedback)
    return Exchange(
        role=AUTHOR,
        judge=model,
        protocol=brief.goal,
        brief=brief.name,
        messages=render_messages(model, brief.goal, values),
        decoding=roles.decoding(attempt),
        slots=Slots(brief.item.request, brief.item.responses),
        attempt=attempt,
    )


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
        wants="json" if graded else "text",
    )


def original_exchange(judge: Judge, protocol: str, draft: Draft) -> Exchange:
    """The question about the item's own response: the same for every text that is made from it."""
    return validator_exchange(judge, protocol, replace(draft, text=draft.brief.item.responses[0]))


def embedding_exchange(judge: Judge, text: str) -> Exchange:
    """The text whose vector is wanted."""
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
    """What a validator is asked about a text, in order."""
    if goal == AMBIGUOUS:
        return (BORDER,)
    if goal == LONG:
        return (GRADE, EXPANSION)
    return (GRADE, MEANING) if goal in KEEPS_MEANING else (GRADE,)


def asks_own_score(brief: Brief) -> bool:
    """True where the item's own response is graded, to have something to hold the text's score against."""
    return brief.expected is None and GRADE in questions_about(brief.goal)


def question_of(brief: Brief, task: Task) -> Task:
    """Instruction, rubric and scale that hold for the item of a brief."""
    item = brief.item
    return Task(
        task.instruction if item.instruction is None else item.instruction,
        item.rubric or task.rubric,
        item.scale or task.scale,
    )


def values_of(brief: Brief, task: Task, **more: object) -> dict[str, object]:
    """Everything that a prompt may name."""
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
        "low": low,
        "high": high,
        "variant": 1 + brief.number // len(scale.answers),
        "words": len(words(item.responses[0])),
        "exemplars": (),
        "feedback": "",
        **more,
    }


def render_messages(judge: Judge, protocol: str, values: Mapping[str, object]) -> tuple[Message, ...]:
    """The messages of one question."""
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
    return _chosen(brief, (*study.items, *study.undrawn), study.seed, count)


def _chosen(brief: Brief, items: Sequence[Item], seed: int, count: int) -> tuple[tuple[str, str], ...]:
    mine = brief.item
    fitting = sorted(
        (
            item
            for item in items
            if item.label == brief.expected
            and item.id != mine.id
            and item.responses != mine.responses
            and (item.rubric, item.scale, item.instruction) == (mine.rubric, mine.scale, mine.instruction)
        ),
        key=lambda item: item.id,
    )
    chosen = rng_for(seed, "exemplars", brief.name).sample(fitting, min(count, len(fitting)))
    return tuple((item.request, item.responses[0]) for item in chosen)


def brief_hash(study: Study, roles: Roles, brief: Brief) -> str:
    """Identity of what is asked for, the examples in the prompt included."""
    shown = exemplars(study, brief, roles.exemplars)
    return content_hash([brief.content, study.task, *([shown] if shown else [])])
