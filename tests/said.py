"""Decisions, facts and clauses for tests, and what they say."""

from __future__ import annotations

from steelyard.datasheet.clause import Clause, ClauseFigure, Phrase, say
from steelyard.datasheet.conclusion import Fact
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.questions.causes import Cause
from steelyard.datasheet.questions.question import Counts, Decision, Question
from steelyard.datasheet.questions.questions import QUESTIONS
from steelyard.datasheet.render.clauses import text


def question(name: str) -> Question:
    """The question of that name, or one that nobody asks."""
    known = (each for each in QUESTIONS if each.name == name)
    return next(known, Question(name, name.lower(), lambda *_: None, Counts.FAULT))


def decision(judge: str, name: str, status: str, words: str = "it is so") -> Decision:
    title, _, protocol = name.partition(", ")
    return Decision(judge, question(title), status, Clause(say(words)), protocol=protocol or "base")


def fact(title: str, lead: str, figures: str = "") -> Fact:
    cause = next((cause for cause in Cause if cause.title == title), None)
    return Fact(title, Clause(say(lead), say(figures)), cause)


def answered(name: str, figures: JudgeEstimates, protocol: str = "base") -> tuple[str, str] | None:
    """Status and whole sentence of a question's answer; None where nobody asked."""
    found = [each for each in question(name).decisions(figures) if each.protocol == protocol]
    return (found[0].status, text(found[0].clause.whole)) if found else None


def clause(name: str, figures: JudgeEstimates) -> Clause:
    """What the first answer to a question says."""
    return question(name).decisions(figures)[0].clause


def figures_in(phrase: Phrase) -> list[ClauseFigure]:
    return [part for part in phrase if isinstance(part, ClauseFigure)]
