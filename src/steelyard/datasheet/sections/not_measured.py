"""Questions that a run leaves unanswered, and the column or option that would answer each."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.judge_entry import RECORDED
from steelyard.datasheet.questions.question import UNDEFINED, Way
from steelyard.datasheet.questions.questions import QUESTIONS
from steelyard.datasheet.questions.robustness import ROBUSTNESS
from steelyard.datasheet.words.text import fitted
from steelyard.metrics.run.agent_runs import PROBE as RUNS


def not_measured(sheet: Datasheet) -> list[tuple[str, str]]:
    """Titles of questions that no judge of the sheet has an answer to, each with what would give one."""
    return list(_not_measured(sheet))


def _not_measured(sheet: Datasheet) -> Iterator[tuple[str, str]]:
    answered = {d.question.name for d in sheet.findings if d.status != UNDEFINED}
    of_agents = any(estimate.probe == RUNS for estimate in sheet.estimates)
    for question in QUESTIONS:
        way = next((way for way in question.ways if _fits(way, sheet)), None)
        # Runs of agents have edits of their own, which the question on runs is about.
        beside = of_agents and question is ROBUSTNESS
        if way is not None and question.name not in answered and not beside:
            yield question.title, way.words


def _fits(way: Way, sheet: Datasheet) -> bool:
    recorded = any(judge.model == RECORDED for judge in sheet.judges if not judge.baseline)
    if any(estimate.metric == way.unless and estimate.value is not None for estimate in sheet.estimates):
        return False
    of_form, of_data = way.form in (None, sheet.form), way.own_data in (None, sheet.own_data)
    return way.recorded == recorded and of_form and of_data


def not_measured_text(sheet: Datasheet, width: int | None = None) -> str:
    """`Not measured: goes by length (column words, or text); …`; empty where nothing is left out.

    With a width, as many as one line has room for, and how many more there are.
    """
    found = [f"{title} ({words})" for title, words in not_measured(sheet)]
    return fitted("Not measured", found, len(found), width)
