"""The overall verdict on every judge: a word (unfit, usable with care, no fault found), from its decisions.

Merit comes first: a judge that is shown not to tell good from bad is unfit, whatever else is flagged, and the
cause is named by the first rule of `REASONS_OF_NO_MERIT` that applies. A judge that prefers a padded text to
one that is two quality steps better, with its whole interval, goes by length and is unfit too. Where merit is
shown, the faults are listed: first what draws answers away from quality, then what makes them imprecise. When
one fault explains another, only the cause is listed: a judge that always names the first text also prefers
one of two identical texts; one remedy is due, not two.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from steelyard.core.text import listed
from steelyard.datasheet.clause import Clause, say
from steelyard.datasheet.conclusion import CARE, NO_FAULT, TOO_LITTLE, UNFIT, Conclusion, Fact
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.numbers import defined
from steelyard.datasheet.questions.causes import Advice, Cause, Statement, statements, unless_stated
from steelyard.datasheet.questions.cues import CUES, LENGTH, goes_by_length
from steelyard.datasheet.questions.expected_answers import EXPECTED, ROTATION, misses_accepted_texts
from steelyard.datasheet.questions.labels import ACCURACY
from steelyard.datasheet.questions.merit import (
    MERIT,
    SENSITIVITY,
    merit_figures,
    merit_is_reversed,
    mostly_ties,
    same_answer,
    shown_by_author_alone,
    undecided_merit,
)
from steelyard.datasheet.questions.pairs import NATURAL_PAIRS, POSITION
from steelyard.datasheet.questions.question import UNDEFINED, Counts, Decision, Fault, Question
from steelyard.datasheet.questions.questions import FAULTS, decisions_of
from steelyard.datasheet.questions.run import FAILURES, HALF, lost_share, mostly_failed, mostly_unreadable
from steelyard.datasheet.sections.remedies import recommended_kind, repeats_for
from steelyard.metrics.faults import Faults, FigureFault
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE
from steelyard.metrics.merit import LADDER
from steelyard.metrics.pairs.length import LENGTH_LEAN
from steelyard.metrics.proportions import MERIT as MERIT_METRIC
from steelyard.metrics.scores.edited_texts import authorship
from steelyard.stimuli.agent_edits import BREAKING
from steelyard.stimuli.original import NATURAL_PROBE

MOST_FACTS = 3
RIGHT = (SENSITIVITY, EXPECTED, ACCURACY)
"""Questions that say how well a judge with merit tells good from bad."""


@dataclass(frozen=True)
class NoMerit:
    question: Question
    follows: Advice
    when: Callable[[JudgeEstimates], bool] | None = None
    """None where the question has to be flagged."""


REASONS_OF_NO_MERIT = (
    NoMerit(LENGTH, Advice.BY_LENGTH),
    NoMerit(MERIT, Advice.REVERSED, merit_is_reversed),
    NoMerit(POSITION, Advice.BY_SLOT),
    NoMerit(NATURAL_PAIRS, Advice.BY_SLOT),
    NoMerit(ROTATION, Advice.BY_SLOT),
    NoMerit(MERIT, Advice.USELESS, lambda figures: same_answer(figures) is not None),
    NoMerit(MERIT, Advice.NO_CHOICE, mostly_ties),
    NoMerit(MERIT, Advice.USELESS),
)
"""The first that applies is told; merit is flagged where they are asked."""


def concluded(sheet: Datasheet, faults: Faults | None = None) -> Datasheet:
    """The sheet with its decisions and conclusions, from nothing but its figures and the facts of its run."""
    guard = Faults() if faults is None else faults
    decided = replace(sheet, findings=tuple(decisions_of(sheet.judges, sheet.estimates, guard)))
    return replace(decided, verdicts=tuple(conclusions_of(decided, guard)))


def conclusions_of(sheet: Datasheet, faults: Faults) -> Iterator[Conclusion]:
    for judge in sheet.judges:
        if not judge.baseline:
            mine = {
                d.question.name: d for d in sheet.findings if d.judge == judge.name and d.protocol == "base"
            }
            evidence = JudgeEvidence(
                JudgeEstimates(judge.name, sheet.look_up),
                mine,
                sheet.unfinished(judge.name),
                sheet.smoke_test,
                sheet.facts.handed_in > 0,
                partial(_remedy_kind, sheet, judge),
                partial(_offers_repeats, sheet, judge),
                statements(next((card for card in sheet.instruments if card.judge == judge.name), None)),
            )
            found = faults.guarded(judge.name, "verdict", evidence.conclude, _conclusion_of_fault)
            yield replace(found, next=sheet.next_steps.get(judge.name))


def _remedy_kind(sheet: Datasheet, judge: JudgeEntry, decision: Decision, cause: Cause) -> str | None:
    """The kind of remedy that the calls recommend; none where it is one of several calls already."""
    return "" if judge.members else recommended_kind(sheet, decision, cause)


def _offers_repeats(sheet: Datasheet, judge: JudgeEntry, decision: Decision, cause: Cause) -> bool:
    return not judge.members and repeats_for(sheet, decision, cause) is not None


def _conclusion_of_fault(fault: FigureFault) -> Conclusion:
    why = Fact("Verdict", Clause(say(f"the verdict {fault.note}"), about_judge=False))
    return Conclusion(fault.judge, TOO_LITTLE, (why,), Advice.NOT_CONCLUDED)


@dataclass(frozen=True)
class JudgeEvidence:
    figures: JudgeEstimates
    decisions: Mapping[str, Decision]
    """By the name of their question."""
    unfinished: str | None
    """`12 of 60 calls` where some of its calls were never asked."""
    smoke_test: bool = False
    waiting: bool = False
    remedy_kind: Callable[[Decision, Cause], str | None] = lambda *_: None
    """Empty where the calls speak against every remedy of a fault, None where they tell of none."""
    offers_repeats: Callable[[Decision, Cause], bool] = lambda *_: False
    said: Collection[Statement] = ()
    """What its prompt or rubric says already."""

    def conclude(self) -> Conclusion:
        hidden = (fact.decision for fact in (*self._undecidable_slot_bias(), *self._unknown_lengths()))
        open_ = (*self._open(), *(decision for decision in hidden if decision is not None))
        return replace(self._choose_verdict(), undecided=open_)

    def _choose_verdict(self) -> Conclusion:
        if mostly_failed(self.figures):
            return self._conclusion(TOO_LITTLE, [self._fact(FAILURES)], Advice.NO_SERVER)
        if self._status(FAILURES) == FLAGGED and mostly_unreadable(self.figures):
            fact = self._fact(FAILURES, FAILURES.faults[-1])
            return self._conclusion(UNFIT, [fact], Advice.READABLE)
        if self._status(MERIT) == FLAGGED:
            return self._without_merit()
        if misses_accepted_texts(self.figures):
            return self._conclusion(UNFIT, [self._fact(EXPECTED, EXPECTED.faults[0])], Advice.MISSES_ANSWERS)
        faults = self._faults()
        decides = goes_by_length(self.figures) if self.unfinished is None else None
        known = {fault.cause.title for _, fault in faults}
        flagged = [*(self._fact(q, fault, known) for q, fault in faults), *self._plugin_facts()]
        if decides is not None:
            facts = sorted(flagged, key=lambda fact: fact.cause is not decides)
            return self._conclusion(UNFIT, facts, Advice.BY_LENGTH)
        if self._status(MERIT) != CLEAR or self._mostly_lost():  # answers that are no more than a remainder
            facts = [
                *flagged[: MOST_FACTS - 1],
                *self._partial(),
                self._undecided_merit(),
                *self._undecided(),
            ]
            return self._conclusion(TOO_LITTLE, facts, self._no_ground(flagged, faults))
        if not flagged:
            return self._faultless()
        if self.unfinished is not None:
            facts = [*flagged[: MOST_FACTS - 1], *self._partial()]
            return self._conclusion(TOO_LITTLE, facts, Advice.UNFINISHED)
        return self._conclusion(CARE, flagged, self._remedy(*faults[0]) if faults else Advice.PLUGIN)

    def _remedy(self, question: Question, fault: Fault) -> Advice:
        """What mends a fault, or what follows where the calls speak against that."""
        kind = self.remedy_kind(self.decisions[question.name], fault.cause)
        if kind == "" and fault.instead is not None:
            return fault.instead
        return dict(fault.others).get(kind or "", fault.remedy)

    def _conclusion(self, word: str, facts: Sequence[Fact], advice: Advice) -> Conclusion:
        advice = unless_stated(advice, self.said, self._cues_at_fault())
        return Conclusion(self.figures.judge, word, tuple(facts[:MOST_FACTS]), advice)

    def _cues_at_fault(self) -> list[str]:
        tests = self.decisions[CUES.name].tests if CUES.name in self.decisions else ()
        flagged = (test.estimate for test in tests if test.estimate.status == FLAGGED)
        return [str(estimate.group.get("cue")) for estimate in flagged]

    def _mostly_lost(self) -> bool:
        return lost_share(self.figures) > HALF

    def _without_merit(self) -> Conclusion:
        """One cause and what follows; all else that is flagged comes with it."""
        reason = next(reason for reason in REASONS_OF_NO_MERIT if self._explains(reason))
        brings = tuple(
            decision
            for decision in self.decisions.values()
            if decision.status == FLAGGED and decision.question not in (reason.question, MERIT)
        )
        merit = Fact(MERIT.name, self.decisions[MERIT.name].clause)
        if reason.question is not MERIT:
            fault = reason.question.faults[0]
            first = replace(self._fact(reason.question, fault), brings=brings)
            return self._conclusion(UNFIT, [first, merit], reason.follows)
        clause, same = merit.clause, same_answer(self.figures)
        if same and not merit_is_reversed(self.figures):
            always, counted = same
            known = [estimate for estimate in self.figures.merits() if defined(estimate)]
            measured = say(f": {counted}{{}}", merit_figures(self.figures, known))
            clause = replace(clause, lead=say("{} and {}", always, clause.lead), figures=measured)
        return self._conclusion(
            UNFIT, [replace(merit, clause=clause, cause=Cause.MERIT, brings=brings)], reason.follows
        )

    def _explains(self, reason: NoMerit) -> bool:
        if reason.when is None:
            return self._status(reason.question) == FLAGGED
        return reason.when(self.figures)

    def _faults(self) -> list[tuple[Question, Fault]]:
        """Faults that apply and are not brought by another, the gravest first."""
        causes: list[tuple[Question, Fault]] = []
        for question, fault in FAULTS:
            brought = any(
                question is known or question.name in {cause.title for cause in each.brings}
                for known, each in causes
            )
            applies = fault.when is None or fault.when(self.figures)
            if not brought and self._status(question) == FLAGGED and applies:
                causes.append((question, fault))
        return sorted(causes, key=lambda each: each[1].cause.severity)

    def _fact(self, question: Question, fault: Fault | None = None, known: Collection[str] = ()) -> Fact:
        """What was found, with the flagged decisions that the fault brings beyond those in `known`."""
        decision = self.decisions[question.name]
        if fault is None:
            return Fact(question.name, decision.clause)
        clause = (fault.clause(self.figures) if fault.clause else None) or decision.clause
        brought = (each.title for each in fault.brings if each.title not in (fault.cause.title, *known))
        brings = (self.decisions.get(title) for title in brought)
        explained = tuple(each for each in brings if each is not None and each.status == FLAGGED)
        return Fact(fault.cause.title, clause, fault.cause, explained)

    def _plugin_facts(self) -> list[Fact]:
        """Flagged questions of plug-ins, which say themselves what follows."""
        named = {question.name for question, _ in FAULTS}
        return [
            Fact(decision.question.name, decision.clause)
            for decision in self.decisions.values()
            if decision.counts
            and decision.status == FLAGGED
            and decision.question.name not in {*named, MERIT.name}
        ]

    def _faultless(self) -> Conclusion:
        """Merit is shown and nothing is flagged: what is known to be right, and what is open."""
        right = [MERIT, *(question for question in RIGHT if self._status(question) == CLEAR)]
        undecided = [*self._undecidable_slot_bias(), *self._unknown_lengths(), *self._undecided()]
        known = [self._fact(question) for question in right][: MOST_FACTS - len(undecided)]
        facts = [*self._partial(), *known, *undecided]
        if self.unfinished is not None:
            return self._conclusion(TOO_LITTLE, facts, Advice.NO_GROUND)
        if (merit := shown_by_author_alone(self.figures)) is not None:
            facts = [*known[: MOST_FACTS - 1], _open_fact("Written texts", authorship(merit))]
            by_rule = merit.probe in BREAKING
            return self._conclusion(CARE, facts, Advice.LABEL_RUNS if by_rule else Advice.HAVE_ACCEPTED)
        rest = Advice.STILL_OPEN if undecided else Advice.NOTHING_OPEN
        if self.smoke_test:
            on_ladder = self.figures.of_probe(LADDER, MERIT_METRIC.id, protocol="base")
            blind = on_ladder is not None and LENGTH.name not in self.decisions
            rest = Advice.SMOKE_NO_LENGTH if blind else Advice.SMOKE
        return self._conclusion(NO_FAULT, facts, rest)

    def _partial(self) -> list[Fact]:
        if self.unfinished is None:
            return []
        became = "have ended, others wait in batches" if self.waiting else "were asked"
        return [_open_fact("Partial", f"{self.unfinished} {became}")]

    def _undecided_merit(self) -> Fact:
        """That nobody asked whether it tells good from bad, or that the data could not tell."""
        decision = self.decisions.get(MERIT.name)
        if decision is None:
            return _open_fact(
                "Unknown", f"whether it tells good from bad was not measured{self._other_prompts()}"
            )
        if decision.status == UNDEFINED:
            opening = say("whether it tells good from bad was not measured: {}", decision.clause.whole)
            return Fact("Unknown", Clause(opening, about_judge=False))
        if decision.status == CLEAR:
            lost = "most calls brought no verdict: whether it tells good from bad is known of the others only"
            return _open_fact("Unknown", lost)
        return Fact("Unknown", undecided_merit(self.figures))

    def _other_prompts(self) -> str:
        """That every call was made with another prompt than the one that is judged."""
        prompts = self.figures.protocols(MERIT_METRIC.id)
        if not prompts or "base" in prompts:
            return ""
        named = ", ".join(prompts[:MOST_FACTS]) + (", …" if len(prompts) > MOST_FACTS else "")
        return f" with the prompt “base”, which a verdict is of; it was with others ({named})"

    def _no_ground(self, flagged: Sequence[Fact], faults: Sequence[tuple[Question, Fault]]) -> Advice:
        """What keeps the judge from a better word: its own lost calls, a fault, or data that are too few."""
        if self._mostly_lost():
            return Advice.MOST_LOST
        noisy = (self.offers_repeats(self.decisions[q.name], fault.cause) for q, fault in faults)
        if self._status(MERIT) == INCONCLUSIVE and any(noisy):
            return Advice.STILL_NOISY
        if flagged:
            return Advice.STILL_UNKNOWN
        unmeasured = self._status(MERIT) in (None, UNDEFINED)
        return Advice.NOT_MEASURED if unmeasured else Advice.NO_GROUND

    def _open(self) -> Iterator[Decision]:
        mine = (d for d in self.decisions.values() if d.counts and not d.by_chance)
        return (decision for decision in mine if decision.status == INCONCLUSIVE)

    def _undecided(self) -> list[Fact]:
        titles = [d.printed_name for d in self._open() if d.question.counts is Counts.FAULT]
        return [_open_fact("Undecided", f"too few data to decide: {listed(titles)}")] if titles else []

    def _undecidable_slot_bias(self) -> list[Fact]:
        """That a bias of pairs cannot be told from these data, as where each was asked in one order."""
        hidden = self.decisions.get(NATURAL_PAIRS.name)
        if hidden is None or hidden.status != UNDEFINED:
            return []
        opening = say("these data cannot show whether it favours a slot")
        clause = Clause(opening, say(": {}", hidden.clause.whole), about_judge=False)
        return [Fact("Undecided", clause, decision=hidden)]

    def _unknown_lengths(self) -> list[Fact]:
        """That a count of words would look the same, as on recorded pairs without their texts."""
        natural = self.figures.of_probe(NATURAL_PROBE, MERIT_METRIC.id, protocol="base")
        lean = self.figures.of_probe(NATURAL_PROBE, LENGTH_LEAN.id, protocol="base")
        if natural is None or lean is not None:
            return []
        opening = say("these data cannot show whether it goes by length")
        clause = Clause(opening, say(": no pair has texts of known and different length"), about_judge=False)
        decision = Decision(self.figures.judge, LENGTH, UNDEFINED, clause)
        return [Fact("Undecided", clause, decision=decision)]

    def _status(self, question: Question) -> str | None:
        decision = self.decisions.get(question.name)
        return None if decision is None else decision.status


def _open_fact(title: str, words: str) -> Fact:
    return Fact(title, Clause(say(words), about_judge=False))
