"""The judge that a remedy makes of a measured one: as a command writes it, and the calls that it takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import yaml

from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.sections.remedies import remedy_for
from steelyard.datasheet.verdict import CARE, Verdict
from steelyard.runner.planner import Plan, calls_of
from steelyard.study.made_judges import Given, MadeJudge, address_of
from steelyard.study.study import Study
from steelyard.trials.call_count import CallCount
from steelyard.trials.judge import Judge


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

    def shown_in(self, plan: Plan) -> bool:
        """Whether every judge behind it was measured itself, so that a plan shows what each is asked."""
        return {one.name for one in self.judge.asked} <= {judge.name for judge in plan.trials.judges}

    def calls_on(self, plan: Plan, beside: Iterable[Judge] = ()) -> int:
        """Calls on what the judges behind it were shown in a run, with those of other judges beside."""
        asked = {one.name for one in self.judge.asked}
        judges = {judge.name: judge for judge in beside}
        trials, count = plan.trials, CallCount()
        for name in {*asked, *judges}:
            mine = trials.take(trials.of_judge(name))
            each = [self.judge] if name in asked else []
            each += [judges[name]] if name in judges else []
            shown = [(q.protocol, q.stimulus.id, q.order) for q in mine.asked]
            number = np.zeros(len(mine.questions), dtype=np.int64)
            number[mine.numbers] = np.arange(len(shown))
            for one in each:
                count.add(one, shown, number[mine.question], mine.replicate)
        return len(count)
