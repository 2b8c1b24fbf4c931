"""What writing will take: one try for each text, and the questions that confirm it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from steelyard.lab.authoring.exemplars import exemplars
from steelyard.lab.authoring.prompts import BORDER, GRADE, MEANING, rendered, values_of
from steelyard.lab.authoring.roles import Roles
from steelyard.lab.authoring.validation import KEEPS_MEANING
from steelyard.lab.planner import ANSWER_TOKENS, CHARACTERS_PER_TOKEN, HTTP_SECONDS_PER_CALL, PlanRow
from steelyard.lab.prices import price_of
from steelyard.lab.study import Study
from steelyard.stimuli.authored.brief import AMBIGUOUS, LONG, ORDINAL, SHORT, Brief
from steelyard.trials.judge import Judge
from steelyard.trials.presentation import Message
from steelyard.trials.trial import Trial

LENGTHS = {LONG: 2.0, SHORT: 0.6}
"""Expected length of a text against the item's own; the same length otherwise."""


def writing_rows(study: Study, roles: Roles, briefs: Sequence[Brief]) -> list[PlanRow]:
    """Expected effort of author and validator for each probe, where every first try is good enough."""
    rows = []
    for probe in dict.fromkeys(brief.probe for brief in briefs):
        wanted = [brief for brief in briefs if brief.probe == probe]
        written = sum(LENGTHS.get(brief.goal, 1.0) * len(brief.item.responses[0]) for brief in wanted)
        asked = [_commission(study, roles, brief) for brief in wanted]
        rows.append(_row(roles.author, probe, asked, written / CHARACTERS_PER_TOKEN))
        questions = [messages for brief in wanted for messages in _questions(study, roles, brief)]
        rows.append(_row(roles.validator, probe, questions, ANSWER_TOKENS["json"] * len(questions)))
    return sorted(rows, key=lambda row: row.judge)


def _commission(study: Study, roles: Roles, brief: Brief) -> tuple[Message, ...]:
    """What the author is sent at the first try."""
    shown = exemplars(brief, study.items, study.seed) if brief.goal == ORDINAL else ()
    return rendered(roles.author, brief.goal, values_of(brief, study.task, exemplars=shown))


def _questions(study: Study, roles: Roles, brief: Brief) -> Iterable[tuple[Message, ...]]:
    """What the validator is sent; the item's own response stands in for the text."""
    text = brief.item.responses[0]
    if brief.goal == AMBIGUOUS:
        yield rendered(roles.validator, BORDER, values_of(brief, study.task, text=text))
        return
    stimulus = brief.fulfilled(text, study.task, roles.author.address)
    yield Trial(roles.validator, GRADE, stimulus, study.task).messages
    if brief.goal in KEEPS_MEANING:
        yield rendered(roles.validator, MEANING, values_of(brief, study.task, text=text))


def _row(model: Judge, probe: str, asked: Sequence[tuple[Message, ...]], tokens_out: float) -> PlanRow:
    characters = sum(len(message.content) for messages in asked for message in messages)
    tokens_in, price = round(characters / CHARACTERS_PER_TOKEN), price_of(model)
    dollars = None if price is None else price.dollars(tokens_in, round(tokens_out))
    seconds = HTTP_SECONDS_PER_CALL / 8 * len(asked)
    return PlanRow(model.name, probe, len(asked), tokens_in, round(tokens_out), dollars, seconds)
