"""The verdict on every measured judge, from its readings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.look_up import Figures
from steelyard.datasheet.reading import Reading
from steelyard.datasheet.verdict import CARE, NO_FAULT, TOO_LITTLE, UNFIT, Fact, Verdict
from steelyard.datasheet.verdicts.facts import mostly_failed, mostly_lost, plugged, sentence
from steelyard.datasheet.verdicts.rules import FAULTS, RIGHT, Gravity, Rule
from steelyard.datasheet.words import titles
from steelyard.metrics.faults import Fault, Faults
from steelyard.metrics.findings import CLEAR, FLAGGED, UNDERPOWERED

MOST_FACTS = 3
"""Facts that a verdict shows."""
SMOKE = "This is a smoke test: it can show a fault, and clears the judge of none."
UNDEFINED = "undefined"
"""The word of a reading whose figure cannot be formed."""
PLUGGED = "The plug-in whose limit it breaks says what that means."
NOTHING_OPEN = "Nothing has to be cured."
STILL_OPEN = "What is undecided may still hide a fault."
NO_GROUND = "Neither trust nor blame it on these data."
NO_SERVER = "The server has to answer before the judge can be judged."


def verdicts_of(sheet: Datasheet, faults: Faults) -> Iterator[Verdict]:
    """One verdict for each measured judge."""
    for judge in sheet.judges:
        if not judge.baseline:
            mine = {reading.title: reading for reading in sheet.readings if reading.judge == judge.name}
            figures = Figures(judge.name, sheet.look_up)
            waiting = sheet.facts.handed_in > 0
            case = Case(figures, mine, sheet.unfinished(judge.name), sheet.smoke_test, waiting)
            yield faults.guarded(judge.name, "verdict", case.verdict, _unsaid)


def _unsaid(fault: Fault) -> Verdict:
    return Verdict(fault.judge, TOO_LITTLE, so=f"The verdict {fault.note}.")


@dataclass(frozen=True)
class Case:
    """What is known of one judge."""

    figures: Figures
    """Its figures."""
    readings: Mapping[str, Reading]
    """Its readings by title."""
    unfinished: str | None
    """`Partial: …` where some of its calls were never asked."""
    smoke_test: bool = False
    """True for a run that is too small to clear a judge of anything."""
    waiting: bool = False
    """True where calls of the run wait in batches."""

    def verdict(self) -> Verdict:
        """The word, the facts and what follows."""
        if mostly_failed(self.figures):
            return self._unanswered()
        faults, others = self._faults(), plugged(self.figures)
        if not faults and not others:
            return self._faultless()
        grave = [rule for rule in faults if self._gravity(rule) == Gravity.USELESS]
        remedy = faults[0].remedy if faults else PLUGGED
        word, so = (UNFIT, grave[0].when_useless) if grave else (CARE, remedy)
        if not grave and (not self._heard() or mostly_lost(self.figures)):
            word = TOO_LITTLE  # hardly anything that it said could be used, and too little to blame it
        facts = [*map(self._fact, faults), *others, *self._unknown()]
        return Verdict(self.figures.judge, word, tuple(facts[:MOST_FACTS]), so)

    def _heard(self) -> bool:
        """Whether any reading but that of its failures rests on an answer."""
        others = (reading for title, reading in self.readings.items() if title != titles.FAILURES)
        return any(reading.word != UNDEFINED for reading in others)

    def _faults(self) -> list[Rule]:
        """Rules that apply and are not brought by another, the gravest first."""
        causes: list[Rule] = []
        for rule in FAULTS:
            brought = any(rule.title in cause.brings or rule.title == cause.title for cause in causes)
            if self._applies(rule) and not brought:
                causes.append(rule)
        return sorted(causes, key=self._gravity)

    def _applies(self, rule: Rule) -> bool:
        return self._word(rule.title) == FLAGGED and (rule.when is None or rule.when(self.figures))

    def _gravity(self, rule: Rule) -> Gravity:
        """That of the gravest rule that it stands for."""
        stands_for = (each for each in FAULTS if each.title in rule.brings and self._applies(each))
        return min([rule.gravity, *(each.gravity for each in stands_for if each.gravity == Gravity.USELESS)])

    def _fact(self, rule: Rule) -> Fact:
        brings = tuple(title for title in rule.brings if self._word(title) == FLAGGED)
        return Fact(rule.title, sentence(self.readings[rule.title], self.figures), rule.guide, brings)

    def _faultless(self) -> Verdict:
        """Nothing is flagged: what is known to be right, and what is open."""
        right = [title for title in RIGHT if self._word(title) in (CLEAR, "measured")]
        known = [Fact(title, sentence(self.readings[title], self.figures)) for title in right]
        undecided = dict.fromkeys(rule.title for rule in FAULTS if self._undecided(rule.title))
        facts = tuple([*self._partial(), *known, *self._unknown(), *self._open(undecided)][:MOST_FACTS])
        if self.unfinished is not None or not right:
            return Verdict(self.figures.judge, TOO_LITTLE, facts, NO_GROUND)
        so = SMOKE if self.smoke_test else STILL_OPEN if undecided else NOTHING_OPEN
        return Verdict(self.figures.judge, NO_FAULT, facts, so)

    def _unanswered(self) -> Verdict:
        facts = (Fact(titles.FAILURES, sentence(self.readings[titles.FAILURES], self.figures)),)
        return Verdict(self.figures.judge, TOO_LITTLE, facts, NO_SERVER)

    def _partial(self) -> list[Fact]:
        if self.unfinished is None:
            return []
        became = "have ended, others wait in batches" if self.waiting else "were asked"
        return [Fact("Partial", f"{self.unfinished.removeprefix('Partial: ')} {became}")]

    def _unknown(self) -> list[Fact]:
        """That nobody asked whether it tells good from bad, or that the data could not tell."""
        asked = [self.readings[title] for title in RIGHT if title in self.readings]
        if self.smoke_test and asked and all(reading.word == UNDERPOWERED for reading in asked):
            return [Fact("Unknown", "whether it tells good from bad is undecided in this smoke test")]
        if any(reading.word != UNDEFINED for reading in asked):
            return []
        why = f": {asked[0].sentence}" if asked else ""
        return [Fact("Unknown", f"whether it tells good from bad was not measured{why}")]

    def _open(self, undecided: Iterable[str]) -> list[Fact]:
        """What the data cannot tell yet."""
        listed = ", ".join(title.lower() for title in undecided)
        return [Fact("Undecided", f"undecided for want of data: {listed}")] if listed else []

    def _undecided(self, title: str) -> bool:
        return self._word(title) == UNDERPOWERED

    def _word(self, title: str) -> str | None:
        reading = self.readings.get(title)
        return None if reading is None else reading.word
