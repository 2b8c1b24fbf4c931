"""Order of a list of calls: by the values of one column, calls of baselines last."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from steelyard.commands.view.viewed_run import LoadedRun, ViewedRun
from steelyard.core.arrays import Floats, Ints
from steelyard.stimuli.stimulus import Stimulus, reference_label
from steelyard.verdicts.call_answers import answer_word


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
