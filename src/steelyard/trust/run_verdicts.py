"""Verdicts of a run folder with the signals that its calls hold: repeats, orders, jury, stated, token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from steelyard.commands.report import open_calls
from steelyard.errors import ConfigError, DataError
from steelyard.run_folder.run_folder import LINES, RunFolder
from steelyard.stimuli.original import ROTATION
from steelyard.trust.verdict_table import JudgeVerdicts, Signal, VerdictTable
from steelyard.verdicts.call_answers import (
    JURY,
    ORDERS_AGREE,
    REPEATS,
    ItemAnswers,
    agreement_signals,
    item_answers,
)
from steelyard.verdicts.readers import COLUMN, STATED, TOKEN

PERCENT, RECORDED = "stated percent", "confidence"
"""Kinds: a confidence that is stated in percent, and the column of an import."""
KINDS = (REPEATS, ORDERS_AGREE, JURY, STATED, PERCENT, TOKEN, RECORDED)


def read_run(
    folder: Path, judges: Sequence[str], signals: Mapping[str, Sequence[str]] | None
) -> VerdictTable:
    """Verdicts on items as they are, under the base protocol; of `signals` None, all that the run holds."""
    RunFolder(folder).check_format()
    if not (folder / LINES).exists():
        raise ConfigError(
            f"{folder}: no {LINES} found, expected a run folder or a table; run `steelyard report` on the "
            "folder, or name a file."
        )
    with open_calls(folder) as run:
        names = [name for name in run.observations.judges if name not in run.baselines]
        every = {name: item_answers(run.observations.of_judge(name)) for name in names}
        shown = run.observations.shown.stimuli
        best_of = next((each.scale for each in shown if each.kind == ROTATION), None)
    panel = {name: answers for name, answers in every.items() if answers.items}
    if not panel:
        what = "no verdicts on items as they are" if best_of is None else f"verdicts on {best_of} found"
        raise DataError(
            f"{folder}: {what}, expected a run with data of your own, single texts or pairs; name another "
            "folder."
        )
    for judge in judges:
        if judge not in panel:
            raise ConfigError(
                f"{folder}: no verdicts of judge {judge!r} on items as they are, expected one of "
                f"{', '.join(panel)}; correct --judge."
            )
    known = {name: item for answers in panel.values() for name, item in answers.items.items()}
    labels = {name: _slot(item.label) for a in panel.values() for name, item in a.items.items() if item.label}
    items = tuple(known)
    made = {}
    for judge in judges or panel:
        found = _signals(judge, panel, items)
        mine = [panel[judge].items.get(item) for item in items]
        answers = tuple(None if each is None else _slot(each.answer) for each in mine)
        asked = np.array([each is not None for each in mine], dtype=np.bool_)
        wanted = None if signals is None else signals[judge]
        made[judge] = JudgeVerdicts(answers, asked, _wanted(folder, judge, found, wanted))
    return VerdictTable(
        str(folder),
        items,
        tuple(known[item].task for item in items),
        tuple(map(labels.get, items)),
        made,
        [{"item": item, "task": known[item].task} for item in items],
        columns={"item": "item", "task": "task"},
    )


def _slot(answer: str | None) -> str | None:
    """The content of a pair as its file numbers it."""
    return {"u": "1", "v": "2"}.get(answer or "", answer)


def _signals(judge: str, panel: Mapping[str, ItemAnswers], items: Sequence[str]) -> dict[str, Signal]:
    mine = panel[judge]
    values = agreement_signals(judge, panel, items)
    kinds = {name: name for name in values}
    if mine.confidence is not None:
        name = RECORDED if mine.confidence == COLUMN else mine.confidence
        kinds[name] = PERCENT if mine.percent and name == STATED else name
        found = (mine.items.get(item) for item in items)
        values[name] = [None if each is None else each.confidence for each in found]
    jury = {name: each.most_calls for name, each in panel.items() if name != judge}
    return {
        name: Signal(
            name,
            np.array([np.nan if value is None else value for value in column], dtype=np.float64),
            kinds[name],
            mine.most_calls + (sum(jury.values()) if name == JURY else 0),
            jury if name == JURY else {},
        )
        for name, column in values.items()
    }


def _wanted(
    folder: Path, judge: str, known: dict[str, Signal], wanted: Sequence[str] | None
) -> dict[str, Signal]:
    absent = [name for name in wanted or () if name not in known]
    if absent or not known:
        lacking = absent[0] if absent else "of any kind"
        raise DataError(
            f"{folder}: no signal {lacking} of judge {judge!r}, expected one of {', '.join(known) or 'none'} "
            f"that its calls hold; {_HOW.get(lacking, 'repeat calls with --replicates 3')}, or name another "
            "with --signal."
        )
    return known if wanted is None else {name: known[name] for name in wanted}


_HOW = {
    REPEATS: "repeat calls with --replicates 3",
    ORDERS_AGREE: "measure pairs, which are shown in both orders",
    JURY: "measure several judges in one run",
    STATED: "measure with --prompt confidence",
    TOKEN: "use the reader logprob",
    RECORDED: "import a table with --columns confidence=COLUMN",
}
