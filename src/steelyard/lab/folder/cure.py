"""The judge that a remedy makes of a measured one: as a command writes it, and the calls that it takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import yaml

from steelyard.arrays import Ints
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.sections.remedies import remedy_for
from steelyard.datasheet.verdict import CARE, Verdict
from steelyard.lab.run.planner import Plan, calls_of
from steelyard.lab.study.made_judges import Given, MadeJudge, address_of
from steelyard.lab.study.study import Study
from steelyard.trials.calls import repeats_behind
from steelyard.trials.judge import Judge
from steelyard.trials.trial import calls_behind
from steelyard.trials.trials import Trials


@dataclass(frozen=True)
class Cure:
    """A cured judge of a study."""

    definition: str
    """As a study file has it."""
    title: str
    """What is done."""
    judge: Judge
    """The judge, made of judges of the study."""

    @classmethod
    def of(cls, sheet: Datasheet, verdict: Verdict, study: Study) -> Cure | None:
        """The remedy for what weighs most against a judge, where it is a judge that can be measured."""
        if verdict.word != CARE or not verdict.facts:
            return None
        cured = remedy_for(sheet, verdict.judge, verdict.facts[0].title)
        if cured is None or cured.definition is None:
            return None
        known = {judge.name: judge for judge in study.judges}

        def parse(given: Given) -> Judge:
            made = MadeJudge.of(given)
            assert made is not None, given
            return made.judge(parse, known, study.task.scale)

        return cls(cured.definition, cured.title, parse(yaml.safe_load(cured.definition)))

    def address(self, written: Mapping[str, str]) -> str | None:
        """As the command line has it, its members as they were written there; None where it can not."""
        body: Any = yaml.safe_load(self.definition)
        return address_of(body, written)

    def calls_in(self, study: Study, beside: Iterable[Judge] = ()) -> int:
        """Calls on the built-in stimuli, with those of other judges beside."""
        return sum(calls_of(study, (*beside, self.judge)))

    def calls_on(self, plan: Plan, beside: Iterable[Judge] = ()) -> int:
        """Calls on what the judges behind it were shown in a run, with those of other judges beside."""
        asked = {one.name for one in self.judge.asked}
        judges = {judge.name: judge for judge in beside}
        shown, made = dict[tuple[str, str, str], int](), list[Ints]()
        every = [self.judge, *judges.values()]
        span = (1 + int(plan.trials.replicate.max(initial=0))) * max(one.calls_per_verdict for one in every)
        for name in {*asked, *judges}:
            mine = plan.trials.rows(plan.trials.of_judge(name))
            each = [self.judge] if name in asked else []
            each += [judges[name]] if name in judges else []
            for one in each:
                for place, replicate in enumerate(repeats_behind(one, mine.replicate)):
                    made.append(_numbered(mine, one, place, shown) * span + replicate)
        return len(np.unique(np.concatenate(made))) if made else 0


def _numbered(trials: Trials, judge: Judge, place: int, shown: dict[tuple[str, str, str], int]) -> Ints:
    """What one of a judge's calls on each trial shows, numbered; repeats have the same number."""
    numbers = np.zeros(len(trials.questions), dtype=np.int64)
    for number in trials.numbers:
        trial = trials.questions[number]
        member, order, _ = list(calls_behind(judge, trial.order, 0))[place]
        what = member.fingerprint(trial.protocol), trial.stimulus.id, order
        numbers[number] = shown.setdefault(what, len(shown))
    numbered: Ints = numbers[trials.question]
    return numbered
