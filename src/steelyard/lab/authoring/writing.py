"""The question that is put to an author."""

from __future__ import annotations

from steelyard.lab.authoring.draft import Draft
from steelyard.lab.authoring.exemplars import exemplars
from steelyard.lab.authoring.prompts import rendered, values_of
from steelyard.lab.authoring.roles import Roles
from steelyard.lab.study.study import Study
from steelyard.trials.exchange import AUTHOR, Exchange
from steelyard.trials.judge import Judge
from steelyard.trials.presentation import Slots


def author_exchange(model: Judge, draft: Draft, attempt: int, roles: Roles, study: Study) -> Exchange:
    """What to write, with what was wrong with the try before and examples of the score where they help."""
    brief = draft.brief
    shown = exemplars(brief, study, roles.exemplars)
    values = values_of(brief, draft.task, exemplars=shown, feedback=draft.feedback)
    return Exchange(
        role=AUTHOR,
        judge=model,
        protocol=brief.goal,
        brief=brief.name,
        messages=rendered(model, brief.goal, values),
        decoding=roles.decoding(attempt),
        slots=Slots(brief.item.request, brief.item.responses),
        attempt=attempt,
    )
