"""The remedy for a fault as a judge that can be measured, and the calls that this takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import yaml

from steelyard.datasheet.conclusion import CARE, Conclusion
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.questions.causes import Advice
from steelyard.datasheet.questions.questions import question_of
from steelyard.datasheet.sections.remedies import remedy_for, repeats_for
from steelyard.runner.planner import Plan
from steelyard.study.composite_judges import CompositeJudge, Given
from steelyard.study.study import Study
from steelyard.trials.judge import Judge
from steelyard.trials.trials import CallCount


@dataclass(frozen=True)
class RemedyJudge:
    definition: str
    title: str
    judge: Judge

    @classmethod
    def of(cls, sheet: Datasheet, verdict: Conclusion, study: Study) -> RemedyJudge | None:
        """The remedy for the first fault of a judge; None if it is no judge that can be measured.

        Where merit is open, repeats for noise, whatever stands before it.
        """
        mine = [
            (decision, cause)
            for cause in verdict.causes
            for decision in sheet.findings
            if decision.judge == verdict.judge and decision.question is question_of(cause)
        ]
        if verdict.advice is Advice.STILL_NOISY:
            remedies = (repeats_for(sheet, *each) for each in mine)
        elif verdict.word == CARE:
            first = verdict.causes[:1]
            remedies = (remedy_for(sheet, decision, cause) for decision, cause in mine if (cause,) == first)
        else:
            return None
        remedy = next((found for found in remedies if found is not None), None)
        if remedy is None or remedy.definition is None:
            return None
        known = {judge.name: judge for judge in study.judges}

        def parse(given: Given) -> Judge:
            composite = CompositeJudge.of(given)
            assert composite is not None, given
            return composite.judge(parse, known, study.task.scale)

        return cls(remedy.definition, remedy.title, parse(yaml.safe_load(remedy.definition)))

    def count_in_plan(self, plan: Plan, beside: Iterable[Judge] = ()) -> int:
        """Calls on what the judges behind it were shown in a run, with those of other judges beside."""
        asked = {one.name for one in self.judge.leaf_judges}
        judges = {judge.name: judge for judge in beside}
        trials, count = plan.trials, CallCount()
        for name in {*asked, *judges}:
            mine = trials.take(trials.of_judge(name))
            each = [self.judge] if name in asked else []
            each += [judges[name]] if name in judges else []
            shown = [(q.protocol, q.stimulus.id, q.order) for q in mine.distinct_trials]
            number = np.zeros(len(mine.questions), dtype=np.int64)
            number[mine.numbers] = np.arange(len(shown))
            for one in each:
                count.add(one, shown, number[mine.question], mine.replicate)
        return len(count)
