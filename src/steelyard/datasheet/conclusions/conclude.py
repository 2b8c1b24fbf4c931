"""The verdict word of every measured judge (unfit, usable with care, no fault found), from its findings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from steelyard.datasheet.conclusion import (
    CARE,
    NO_FAULT,
    TOO_LITTLE,
    UNFIT,
    Conclusion,
    ConclusionReason,
    Finding,
)
from steelyard.datasheet.conclusions.reasons import (
    CAUSES,
    mostly_failed,
    mostly_lost,
    mostly_unreadable,
    plugin_reasons,
    same_answer,
    sentence,
)
from steelyard.datasheet.conclusions.rules import (
    BY_LENGTH,
    FAULTS,
    REASONS_OF_NO_MERIT,
    RIGHT,
    UNREADABLE,
    NoMerit,
    Rule,
    guide_to,
)
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.findings.merit import merit_figures
from steelyard.datasheet.findings.worth import goes_by_length
from steelyard.datasheet.judge_entry import JudgeEntry
from steelyard.datasheet.sections.remedies import is_refused
from steelyard.datasheet.words import titles
from steelyard.datasheet.words.numbers import defined
from steelyard.metrics.common import MERIT
from steelyard.metrics.faults import Fault, Faults
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE, MISSING_DECIDE
from steelyard.metrics.pairs.length import LENGTH_LEAN
from steelyard.stimuli.natural import NATURAL_PROBE

MOST_FACTS = 3
SMOKE = "A quick run finds gross faults only: measure at standard size before you rely on it."
UNDEFINED = "undefined"
PLUGGED = "The plug-in whose limit it breaks says what that means."
NOTHING_OPEN = "Nothing has to be cured."
STILL_OPEN = "What is undecided may still hide a fault."
NO_GROUND = "These data are too few for a decision."
NOT_MEASURED = "These data cannot show whether it can judge."
STILL_UNKNOWN = (
    "Do not use it yet: it has a fault, and these data do not show whether it can judge. "
    "Fix the fault, or measure more."
)
MOST_LOST = "Do not use it yet: most of its calls brought no verdict. Fix that, and measure again."
UNFINISHED = "Finish the run before you use it: a fault is shown, and not all calls were asked."
UNKNOWN = "Unknown"
NO_SERVER = "The server has to answer before the judge can be judged."


def conclusions_of(sheet: Datasheet, faults: Faults) -> Iterator[Conclusion]:
    for judge in sheet.judges:
        if not judge.baseline:
            mine = {finding.title: finding for finding in sheet.findings if finding.judge == judge.name}
            figures = JudgeEstimates(judge.name, sheet.look_up)
            waiting = sheet.facts.handed_in > 0
            refused = partial(_speaks_against, sheet, judge)
            evidence = JudgeEvidence(
                figures, mine, sheet.unfinished(judge.name), sheet.smoke_test, waiting, refused
            )
            yield faults.guarded(judge.name, "verdict", evidence.conclude, _conclusion_of_fault)


def _speaks_against(sheet: Datasheet, judge: JudgeEntry, title: str) -> bool:
    """Whether asking several times is no advice: the calls speak against it, or it is done already."""
    return bool(judge.members) or is_refused(sheet, judge.name, title)


def _conclusion_of_fault(fault: Fault) -> Conclusion:
    return Conclusion(fault.judge, TOO_LITTLE, so=f"The verdict {fault.note}.")


@dataclass(frozen=True)
class JudgeEvidence:
    figures: JudgeEstimates
    findings: Mapping[str, Finding]
    unfinished: str | None
    """`Partial: …` where some of its calls were never asked."""
    smoke_test: bool = False
    waiting: bool = False
    is_refused: Callable[[str], bool] = lambda _: False

    def conclude(self) -> Conclusion:
        if mostly_failed(self.figures):
            return self._unanswered()
        if self._word(titles.FAILURES) == FLAGGED and mostly_unreadable(self.figures):
            return self._conclusion(UNFIT, [self._fact(titles.FAILURES)], UNREADABLE)
        if self._word(titles.MERIT) == FLAGGED:
            return self._without_merit()
        faults = self._faults()
        known = {rule.name for rule in faults}
        flagged = [*(self._fact(rule.name, rule, known) for rule in faults), *plugin_reasons(self.figures)]
        if not self._merit_is_shown():
            facts = [*flagged[: MOST_FACTS - 1], *self._partial(), self._undecided_merit(), *self._open()]
            return self._conclusion(TOO_LITTLE, facts, self._no_ground(flagged))
        if not flagged:
            return self._faultless()
        if self.unfinished is not None:
            return self._conclusion(TOO_LITTLE, [*flagged[: MOST_FACTS - 1], *self._partial()], UNFINISHED)
        if goes_by_length(self.figures):
            facts = sorted(flagged, key=lambda fact: fact.title != titles.CUES)
            return self._conclusion(UNFIT, facts, BY_LENGTH)
        return self._conclusion(CARE, flagged, self._remedy(faults[0]) if faults else PLUGGED)

    def _remedy(self, rule: Rule) -> str:
        """What mends a fault, or what follows where the calls speak against that."""
        return rule.instead if rule.instead and self.is_refused(rule.name) else rule.remedy

    def _conclusion(self, word: str, facts: Sequence[ConclusionReason], so: str) -> Conclusion:
        return Conclusion(self.figures.judge, word, tuple(facts[:MOST_FACTS]), so)

    def _merit_is_shown(self) -> bool:
        """Merit is shown, on answers that are more than a remainder."""
        return self._word(titles.MERIT) == CLEAR and not mostly_lost(self.figures)

    def _without_merit(self) -> Conclusion:
        """One cause and what follows; all else that is flagged comes with it."""
        reason = next(reason for reason in REASONS_OF_NO_MERIT if self._explains(reason))
        brings = tuple(
            title
            for title, finding in self.findings.items()
            if finding.status == FLAGGED and title not in (reason.title, titles.MERIT)
        )
        told = sentence(self.findings[reason.title], self.figures)
        if reason.title == titles.MERIT and (same := same_answer(self.figures)):
            told = f"{same}; {told}"
        merit = ConclusionReason(titles.MERIT, sentence(self.findings[titles.MERIT], self.figures))
        facts = [ConclusionReason(reason.title, told, guide_to(reason.title), brings)]
        return self._conclusion(
            UNFIT, facts if reason.title == titles.MERIT else [*facts, merit], reason.follows
        )

    def _explains(self, reason: NoMerit) -> bool:
        if reason.flagged and self._word(reason.title) != FLAGGED:
            return False
        return reason.when is None or reason.when(self.figures)

    def _faults(self) -> list[Rule]:
        """Rules that apply and are not brought by another, the gravest first."""
        causes: list[Rule] = []
        for rule in FAULTS:
            brought = any(rule.title in cause.brings or rule.title == cause.title for cause in causes)
            if self._applies(rule) and not brought:
                causes.append(rule)
        return sorted(causes, key=lambda rule: rule.severity)

    def _applies(self, rule: Rule) -> bool:
        return self._word(rule.title) == FLAGGED and (rule.when is None or rule.when(self.figures))

    def _fact(self, name: str, rule: Rule | None = None, known: Collection[str] = ()) -> ConclusionReason:
        """What was found under a name, with the flagged findings that it brings beyond those in `known`."""
        title = name if rule is None else rule.title
        brings = () if rule is None else rule.brings
        describe = CAUSES.get(name) if name != title else None
        found = (describe(self.figures) if describe else None) or sentence(self.findings[title], self.figures)
        explained = tuple(
            other for other in brings if other != name and other not in known and self._word(other) == FLAGGED
        )
        return ConclusionReason(name, found, guide_to(name), explained)

    def _faultless(self) -> Conclusion:
        """Merit is shown and nothing is flagged: what is known to be right, and what is open."""
        right = [titles.MERIT, *(title for title in RIGHT if self._word(title) == CLEAR)]
        known = [ConclusionReason(title, sentence(self.findings[title], self.figures)) for title in right]
        undecided = [*self._undecidable_slot_bias(), *self._unknown_lengths(), *self._open()]
        facts = [*self._partial(), *known[: MOST_FACTS - len(undecided)], *undecided]
        if self.unfinished is not None:
            return self._conclusion(TOO_LITTLE, facts, NO_GROUND)
        return self._conclusion(
            NO_FAULT, facts, SMOKE if self.smoke_test else STILL_OPEN if undecided else NOTHING_OPEN
        )

    def _unanswered(self) -> Conclusion:
        facts = (ConclusionReason(titles.FAILURES, sentence(self.findings[titles.FAILURES], self.figures)),)
        return Conclusion(self.figures.judge, TOO_LITTLE, facts, NO_SERVER)

    def _partial(self) -> list[ConclusionReason]:
        if self.unfinished is None:
            return []
        became = "have ended, others wait in batches" if self.waiting else "were asked"
        return [ConclusionReason("Partial", f"{self.unfinished.removeprefix('Partial: ')} {became}")]

    def _undecided_merit(self) -> ConclusionReason:
        """That nobody asked whether it tells good from bad, or that the data could not tell."""
        finding = self.findings.get(titles.MERIT)
        if finding is None or finding.status == UNDEFINED:
            why = f": {finding.sentence}" if finding else self._other_prompts()
            return ConclusionReason(UNKNOWN, f"whether it tells good from bad was not measured{why}")
        if finding.status == CLEAR:
            return ConclusionReason(
                UNKNOWN,
                "most calls brought no verdict: whether it tells good from bad is known of the others only",
            )
        measured = merit_figures(self.figures, filter(defined, self.figures.merits()))
        same = same_answer(self.figures)
        lost = any(estimate.missing_decides for estimate in self.figures.merits())
        return ConclusionReason(
            UNKNOWN,
            f"{f'{same}; ' if same else ''}whether it tells good from bad is undecided on these data: "
            f"{measured}{f'; {MISSING_DECIDE}' if lost else ''}",
        )

    def _other_prompts(self) -> str:
        """That every call was made with another prompt than the one that is judged."""
        prompts = self.figures.protocols(MERIT.id)
        if not prompts or "base" in prompts:
            return ""
        named = ", ".join(prompts[:MOST_FACTS]) + (", …" if len(prompts) > MOST_FACTS else "")
        return f" with the prompt “base”, which a verdict is of; it was with others ({named})"

    def _no_ground(self, flagged: Sequence[ConclusionReason]) -> str:
        """What keeps the judge from a better word: its own lost calls, a fault, or data that are too few."""
        if mostly_lost(self.figures):
            return MOST_LOST
        if flagged:
            return STILL_UNKNOWN
        return NOT_MEASURED if self._word(titles.MERIT) in (None, UNDEFINED) else NO_GROUND

    def _open(self) -> list[ConclusionReason]:
        undecided = dict.fromkeys(rule.title for rule in FAULTS if self._undecided(rule.title))
        listed = ", ".join(title.lower() for title in undecided)
        return [ConclusionReason("Undecided", f"too few data to decide: {listed}")] if listed else []

    def _undecidable_slot_bias(self) -> list[ConclusionReason]:
        """That a bias of pairs cannot be told from these data, as where each was asked in one order."""
        hidden = self.findings.get(titles.NATURAL_PAIRS)
        if hidden is None or hidden.status != UNDEFINED:
            return []
        return [
            ConclusionReason(
                "Undecided", f"these data cannot show whether it favours a slot: {hidden.sentence}"
            )
        ]

    def _unknown_lengths(self) -> list[ConclusionReason]:
        """That a count of words would look the same, as on recorded pairs without their texts."""
        natural = self.figures.of_probe(NATURAL_PROBE, MERIT.id, protocol="base")
        lean = self.figures.of_probe(NATURAL_PROBE, LENGTH_LEAN.id, protocol="base")
        if natural is None or lean is not None:
            return []
        why = "no pair has texts of known and different length"
        return [ConclusionReason("Undecided", f"these data cannot show whether it goes by length: {why}")]

    def _undecided(self, title: str) -> bool:
        return self._word(title) == INCONCLUSIVE

    def _word(self, title: str) -> str | None:
        finding = self.findings.get(title)
        return None if finding is None else finding.status
