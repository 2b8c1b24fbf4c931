"""Where a judge stands among people, by the rule as the guide has it."""

from __future__ import annotations

from steelyard.survey.people import JudgeAmongPeople


def word_of(judge: JudgeAmongPeople, epsilon: float) -> str:
    """The word that ω and the interval of the gap allow, 0 being a person's own place."""
    gap, omega = judge.gap, judge.winning_rate
    if gap is None or gap.low is None or gap.high is None or omega is None:
        return "undecided"
    if gap.high < 0:
        return f"below the ceiling{', within epsilon' if -epsilon < gap.low else ''}"
    return "at the ceiling" if gap.low > -epsilon and omega >= 0.5 else "undecided"
