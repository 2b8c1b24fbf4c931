"""Has a judge changed since the run of its certificate? A control chart whose false marks are counted.

Two runs of a judge that is asked in the same way answer the same calls. If it has not changed, either answer
could have come from either run: the difference of each pair or item may have its sign flipped, whatever
cluster it belongs to. The test is exact for this question and says nothing of other texts.

An error of .05 a year is spread evenly over the runs that a year may have, and over the questions charted by
Holm's method. Of a judge that never changes, one year in twenty shows a mark at most.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from math import ceil, log2
from pathlib import Path

import numpy as np

from steelyard.commands.compare import Verdicts, paired_events
from steelyard.core.content_hash import canonical_json
from steelyard.core.files import atomic_write_text, cache_folder, signature
from steelyard.datasheet.judge_entry import JudgeEntry
from steelyard.errors import SteelyardError
from steelyard.metrics.comparison.comparison import Comparison, compare_units
from steelyard.metrics.comparison.paired import Paired
from steelyard.metrics.comparison.unit_events import Units
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.multiplicity import holm
from steelyard.metrics.stats.intervals import ALPHA, sign_flip
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.stamp import plug_ins_installed, program_digest, stored_digests

RUNS_A_YEAR = 52
YEAR = timedelta(days=365)
GRID = 1000
"""Steps of the largest difference to which others are rounded, so that every flip can be counted."""


@dataclass(frozen=True)
class PairedTest:
    """One figure of two runs on the pairs or items that both have an answer to."""

    first: float
    second: float
    p: float
    n_pairs: int


def address(figure: Comparison | Estimate) -> str:
    """Probe, metric and condition, whoever the judge is; the prompt is base where none is named."""
    group = {key: value for key, value in figure.group.items() if (key, value) != ("protocol", "base")}
    return canonical_json([figure.probe, figure.metric, group])


def run_alpha(stated: int, times: Iterable[datetime]) -> float:
    """The error of one run: .05 over the runs of a year, as stated or, where that is more, as they were."""
    return ALPHA / max(stated, most_in_a_year(times), 1)


def most_in_a_year(times: Iterable[datetime]) -> int:
    """The largest number of runs within any 365 days."""
    ordered = sorted(times)
    return max((bisect_right(ordered, at) - bisect_right(ordered, at - YEAR) for at in ordered), default=0)


def changed(tests: Mapping[str, PairedTest], alpha: float) -> dict[str, float]:
    """Figures that differ, with their p after Holm over all that were tested."""
    adjusted = zip(tests, holm([test.p for test in tests.values()]), strict=True)
    return {figure: p for figure, p in adjusted if p <= alpha}


def pairs_needed(tests: int, alpha: float) -> int:
    """Pairs or items that must all differ in one direction for any mark, where so many figures are tested."""
    return 1 + ceil(log2(tests / alpha))


def exchange_p(paired: Paired) -> float:
    """Exact p of the difference, answers to each pair or item exchanged between the runs."""
    sums = np.bincount(paired.pair, weights=paired.flippable)
    largest = float(np.abs(sums).max(initial=0.0))
    return sign_flip(np.rint(sums / largest * GRID).astype(np.int64)) if largest else 1.0


def paired_tests(
    old: Verdicts, before: JudgeEntry, new: Verdicts, after: JudgeEntry, wanted: Collection[str]
) -> dict[str, PairedTest]:
    """The wanted figures of two runs; those that no pair or item of both answers are left out."""
    mine, other, _ = paired_events(old, before, new, after)
    found = {}
    for question in mine.keys() & other.keys():
        row = Comparison.undefined(question)
        if address(row) in wanted:
            row = compare_units(Units.of(question, mine), Units.of(question, other), question)
            if row.paired is not None and row.first is not None and row.second is not None:
                p = exchange_p(row.paired)
                found[address(row)] = PairedTest(row.first, row.second, p, row.n_pairs)
    return {figure: found[figure] for figure in sorted(found)}


def kept_tests(
    folders: tuple[Path, Path], judge: str, wanted: Collection[str], make: Callable[[], dict[str, PairedTest]]
) -> dict[str, PairedTest]:
    """The tests of two runs as they were kept for this user, or made and kept.

    They are kept by the content of both folders and of this program, where no plug-in has a part in them.
    """
    try:
        stored = [stored_digests(RunFolder(folder)) for folder in folders]
        if plug_ins_installed() or None in stored:
            return make()
        name = signature([program_digest(), stored, judge, sorted(wanted)])
        path = cache_folder() / "history" / f"{name}.json"
    except OSError:
        return make()
    with suppress(OSError, ValueError, TypeError):
        body = json.loads(path.read_text(encoding="utf-8"))
        return {figure: PairedTest(**test) for figure, test in body.items()}
    made = make()
    with suppress(OSError, SteelyardError):
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write_text(path, json.dumps({figure: asdict(test) for figure, test in made.items()}))
    return made
