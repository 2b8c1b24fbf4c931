"""When the word on a judge is decided, so that a run may stop before the largest profile.

`measure --until verdict` looks at the sheet of each profile in turn. Limits that err in 5 % of runs at one
look err more often at one of three, so the 5 % are spent beforehand, a third on each look: by Bonferroni, a
claim that is false holds at some look in at most 3 · 5 % / 3 = 5 % of runs, however the looks, whose calls
are nested, depend on each other. Merit and flags are the claims that a word makes, so a word is decided where
the sheet says it and would say it with limits that err in 5 % / 3 = 1.7 % of runs:

    unfit             merit is refuted, or hardly any reply can be read
    usable with care  merit is shown, and a fault is flagged
    no fault found    merit is shown, and the sheet leaves nothing open that could draw answers from quality

"No fault found" claims no absence of faults: what the sheet calls clear has the error of one sheet. "Too
little data" is never decided. Where the largest profile is reached the ordinary sheet stands, whatever is
open.
"""

from __future__ import annotations

from dataclasses import replace

from steelyard.datasheet.conclude import concluded
from steelyard.datasheet.conclusion import JSON_WORDS, NO_FAULT, TOO_LITTLE, Conclusion
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.questions.causes import Advice
from steelyard.datasheet.questions.merit import MERIT as MERIT_QUESTION
from steelyard.datasheet.questions.question import UNDEFINED, Decision, Severity
from steelyard.datasheet.questions.questions import FAULTS
from steelyard.datasheet.run_facts import DECIDED, FAILING, LARGEST, UNASKED, ProfileLook
from steelyard.datasheet.words.glossary import metric_named
from steelyard.metrics.findings import FLAGGED, INCONCLUSIVE, at_alpha
from steelyard.metrics.merit import merit_estimates
from steelyard.metrics.proportions import MERIT
from steelyard.metrics.stats.intervals import ALPHA
from steelyard.stimuli.ladder import PROFILES
from steelyard.verdicts.observations import Observations

ERROR = ALPHA / len(PROFILES)
"""Error that is spent on one look."""
GRAVE = {question.name for question, fault in FAULTS if fault.severity == Severity.BIASED}
"""Questions on what could draw answers away from quality."""


def look_at(sheet: Datasheet, observations: Observations, calls: int) -> ProfileLook:
    """What the sheet of a profile says of every judge, and whether it may be the last; calls are all made."""
    strict = _strict(sheet, observations)
    open_ = {
        verdict.judge: still
        for verdict, again in zip(sheet.verdicts, strict.verdicts, strict=True)
        if (still := _open(sheet, strict, verdict, again))
    }
    words = {verdict.judge: JSON_WORDS[verdict.word] for verdict in sheet.verdicts}
    return ProfileLook(sheet.profile, calls, words, open_, _end(sheet, open_))


def _strict(sheet: Datasheet, observations: Observations) -> Datasheet:
    """The sheet with the limits of one look."""
    baselines = {judge.name: observations.of_judge(judge.name) for judge in sheet.judges if judge.baseline}
    estimates = [
        at_alpha(estimate, metric_named(estimate.metric).limit, ERROR)
        for estimate in sheet.estimates
        if estimate.metric != MERIT.id
    ]
    for judge in sheet.judges:
        if not judge.baseline:
            mine = observations.of_judge(judge.name)
            estimates += merit_estimates(judge.name, mine, baselines, sheet.seed, ERROR)
    return concluded(replace(sheet, estimates=tuple(estimates)))


def _open(sheet: Datasheet, strict: Datasheet, verdict: Conclusion, again: Conclusion) -> tuple[str, ...]:
    """Titles of what keeps a word from being decided; none where it is."""
    usual, stricter = (_decisions(each, verdict.judge) for each in (sheet, strict))
    if TOO_LITTLE in (verdict.word, again.word):
        return (MERIT_QUESTION.title,)
    if verdict.word == NO_FAULT:
        return tuple(
            each.row_title
            for each in usual.values()
            if each.question.name in GRAVE and each.counts and each.status == INCONCLUSIVE
        )
    if verdict.word == again.word:
        return ()
    return tuple(
        each.row_title
        for title, each in usual.items()
        if each.status == FLAGGED and (title not in stricter or stricter[title].status != FLAGGED)
    )


def _decisions(sheet: Datasheet, judge: str) -> dict[str, Decision]:
    return {decision.title: decision for decision in sheet.findings if decision.judge == judge}


def _end(sheet: Datasheet, open_: dict[str, tuple[str, ...]]) -> str | None:
    """Why the profile is the last; None where a larger one may decide more."""
    if not open_:
        return DECIDED
    if any(verdict.advice is Advice.NO_SERVER for verdict in sheet.verdicts):
        return FAILING
    merits = (_decisions(sheet, judge).get(MERIT_QUESTION.name) for judge in open_)
    if all(merit is None or merit.status == UNDEFINED for merit in merits):
        return UNASKED
    return LARGEST if sheet.profile == PROFILES[-1] else None
