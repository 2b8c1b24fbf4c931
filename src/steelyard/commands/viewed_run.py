"""A run folder or an import as the viewer reads it, even while it is still measured; its calls in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.commands.call_index import NO_ROWS, CallIndex
from steelyard.commands.figure_calls import figure_name
from steelyard.commands.import_verdicts import ImportFolder
from steelyard.commands.report import current_datasheet
from steelyard.core.arrays import Floats, Ints
from steelyard.core.content_hash import digests_of
from steelyard.core.files import no_such
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.example_selection import ExampleSelector
from steelyard.datasheet.example_selection import explain as reason_to_count
from steelyard.errors import ConfigError, SteelyardError, StoreError
from steelyard.metrics.estimate import Estimate
from steelyard.run_folder.call_examples import CallRecord, RunCalls, call_records
from steelyard.run_folder.run_folder import JSON, RunFolder
from steelyard.run_folder.snapshot import load_plan
from steelyard.runner.prices import dollars_of
from steelyard.runner.record import RunRecord
from steelyard.stimuli.stimulus import Stimulus, reference_label
from steelyard.store.run_store import RunStore
from steelyard.study.planner import Plan
from steelyard.trials.judge import Judge, Usage
from steelyard.trials.trial import ORDERS, Trial
from steelyard.verdicts.call_answers import answer_word

PAUSE = 3.0
"""Seconds before a run that grows is read again: the throttle of its pages."""


@dataclass(frozen=True)
class LoadedRun:
    index: CallIndex
    plan: Plan | None
    state: tuple[int, int]
    searches: dict[str, Ints] = field(default_factory=dict)
    """Words to the rows of calls whose reply holds them: every page of a search asks for the same."""
    _prices: dict[str, Callable[[Usage], float] | None] = field(default_factory=dict)

    def trial(self, row: int) -> Trial | None:
        return None if self.plan is None else self.plan.trials[int(self.planned_rows[row])]

    @cached_property
    def planned_rows(self) -> Ints:
        if self.plan is None:
            return NO_ROWS
        trials, calls = self.plan.trials, self.index.calls
        columns = (calls.judge, calls.protocol, calls.stimulus, calls.order)
        places, place = np.unique(np.stack(columns), axis=1, return_inverse=True)
        numbers = [
            trials.number((calls.judges[j], calls.protocols[p], calls.shown.stimuli[s].id, ORDERS[o]))
            for j, p, s, o in places.T.tolist()
        ]
        return trials.find_all(np.array(numbers, dtype=np.int64)[place.reshape(-1)], calls.replicate)

    @property
    def call_rows(self) -> Ints:
        """Rows of the calls that were really made, no verdicts that others make; none in an import."""
        if self.plan is None:
            return NO_ROWS
        alone = self.plan.trials.where(lambda asked: asked.judge.composition is None)
        return np.flatnonzero(alone[self.planned_rows])

    def rows(self, keys: Sequence[str]) -> Ints:
        """Rows of the calls of these trials; those of no call here are left out."""
        if self.plan is None:
            return NO_ROWS
        planned = self.plan.trials.lookup(digests_of(keys))
        return np.flatnonzero(np.isin(self.planned_rows, planned[planned >= 0]))

    def price(self, judge: Judge) -> Callable[[Usage], float] | None:
        if judge.name not in self._prices:
            self._prices[judge.name] = dollars_of(judge)
        return self._prices[judge.name]

    @property
    def planned(self) -> int:
        return len(self.index.calls) if self.plan is None else len(self.plan.trials)


@dataclass(frozen=True)
class PublishedSheet:
    sheet: Datasheet
    written: int
    """When, in nanoseconds."""

    @cached_property
    def figures(self) -> dict[str, Estimate]:
        return {figure_name(estimate): estimate for estimate in (*self.sheet.estimates, *self.sheet.panel)}


def run_folders(paths: Iterable[Path]) -> list[Path]:
    """The folders of runs and imports; a folder that only holds such folders stands for all of them."""
    found: list[Path] = []
    for path in paths:
        inner = sorted(each for each in path.iterdir() if _is_run(each)) if path.is_dir() else []
        found += inner if inner and not _is_run(path) else [path]
    return found


def _is_run(path: Path) -> bool:
    return path.is_dir() and (RunFolder(path).database.exists() or ImportFolder.at(path) is not None)


class NotFoundError(SteelyardError):
    """An address that leads to nothing here."""


class ViewedRun:
    """Opens a folder read-only; one that grows is read again, and what was read before serves meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path, self._run, self._import = path, RunFolder(path), ImportFolder.at(path)
        self._lock = threading.Lock()
        self._loaded: LoadedRun | None = None
        self._fault: Exception | None = None
        self._opening = threading.Event()
        self._checked_at = 0.0
        self._published: PublishedSheet | None = None
        self.companions: Sequence[ViewedRun] = (self,)
        """The runs that are shown together, this one among them."""
        if self._import is None and not self._run.database.exists():
            lack = "no run.db found" if path.is_dir() else no_such(path, "folder")
            raise ConfigError(
                f"{path}: {lack}, expected a folder that `measure` or `import` wrote; name another."
            )
        with suppress(StoreError):  # a damaged file is told on its pages
            self._run.check_format()

    def companion(self, number: str) -> ViewedRun:
        if not number.isdecimal() or int(number) >= len(self.companions):
            raise NotFoundError(f"There is no run {number} here.")
        return self.companions[int(number)]

    @property
    def ready(self) -> bool:
        return self._loaded is not None

    def open(self) -> None:
        """Begin to read the run, and do not wait for it; what keeps it from being read is raised."""
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault
        if self._loaded is None and not self._opening.is_set():
            self._opening.set()
            threading.Thread(target=self._open, daemon=True).start()

    def _open(self) -> None:
        try:
            self.load()
        except Exception as error:  # a page must tell it: nobody waits for this thread
            self._fault = error
        finally:
            self._opening.clear()

    def load(self) -> LoadedRun:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = self._read()
        elif time.monotonic() - self._checked_at > PAUSE and self._lock.acquire(blocking=False):
            threading.Thread(target=self._refresh, daemon=True).start()
        return self._loaded

    def _refresh(self) -> None:
        """Read a run again that has grown; the lock is held, and what can not be read now is read later."""
        try:
            if self._loaded is not None and self._state() != self._loaded.state:
                self._loaded = self._read()
        except SteelyardError as error:
            self._fault = error
        finally:
            self._checked_at = time.monotonic()
            self._lock.release()

    def _read(self) -> LoadedRun:
        self._checked_at = time.monotonic()
        if self._import is not None:
            return LoadedRun(CallIndex(RunCalls.of_import(*self._import.read_observations())), None, (0, 0))
        state = self._state()
        plan = load_plan(self._run)
        with self._run.store(read_only=True) as store:
            run_calls = RunCalls.of_run(plan, RunRecord(store, plan.study.reference))
        loaded = LoadedRun(CallIndex(run_calls), plan, state)
        # The first page should not wait for them.
        _ = loaded.index.row, loaded.index.outcomes, loaded.planned_rows
        return loaded

    def _state(self) -> tuple[int, int]:
        with self._run.store(read_only=True) as store:
            return store.size

    @property
    def answered(self) -> int:
        return len(self.load().index.calls) if self._import is not None else sum(self._state())

    @contextmanager
    def store(self) -> Iterator[RunStore | None]:
        if self._import is not None:
            yield None
        else:
            with self._run.store(read_only=True) as store:
                yield store

    @property
    def sheet(self) -> Datasheet | None:
        published = self.published
        return None if published is None else published.sheet

    @property
    def published(self) -> PublishedSheet | None:
        path = self.path / JSON
        if not path.exists():
            return None
        written = path.stat().st_mtime_ns
        if self._published is None or self._published.written != written:
            self._published = PublishedSheet(current_datasheet(self.path), written)
        return self._published

    def figure(self, name: str) -> Estimate:
        published = self.published
        if published is None or name not in published.figures:
            raise NotFoundError("That figure is on no datasheet here: go back to the datasheet.")
        return published.figures[name]


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
    return details(run, loaded, [loaded.index.row[name]])[0] if name in loaded.index.row else None


def details(
    run: ViewedRun, loaded: LoadedRun, rows: Sequence[int], *, explained: bool = True
) -> list[CallDetail]:
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
            dollars=price(record.observation.usage)
            if trial and (price := loaded.price(trial.judge))
            else None,
        )
        for row, record, trial in zip(rows, records, trials, strict=True)
    ]


def reason_of_count(loaded: LoadedRun, row: int) -> str:
    calls = loaded.index.calls
    mine = calls.of_judge(calls.judges[int(calls.judge[row])])
    item, stimulus = calls.shown.item, int(calls.stimulus[row])
    near = mine.filter(calls=(item[mine.stimulus] == item[stimulus]) & (mine.protocol == calls.protocol[row]))
    cases = ExampleSelector(near).choose(None, 1, loaded.index.run_calls.seed, near.stimulus == stimulus)
    return reason_to_count(cases[0]) if cases else ""


def sort_rows(run: ViewedRun, loaded: LoadedRun, rows: Ints, sort: str) -> Ints:
    """Rows by a column, `-time` for the largest first; unknown values come last.

    Without a column of that name the rows keep their order.
    """
    make = COLUMNS.get(sort.removeprefix("-"))
    if make is not None:
        values = make(run, loaded)[rows]
        rows = rows[np.argsort(-values if sort.startswith("-") else values, kind="stable")]
    return loaded.index.baselines_last(rows)


def latencies(run: ViewedRun, loaded: LoadedRun) -> Floats:
    """Milliseconds of each call; NaN without a reply, and where a batch hides them."""
    calls = loaded.index.calls
    if loaded.plan is None:
        return np.full(len(calls), np.nan)
    planned = np.full(len(loaded.plan.trials), np.nan)
    with run.store() as store:
        for part in () if store is None else store.reply_columns():
            place = loaded.plan.trials.lookup(part.key)
            planned[place[place >= 0]] = part.latency_ms[place >= 0]
    batched = np.array([usage.batched for usage in calls.usages], dtype=np.bool_)
    return np.where(batched[calls.usage], np.nan, planned[loaded.planned_rows])


def tokens(loaded: LoadedRun) -> Floats:
    """Tokens of prompt and answer; NaN where nobody counted them."""
    calls = loaded.index.calls
    counts = [(usage.input_tokens or 0) + (usage.output_tokens or 0) for usage in calls.usages]
    return np.array([count or np.nan for count in counts], dtype=np.float64)[calls.usage]


def costs(loaded: LoadedRun) -> Floats:
    """Dollars of each call; NaN where no price is known."""
    calls = loaded.index.calls
    judges = () if loaded.plan is None else loaded.plan.trials.judges
    prices = {judge.name: loaded.price(judge) for judge in judges}
    pairs, pair = np.unique(np.stack([calls.judge, calls.usage]), axis=1, return_inverse=True)
    dollars = [
        np.nan if (price := prices.get(calls.judges[judge])) is None else price(calls.usages[usage])
        for judge, usage in pairs.T.tolist()
    ]
    return np.array(dollars, dtype=np.float64)[pair.reshape(-1)]


def _places(words: Sequence[str | None], codes: Ints) -> Floats:
    """The place of each call's word in the alphabet; NaN without a word."""
    known = {word: place for place, word in enumerate(sorted({word for word in words if word is not None}))}
    places = [np.nan if word is None else known[word] for word in words]
    return np.array(places, dtype=np.float64)[codes]


def _of_stimuli(loaded: LoadedRun, word: Callable[[Stimulus], str | None]) -> Floats:
    calls = loaded.index.calls
    return _places([word(each) for each in calls.shown.stimuli], calls.stimulus)


def _of_verdicts(loaded: LoadedRun) -> Floats:
    calls = loaded.index.calls
    return _places([answer_word(each) for each in calls.verdicts], calls.verdict)


COLUMNS: Mapping[str, Callable[[ViewedRun, LoadedRun], Floats]] = {
    "stimulus": lambda _, loaded: _of_stimuli(loaded, lambda each: each.id),
    "judge": lambda _, loaded: _places(loaded.index.calls.judges, loaded.index.calls.judge),
    "label": lambda _, loaded: _of_stimuli(loaded, lambda each: reference_label(each.expectation)),
    "verdict": lambda _, loaded: _of_verdicts(loaded),
    "time": latencies,
    "tokens": lambda _, loaded: tokens(loaded),
    "cost": lambda _, loaded: costs(loaded),
}
"""Column of the list to the values that it sorts by."""
