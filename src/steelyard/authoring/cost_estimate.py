"""What writing will take: one try for each text, and the questions that confirm it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steelyard.authoring.drafts import Draft, RunDraft, run_draft, text_draft
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
from steelyard.providers.provider import model_info
from steelyard.runner.planner import PlanRow
from steelyard.runner.prices import price_of
from steelyard.stimuli.authored.brief import LONG, ORDINAL, PADDED, SHORT, Brief
from steelyard.stimuli.authored.run_edits import EditPlan, PlanStep
from steelyard.study.roles import GRADE, Roles
from steelyard.study.study import Study
from steelyard.tasks.transcripts.transcript import message
from steelyard.trials.exchange import Exchange
from steelyard.trials.expected_tokens import expected_tokens
from steelyard.trials.judge import Judge

LENGTHS = {LONG: 2.0, PADDED: 2.0, SHORT: 0.5}
"""Length of a text for each character of the item's response; 1 otherwise."""
ANSWER_TOKENS = 12
PLAN_TOKENS = 200
TOKENS_PER_WORD = 1.4


@dataclass(frozen=True)
class _Expected:
    exchange: Exchange
    output_tokens: int


def writing_rows(study: Study, roles: Roles, briefs: Sequence[Brief]) -> list[PlanRow]:
    groups: dict[tuple[str, str], list[_Expected]] = {}
    unlabelled: set[str] = set()
    for brief in briefs:
        calls = list(_expected_calls(study, roles, brief))
        if asks_own_score(brief) and brief.item.id not in unlabelled:
            unlabelled.add(brief.item.id)
            asked = original_exchange(roles.validator, GRADE, text_draft(brief, study, roles))
            calls.append(_Expected(asked, ANSWER_TOKENS))
        for expected in calls:
            groups.setdefault((expected.exchange.judge.name, brief.probe), []).append(expected)
    rows = [_row(judge, probe, expected) for (judge, probe), expected in groups.items()]
    synthetic = sum(brief.goal == ORDINAL for brief in briefs)
    if synthetic and roles.compared and roles.embedder is not None:
        rows.append(_embedding_row(study, roles.embedder, synthetic))
    return sorted(rows, key=lambda row: row.judge)


def _expected_calls(study: Study, roles: Roles, brief: Brief) -> Iterator[_Expected]:
    if brief.edits_run:
        return _run_calls(roles, run_draft(brief, study, roles))
    draft = text_draft(brief, study, roles)
    draft.text = brief.item.responses[0]
    return _calls(study, roles, draft)


def _calls(study: Study, roles: Roles, draft: Draft) -> Iterator[_Expected]:
    length = expected_tokens(draft.text) * LENGTHS.get(draft.brief.goal, 1.0)
    yield _Expected(author_exchange(roles.author, draft, 0, study, roles), round(length))
    for question in questions_about(draft.brief.goal):
        yield _Expected(validator_exchange(roles.validator, question, draft), ANSWER_TOKENS)


def _run_calls(roles: Roles, draft: RunDraft) -> Iterator[_Expected]:
    """As many edits as there may be, on the agent's last messages; what is summed up for them; a grade."""
    editing = roles.editing
    assert editing is not None
    places = draft.original.assistant_places[-editing.steps :]
    yield _Expected(planner_exchange(editing, draft, 0), PLAN_TOKENS)
    draft.plan = EditPlan("", tuple(PlanStep(place, "") for place in places))
    for step in draft.plan.steps:
        while (messages := draft.to_sum_up(step))[0]:
            exchange = summarizer_exchange(editing, draft, messages[0], 0)
            yield _Expected(exchange, round(editing.summary_words * TOKENS_PER_WORD))
            draft.summed_up = messages[1]
        length = expected_tokens(message(step.number, draft.original.turns[step.place]))
        yield _Expected(editor_exchange(editing, draft, step, 0), round(length))
    yield _Expected(validator_exchange(editing.verifier, GRADE, draft), ANSWER_TOKENS)


def _row(judge: str, probe: str, expected: Sequence[_Expected]) -> PlanRow:
    tokens_in = round(sum(expected_tokens(m.content) for each in expected for m in each.exchange.messages))
    tokens_out = sum(each.output_tokens for each in expected)
    model = expected[0].exchange.judge
    price, seconds = price_of(model), model_info(model.address).seconds_per_call * len(expected)
    dollars = None if price is None else price.dollars(tokens_in, tokens_out, len(expected))
    return PlanRow(judge, probe, len(expected), tokens_in, tokens_out, dollars, seconds)


def _embedding_row(study: Study, embedder: Judge, synthetic: int) -> PlanRow:
    lengths = [expected_tokens(text) for text in dict.fromkeys(originals(study))]
    mean = sum(lengths) / len(lengths)
    tokens = round(sum(lengths) + mean * synthetic)
    price, calls = price_of(embedder), len(lengths) + synthetic
    dollars = None if price is None else price.dollars(tokens, 0, calls)
    seconds = model_info(embedder.address).seconds_per_call * calls
    return PlanRow(embedder.name, ORDINAL, calls, tokens, 0, dollars, seconds)
