"""The record of one call with its name, outcomes, explanation and cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.commands.view.viewed_run import LoadedRun, ViewedRun
from steelyard.datasheet.examples.explain import explain as reason_to_count
from steelyard.datasheet.examples.selection import ExampleSelector
from steelyard.run_folder.call_record import CallRecord, call_records
from steelyard.trials.trial import Trial
from steelyard.verdicts.observations import Observation


@dataclass(frozen=True)
class CallDetail(CallRecord):
    id: str = ""
    outcomes: Sequence[str] = ()
    why: str = ""
    dollars: float | None = None
    """What it cost; None if no price is known."""

    def to_json(self) -> dict[str, Any]:
        seen, stored = self.observation, self.stored
        body = {
            "id": self.id,
            "judge": seen.judge,
            "protocol": seen.protocol,
            "stimulus": seen.stimulus.id,
            "order": seen.order,
            "replicate": seen.replicate,
            "verdict": self.verdict,
            "reason": self.reason,
            "outcomes": list(self.outcomes),
            "why": self.why,
            "reader": self.reader,
            "dollars": self.dollars,
        }
        return body if stored is None else {**body, **stored.to_json()}


def call_detail(run: ViewedRun, loaded: LoadedRun, name: str) -> CallDetail | None:
    if name not in loaded.index.row:
        return None
    return details(run, loaded, [loaded.index.row[name]])[0]


def details(
    run: ViewedRun, loaded: LoadedRun, rows: Sequence[int], *, explained: bool = True
) -> list[CallDetail]:
    """The calls of these rows, by one read of the run file; a list needs no explanations."""
    index = loaded.index
    trials = [loaded.trial(row) for row in rows]
    with run.store() as store:
        records = call_records(store, zip(index.observations_at(rows), trials, strict=True))
    return [
        CallDetail(
            **vars(record),
            id=index.ids[row],
            outcomes=index.outcomes_of(row),
            why=reason_of_count(loaded, row) if explained else "",
            dollars=None if trial is None else _dollars(loaded, record.observation, trial),
        )
        for row, record, trial in zip(rows, records, trials, strict=True)
    ]


def _dollars(loaded: LoadedRun, observation: Observation, trial: Trial) -> float | None:
    price = loaded.price(trial.judge)
    return None if price is None else price(observation.usage)


def reason_of_count(loaded: LoadedRun, row: int) -> str:
    """Why the call counts as it does, in the words of an example of its group."""
    calls = loaded.index.calls
    mine = calls.of_judge(calls.judges[int(calls.judge[row])])
    item, stimulus = calls.shown.item, int(calls.stimulus[row])
    near = mine.filter(calls=(item[mine.stimulus] == item[stimulus]) & (mine.protocol == calls.protocol[row]))
    cases = ExampleSelector(near).choose(None, 1, loaded.index.run_calls.seed, near.stimulus == stimulus)
    return reason_to_count(cases[0]) if cases else ""
