"""What writing will take: one try for each text, and the questions that confirm it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from steelyard.authoring.drafts import RunDraft, run_draft, text_draft
from steelyard.authoring.questions import (
    asks_own_score,
    author_exchange,
    editor_exchange,
    original_exchange,
    planner_exchange,
    questions_about,
    summarizer_exchange,
    validator_exchange,
)
from steelyard.authoring.validation import originals
from steelyard.runner.planner import PlanRow, plan_row
from steelyard.stimuli.authored.brief import LONG, ORDINAL, PADDED, SHORT, Brief
from steelyard.stimuli.authored.run_edits import EditPlan, PlanStep
from steelyard.study.roles import GRADE, Roles
from steelyard.study.study import Study
from steelyard.tasks.transcripts.transcript import message
from steelyard.trials.judge import Judge
from steelyard.trials.prompt import expected_tokens
from steelyard.trials.trial import Exchange

LENGTHS = {LONG: 2.0, PADDED: 2.0, SHORT: 0.5}
"""Length of a text for each character of the item's response; 1 otherwise."""
ANSWER_TOKENS = 12
PLAN_TOKENS = 200
TOKENS_PER_WORD = 1.4


_Expected: TypeAlias = tuple[Exchange, int]
"""A call, and the tokens of its answer."""


def writing_rows(study: Study, roles: Roles, briefs: Sequence[Brief]) -> list[PlanRow]:
    groups: dict[tuple[str, str], list[_Expected]] = {}
    unlabelled: set[str] = set()
    for brief in briefs:
        calls = list(_expected_calls(study, roles, brief))
        if asks_own_score(brief) and brief.item.id not in unlabelled:
            unlabelled.add(brief.item.id)
            asked = original_exchange(roles.validator, GRADE, text_draft(brief, study, roles))
            calls.append((asked, ANSWER_TOKENS))
        for exchange, tokens in calls:
            groups.setdefault((exchange.judge.name, brief.probe), []).append((exchange, tokens))
    rows = [_row(judge, probe, expected) for (judge, probe), expected in groups.items()]
    synthetic = sum(brief.goal == ORDINAL for brief in briefs)
    if synthetic and roles.similarity_limit is not None and roles.embedder is not None:
        rows.append(_embedding_row(study, roles.embedder, synthetic))
    return sorted(rows, key=lambda row: row.judge)


def _expected_calls(study: Study, roles: Roles, brief: Brief) -> Iterator[_Expected]:
    if brief.edits_run:
        yield from _run_calls(roles, run_draft(brief, study, roles))
        return
    draft = text_draft(brief, study, roles)
    draft.text = brief.item.responses[0]
    length = expected_tokens(draft.text) * LENGTHS.get(brief.goal, 1.0)
    yield author_exchange(roles.author, draft, 0, study, roles), round(length)
    for question in questions_about(brief.goal):
        yield validator_exchange(roles.validator, question, draft), ANSWER_TOKENS


def _run_calls(roles: Roles, draft: RunDraft) -> Iterator[_Expected]:
    """As many edits as there may be, on the agent's last messages; what is summed up for them; a grade."""
    editing = roles.editing
    assert editing is not None
    places = draft.original.assistant_places[-editing.steps :]
    yield planner_exchange(editing, draft, 0), PLAN_TOKENS
    draft.plan = EditPlan("", tuple(PlanStep(place, "") for place in places))
    for step in draft.plan.steps:
        while (messages := draft.to_sum_up(step))[0]:
            exchange = summarizer_exchange(editing, draft, messages[0], 0)
            yield exchange, round(editing.summary_words * TOKENS_PER_WORD)
            draft.summed_up = messages[1]
        length = expected_tokens(message(step.number, draft.original.turns[step.place]))
        yield editor_exchange(editing, draft, step, 0), round(length)
    yield validator_exchange(editing.verifier, GRADE, draft), ANSWER_TOKENS


def _row(judge: str, probe: str, expected: Sequence[_Expected]) -> PlanRow:
    prompts = (message.content for exchange, _ in expected for message in exchange.messages)
    tokens = round(sum(map(expected_tokens, prompts))), sum(tokens for _, tokens in expected)
    return plan_row(expected[0][0].judge, judge, probe, len(expected), *tokens)


def _embedding_row(study: Study, embedder: Judge, synthetic: int) -> PlanRow:
    lengths = [expected_tokens(text) for text in dict.fromkeys(originals(study))]
    tokens = round(sum(lengths) + sum(lengths) / len(lengths) * synthetic)
    return plan_row(embedder, embedder.name, ORDINAL, len(lengths) + synthetic, tokens, 0)
