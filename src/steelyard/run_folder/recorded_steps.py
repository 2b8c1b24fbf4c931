"""The next step after verdicts that were recorded elsewhere."""

from __future__ import annotations

from steelyard.datasheet.conclusion import CARE, UNFIT, Conclusion, NextStep, Step
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.questions.causes import Advice
from steelyard.metrics.pairs.decomposition import ONE_ORDER
from steelyard.metrics.pairs.natural import ORDER_CONSISTENCY
from steelyard.metrics.proportions import ACCURACY, MERIT
from steelyard.run_folder.next_step import ACCEPTED_HERE, GATE, OWN_DATA, unaccepted_step, with_steps
from steelyard.run_folder.sample_size_hint import sample_size_hint
from steelyard.stimuli.original import NATURAL_PROBE


def with_recorded_steps(sheet: Datasheet) -> Datasheet:
    """The same for verdicts that were recorded elsewhere, of a judge that no command here can ask."""
    return with_steps(sheet, {verdict.judge: _recorded_step(sheet, verdict) for verdict in sheet.verdicts})


def _recorded_step(sheet: Datasheet, verdict: Conclusion) -> NextStep:
    prompts = JudgeEstimates(verdict.judge, sheet.look_up).protocols(MERIT.id)
    both = sheet.look_up.of(verdict.judge, ORDER_CONSISTENCY.id, NATURAL_PROBE)
    kind = Step.RECORD
    if verdict.advice is Advice.NO_SERVER:
        purpose = "record the failed calls again, and import all calls anew"
    elif (unaccepted := unaccepted_step(sheet, verdict, ACCEPTED_HERE)) is not None:
        purpose = unaccepted
    elif verdict.word in (UNFIT, CARE) or verdict.causes or verdict.advice is Advice.MOST_LOST:
        purpose = "after the change, record its verdicts again and import them"
    elif prompts and "base" not in prompts:
        purpose = "name the prompt that is to be judged “base”, and import its calls again"
    elif any(e.reason == ONE_ORDER.code for e in both):
        purpose = "record its verdicts on the same pairs in the other order, and import them with these"
    else:
        own = any(sheet.look_up.of(verdict.judge, ACCURACY.id, probe) for probe in OWN_DATA)
        rows = sample_size_hint(sheet, verdict.judge) if own else None
        purpose = "record its verdicts on more rows, and import them with these"
        if rows is not None:
            purpose = f"{rows.advice}, and import all of them"
        elif verdict.advice is Advice.NOTHING_OPEN:
            kind, purpose = Step.GATE, GATE
    return NextStep(purpose, step=kind.name)
