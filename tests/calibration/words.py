"""Simulate verdicts on planted judges, useless ones in three times as many runs; write docs/verdicts.json.

PYTHONPATH=tests python -m calibration.words [--seeds N] [--more] [KIND …]
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from calibration.circumstances import circumstances
from calibration.judges import LETTERS, USELESS, PlantedJudge
from calibration.worlds import KINDS, PROFILES, World
from steelyard.commands.gate.gate import rule_on
from steelyard.commands.gate.policy import SHIPPED, find_policy
from steelyard.commands.gate.ruling import FAIL
from steelyard.datasheet import assemble as assembling
from steelyard.datasheet.assemble import assemble
from steelyard.datasheet.conclusion import NO_FAULT, Conclusion
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.sections.remedies import remedy_brief
from steelyard.metrics.estimate import EstimateContext
from steelyard.metrics.pairs import equals
from steelyard.metrics.pairs import ladder as ladder_figures
from steelyard.metrics.pairs.equals import direction_estimates
from steelyard.metrics.run import volatility
from steelyard.metrics.scores import probe as score_figures
from steelyard.metrics.scores.columns import Scores
from steelyard.metrics.scores.probe import by_scale
from steelyard.verdicts.observations import Observations

FILE = Path(__file__).parents[2] / "docs" / "verdicts.json"
SEEDS = 100
TIMES = {USELESS: 3}
"""How many times as many runs judges of a class have, of which nearly none may go wrong."""
REMEDIES = 25
"""Seeds from 0 on whose sheets have remedies, which take a fifth of the time."""
POLICIES = {name: find_policy(name) for name in SHIPPED}
LETTER = {word: letter for letter, word in LETTERS.items()}
NO_REMEDY = "No remedy"
"""How a sheet begins to say that none helps."""
NONE = "none"
"""Stands for a title where no fact is named, and for a remedy where none is offered."""


@dataclass
class Tally:
    """What was said of one judge at one size."""

    runs: int = 0
    words: Counter[str] = field(default_factory=Counter)
    """Letter of the word."""
    first: Counter[str] = field(default_factory=Counter)
    """Title of the first fact."""
    advice: Counter[str] = field(default_factory=Counter)
    """What the verdict advises, in runs with remedies."""
    remedy: Counter[str] = field(default_factory=Counter)
    """What the remedy is called that stands below the verdict, in the same runs."""
    gate: dict[str, Counter[str]] = field(default_factory=dict)
    """Policy to results."""
    contradictions: int = 0
    """Runs with no fault found in which the default policy fails."""

    def add(self, sheet: Datasheet, verdict: Conclusion, *, remedies: bool) -> None:
        """Take in one datasheet, with or without remedies."""
        self.runs += 1
        self.words[LETTER[verdict.word]] += 1
        self.first[verdict.facts[0].title if verdict.facts else NONE] += 1
        if remedies:
            self.advice[verdict.advice.value] += 1
            offered = remedy_brief(sheet, verdict.judge).partition(" (")[0] or NONE
            self.remedy[NONE if offered.startswith(NO_REMEDY) else offered] += 1
        for name, policy in POLICIES.items():
            result = rule_on(sheet, policy, [verdict.judge]).result
            self.gate.setdefault(name, Counter())[result] += 1
            self.contradictions += name == "default" and result == FAIL and verdict.word == NO_FAULT

    def merge(self, other: Tally) -> None:
        """Take in further runs."""
        self.runs += other.runs
        self.contradictions += other.contradictions
        for name in ("words", "first", "advice", "remedy"):
            getattr(self, name).update(getattr(other, name))
        for policy, results in other.gate.items():
            self.gate.setdefault(policy, Counter()).update(results)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Tally:
        """The tally that was written."""
        counters = {name: Counter(body[name]) for name in ("words", "first", "advice", "remedy")}
        gate = {policy: Counter(results) for policy, results in body["gate"].items()}
        return cls(runs=body["runs"], contradictions=body["contradictions"], gate=gate, **counters)


Tallies = dict[tuple[str, int], Tally]
"""Judge and size to what was said."""


class _NoArms:
    """No protocol is fitted."""

    protocols: tuple[str, ...] = ()

    def __init__(self, *_: object) -> None: ...


def _nothing(*_: object, **__: object) -> list[Any]:
    return []


def _of_same_content(heading: EstimateContext, *rest: Any) -> list[Any]:
    """What decides between equals, of the one kind of pairs that readings speak of."""
    return direction_estimates(heading, *rest) if heading.group.get("kind") == "same_subset" else []


def _of_items(context: EstimateContext, scores: Scores, among: Any = ()) -> list[Any]:
    """Scores on unchanged items, of which verdicts read; not those of each probe and pooled ones."""
    return by_scale(context, scores, among) if among is score_figures.OF_ITEMS else []


LEFT_OUT: tuple[tuple[ModuleType, str, Any], ...] = (
    (assembling, "ProtocolFits", _NoArms),
    (assembling, "jury_remedies", _nothing),
    (assembling, "panel_estimates", _nothing),
    (assembling, "pooled_estimates", _nothing),
    (volatility, "volatility_estimates", _nothing),
    (equals, "direction_estimates", _of_same_content),
    (ladder_figures, "by_base_level", _nothing),
    (ladder_figures, "dprime_estimates", _nothing),
    (score_figures, "by_scale", _of_items),
)
"""Figures that no verdict reads, and those of several judges; tests show that none decides a word."""


@contextmanager
def verdicts_only(*, remedies: bool = True) -> Iterator[None]:
    """Leave out what takes long and decides no word, on request remedies too."""
    more = () if remedies else ((assembling, "mitigated_judges", _nothing),)
    with ExitStack() as stack:
        for module, name, instead in (*LEFT_OUT, *more):
            stack.enter_context(patch.object(module, name, instead))
        yield


def sheet_of(world: World, answers: Mapping[str, Any], seed: int, *, beside: bool = True) -> Datasheet:
    """The datasheet of judges, the study's baselines `beside` them."""
    baselines = world.baselines if beside else {}
    return sheet_from(world, world.observe({**answers, **baselines}, seed), answers, baselines)


def sheet_from(
    world: World, seen: Observations, judges: Iterable[str], baselines: Iterable[str]
) -> Datasheet:
    """The datasheet of these judges and baselines."""
    sheet = assemble(
        name="planted",
        seed=world.study.seed,
        profile=world.study.profile,
        stimulus_set="sha256:0",
        judges=world.entries(judges, baselines),
        probes=world.study.build_probes(),
        observations=seen,
        run={},
        own_data=world.study.source is not None,
    )
    if sheet.faults:
        raise RuntimeError(f"figures that could not be computed: {sheet.faults[0]}")
    return sheet


def simulate(kind: str, size: int, seeds: Iterable[int], names: Sequence[str] = ()) -> Tallies:
    """Verdicts on the judges of a kind, each seed with texts, errors and noise of its own."""
    found: Tallies = {}
    judges = KINDS[kind].judges
    answers = {name: judges[name].answers for name in names or judges}
    for seed in seeds:
        remedies = seed < REMEDIES
        with verdicts_only(remedies=remedies):
            sheet = sheet_of(World.of(kind, size, seed), answers, seed)
        for verdict in sheet.verdicts:
            found.setdefault((verdict.judge, size), Tally()).add(sheet, verdict, remedies=remedies)
    return found


def jobs_of(kind: str, seeds: int, found: Tallies) -> Iterator[tuple[str, int, list[int], list[str]]]:
    """Arguments of `simulate`: so many further seeds of each judge, more of those whose class needs more."""
    spans = {}
    for name, judge in KINDS[kind].judges.items():
        first = found[name, 0].runs if (name, 0) in found else 0
        spans[name] = range(first, first + seeds * TIMES.get(judge.class_, 1))
    for seed in range(min(span.start for span in spans.values()), max(span.stop for span in spans.values())):
        if names := [name for name, span in spans.items() if seed in span]:
            yield from ((kind, size, [seed], names) for size in (2, 1, 0))


def merged(found: Tallies, more: Tallies) -> Tallies:
    """Both together."""
    for place, tally in more.items():
        found.setdefault(place, Tally()).merge(tally)
    return found


def to_json(kind: str, found: Tallies) -> dict[str, Any]:
    """Judges in their order: what is due, and the tally of each size."""
    judges = {
        name: {**_planted(judge), "sizes": [vars(found[name, size]) for size in range(len(PROFILES))]}
        for name, judge in KINDS[kind].judges.items()
        if (name, 0) in found
    }
    return {"title": KINDS[kind].title, "sizes": list(KINDS[kind].sizes), "judges": judges}


def _planted(judge: PlantedJudge) -> dict[str, Any]:
    """What is due of a judge."""
    return {
        "due": list(judge.due),
        "class": judge.class_,
        "faults": list(judge.faults),
        "remedy": judge.remedy,
    }


def from_json(body: Mapping[str, Any]) -> Tallies:
    """The tallies that were written."""
    return {
        (name, size): Tally.from_json(one)
        for name, judge in body["judges"].items()
        for size, one in enumerate(judge["sizes"])
    }


def load(file: Path = FILE) -> dict[str, Any]:
    """What the file holds."""
    body: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return body


def save(body: Mapping[str, Any], file: Path = FILE) -> None:
    """Write the file."""
    file.write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def options(name: str, description: str | None) -> argparse.ArgumentParser:
    """What every simulation of this file takes."""
    parser = argparse.ArgumentParser(prog=name, description=description)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--more", action="store_true", help="add to the runs that the file holds")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--file", type=Path, default=FILE, help="where results are held and written")
    return parser


def main() -> None:
    """Run the kinds that are named, or all, and write the file after each."""
    parser = options("calibration.words", __doc__)
    parser.add_argument("kinds", nargs="*", choices=[[], *KINDS], metavar="KIND")
    given = parser.parse_args()
    with ProcessPoolExecutor(given.workers) as pool:
        for kind in given.kinds or KINDS:
            body = load(given.file)
            held = body.get("kinds", {}).get(kind) if given.more else None
            found = from_json(held) if held else {}
            jobs = list(jobs_of(kind, given.seeds, found))
            for part in pool.map(simulate, *zip(*jobs, strict=True)):
                merged(found, part)
            every = {**body.get("kinds", {}), kind: to_json(kind, found)}
            ordered = {name: every[name] for name in KINDS if name in every}
            save({**body, **circumstances(), "kinds": ordered}, given.file)


if __name__ == "__main__":
    main()
