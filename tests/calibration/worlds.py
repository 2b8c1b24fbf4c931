"""What planted judges are shown: the product's own stimuli of a study, in columns, and their answers."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import numpy as np

from calibration import judges
from calibration.answers import (
    FIRST,
    TIE,
    PairCalls,
    ScoreCalls,
    always,
    anyhow,
    constant,
    longest,
    tossed,
)
from calibration.judges import PlantedJudge
from steelyard.core.arrays import Ints
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.probes.probe import AuthoredProbe, Showing
from steelyard.stimuli.brief import is_in_pack
from steelyard.stimuli.stimulus import Label, Prefers, Stimulus
from steelyard.study.study import Study
from steelyard.study.study_file import build_study, load_config
from steelyard.tasks.task import parse_scale
from steelyard.trials.trial import ORDERS
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.stimulus_columns import StimulusColumns
from steelyard.verdicts.verdict import Abstained, Decided, Tie, Unreadable, Verdict

PROFILES = ("quick", "standard", "full")
"""Sizes; rows of data grow with them."""
PAIR_VERDICTS: tuple[Verdict, ...] = (
    Decided("1"),
    Decided("2"),
    Tie(),
    Abstained(),
    Unreadable("no answer"),
)
BASELINES: Mapping[str, Any] = {
    "coin": tossed(),
    "first": always(FIRST),
    "tie": always(TIE),
    "longest": longest,
    "random": anyhow,
}
"""The answers of the product's baselines, by model; `constant` gives the middle of its scale."""


@dataclass(frozen=True)
class Kind:
    """A kind of measurement."""

    title: str
    """EstimateContext of its table."""
    judges: Mapping[str, PlantedJudge]
    """Judges by name."""
    sizes: tuple[str, str, str]
    """What each size is called."""
    config: Callable[[int, int, Path], dict[str, Any]]
    """Seed, size from 0 and a folder for data to the study."""


def _catalogue(seed: int, size: int, folder: Path) -> dict[str, Any]:
    del seed, size, folder
    return {"judges": ["planted/probit"], "probes": ["vacuum", "ladder", "length"]}


def _runs(seed: int, size: int, folder: Path) -> dict[str, Any]:
    del seed, size, folder
    return {"judges": ["planted/rater"], "probes": ["agentic"]}


PAIRS_OF_ONES_OWN, ROWS = (25, 80, 250), (60, 200, 600)
MORE_PAIRS, ROWS_WITH_LEVELS = (60, 200, 500), (20, 60, 200)
WRITTEN = ("label_flip", "synthetic_ordinal")
LONGER = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Shares of natural pairs of which people prefer the longer text."""
AUTHOR, VALIDATOR = "openai/writer", "openai/checker"
"""Who wrote the texts that earn an answer, and who accepted them."""
_WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "knoll")


def _text(chance: Random, words: int) -> str:
    drawn = chance.choices(_WORDS, k=words)
    cuts = [*range(0, words, 8), words]
    parts = (" ".join(drawn[a:b]).capitalize() for a, b in pairwise(cuts) if a < b)
    return ". ".join(parts) + "."


def _natural(preferred: float, pairs: tuple[int, int, int]) -> Callable[[int, int, Path], dict[str, Any]]:
    """Pairs of which people chose the longer text in this share."""

    def config(seed: int, size: int, folder: Path) -> dict[str, Any]:
        chance = Random(f"natural/{seed}/{size}")
        rows = [["n", "q", "a", "b", "l"]]
        for number in range(pairs[size]):
            words = chance.randint(30, 60), chance.randint(61, 90)
            long_first, longer = chance.random() < 0.5, chance.random() < preferred
            texts = [_text(chance, count) for count in (words[::-1] if long_first else words)]
            rows.append([str(number), f"Case {number}?", *texts, "1" if long_first == longer else "2"])
        columns = {"request": "q", "response_1": "a", "response_2": "b", "label": "l", "id": "n"}
        data = {"path": str(_written(folder, rows)), "columns": columns}
        return {
            "judges": ["planted/probit"],
            "data": data,
            "task": {"scale": "pairwise", "rubric": "The more useful answer."},
        }

    return config


def _scored(
    scale: str, label: Callable[[int], int], probes: Sequence[Any] = (), sizes: tuple[int, int, int] = ROWS
) -> Callable[[int, int, Path], dict[str, Any]]:
    """Rows with labels, and the usual probes or these."""

    def config(seed: int, size: int, folder: Path) -> dict[str, Any]:
        chance = Random(f"{scale}/{seed}/{size}")
        rows = [["n", "q", "a", "l"]]
        rows += [
            [str(number), f"Case {number}?", _text(chance, chance.randint(30, 90)), str(label(number))]
            for number in range(sizes[size])
        ]
        columns = {"request": "q", "response": "a", "label": "l", "id": "n"}
        data = {"path": str(_written(folder, rows)), "columns": columns}
        task = {"scale": scale, "rubric": "The higher, the better."}
        config = {"judges": ["planted/rater"], "data": data, "task": task}
        roles = {"author": {"model": AUTHOR}, "validator": {"model": VALIDATOR}}
        return {**config, **roles, "probes": list(probes)} if probes else config

    return config


def _written(folder: Path, rows: Sequence[Sequence[str]]) -> Path:
    path = folder / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows)
    return path


def _labelled(noun: str, numbers: Sequence[int]) -> tuple[str, str, str]:
    few, more, many = (f"{number} {noun}" for number in numbers)
    return few, more, many


KINDS: Mapping[str, Kind] = {
    "catalogue": Kind("Pairs, built-in catalogue", judges.CATALOGUE, PROFILES, _catalogue),
    "counters": Kind(
        "Pairs, built-in catalogue: judges that count and do not read", judges.COUNTERS, PROFILES, _catalogue
    ),
    "areas": Kind(
        "Pairs, built-in catalogue: judges that differ by area", judges.AREAS, PROFILES, _catalogue
    ),
    "together": Kind(
        "Pairs, built-in catalogue: two and three faults at once", judges.TOGETHER, PROFILES, _catalogue
    ),
    "natural": Kind(
        "Natural pairs of one's own",
        judges.NATURAL,
        _labelled("pairs", PAIRS_OF_ONES_OWN),
        _natural(0.6, PAIRS_OF_ONES_OWN),
    ),
    **{
        f"longer-{round(100 * share)}": Kind(
            f"Natural pairs, people prefer the longer text of {round(100 * share)} in 100",
            judges.longer_preferred(share),
            _labelled("pairs", MORE_PAIRS),
            _natural(share, MORE_PAIRS),
        )
        for share in LONGER
    },
    "binary": Kind(
        "Single texts, yes or no, half should pass",
        judges.BINARY,
        _labelled("rows", ROWS),
        _scored("binary", lambda number: number % 2),
    ),
    "skewed": Kind(
        "Single texts, yes or no, nine in ten should pass",
        judges.RARE_BAD,
        _labelled("rows", ROWS),
        _scored("binary", lambda number: int(number % 10 != 0)),
    ),
    "flips": Kind(
        "Single texts, yes or no, each with a text that was changed to earn the other answer",
        judges.FLIPS,
        _labelled("rows", ROWS),
        _scored("binary", lambda number: number % 2, ["label_flip"]),
    ),
    "several": Kind(
        "Single texts, yes or no: two and three faults at once",
        judges.SEVERAL,
        _labelled("rows", ROWS),
        _scored("binary", lambda number: number % 2),
    ),
    "ordinal": Kind(
        "Single texts, scores from 1 to 5",
        judges.ORDINAL,
        _labelled("rows", ROWS),
        _scored("1-5", lambda number: number % 5 + 1),
    ),
    "levels": Kind(
        "Single texts, scores from 1 to 5, and a text written for every level of each",
        judges.LEVELS,
        _labelled("rows", ROWS_WITH_LEVELS),
        _scored(
            "1-5",
            lambda number: number % 5 + 1,
            [{"stochastic_stability": {"replicates": 2}}, "synthetic_ordinal"],
            ROWS_WITH_LEVELS,
        ),
    ),
    "runs": Kind("Agents' runs of the built-in pack", judges.RUNS, PROFILES, _runs),
}
"""Every kind by its name."""


@dataclass(frozen=True, eq=False)
class World:
    """All calls of one study, and what is shown in each."""

    study: Study
    shown: StimulusColumns
    stimulus: Ints
    order: Ints
    replicate: Ints
    calls: PairCalls | ScoreCalls
    verdicts: tuple[Verdict, ...]
    """What answers stand for; of scores, the levels and then what is no score."""

    @classmethod
    def of(cls, kind: str, size: int, seed: int) -> World:
        """The study of a kind with all its stimuli, drawn with the seed."""
        with TemporaryDirectory() as place:
            config = KINDS[kind].config(seed, size, Path(place))
            study = build_study(
                load_config(None, {**config, "profile": PROFILES[size], "seed": seed}), Path()
            )
        return cls.of_study(replace(study, authored=_written_texts(study, seed)))

    @classmethod
    def of_study(cls, study: Study) -> World:
        """Every call that a judge with the base protocol alone is asked."""
        showings = _showings(study)
        shown = StimulusColumns.of(showing.stimulus for showing in showings)
        place = {name: number for number, name in enumerate(shown.names)}
        rows = sorted((place[s.stimulus.id], s.replicate, ORDERS.index(s.order)) for s in showings)
        stimulus, replicate, order = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
        if len(shown.stimuli[0].texts) == 2:
            return cls(
                study, shown, stimulus, order, replicate, _pair_calls(shown, stimulus, order), PAIR_VERDICTS
            )
        answers = parse_scale(shown.stimuli[0].scale or "binary").answers
        levels = tuple(Decided(answer) for answer in answers)
        verdicts = (*levels, Unreadable("no answer"), Abstained())  # -2 and -1 count from the end
        calls = _score_calls(shown, stimulus, answers)
        return cls(study, shown, stimulus, order, replicate, calls, verdicts)

    @property
    def baselines(self) -> Mapping[str, Any]:
        """How the study's baselines answer, by name."""
        named = [judge for judge in self.study.judges if judge.baseline]
        return {judge.name: BASELINES.get(judge.model, self._middle) for judge in named}

    def _middle(self, calls: ScoreCalls, chance: np.random.Generator) -> Ints:
        return constant(calls.levels // 2)(calls, chance)

    def entries(self, names: Iterable[str], baselines: Iterable[str] = ()) -> list[JudgeEntry]:
        """Judges and baselines as a datasheet names them."""
        own = [JudgeEntry(name, "planted", False, {}) for name in names]
        return own + [JudgeEntry(name, f"planted/{name}", True, {}) for name in baselines]

    def observe(self, answers: Mapping[str, Any], seed: int) -> Observations:
        """What judges answer; each has a random stream of its own."""
        return self.observed({name: judge(self.calls, stream(seed, name)) for name, judge in answers.items()})

    def observed(self, given: Mapping[str, Ints]) -> Observations:
        """Columns of answers as the product has them."""
        names = tuple(sorted(given))
        count, calls = len(names), len(self.stimulus)
        return Observations.recorded(
            judges=names,
            protocols=("base",),
            verdicts=self.verdicts,
            shown=self.shown,
            judge=np.repeat(np.arange(count), calls),
            protocol=np.zeros(count * calls, dtype=np.int64),
            stimulus=np.tile(self.stimulus, count),
            order=np.tile(self.order, count),
            replicate=np.tile(self.replicate, count),
            verdict=np.concatenate([given[name] for name in names]).astype(np.int64) % len(self.verdicts),
        )


def stream(seed: int, *names: str) -> np.random.Generator:
    """The random stream of a seed and names, the same on every machine."""
    return np.random.default_rng([seed, *(crc32(name.encode()) for name in names)])


def _written_texts(study: Study, seed: int) -> tuple[Stimulus, ...]:
    """A text for everything that the probes ask of an author, which a second model accepted."""
    chance = Random(f"written/{seed}")
    asking = [probe for probe in study.build_probes() if isinstance(probe, AuthoredProbe)]
    briefs = (brief for probe in asking for brief in probe.briefs(study.design) if not is_in_pack(brief))
    made = (brief.to_stimulus(_text(chance, chance.randint(30, 90)), study.task, AUTHOR) for brief in briefs)
    return tuple(
        replace(text, lineage=replace(text.lineage, validation=f"{VALIDATOR} gave the answer, as intended"))
        for text in made
    )


def _showings(study: Study) -> list[Showing]:
    found: dict[tuple[str, str, int], Showing] = {}
    for probe in study.build_probes():
        for showing in probe.showings(study.design, frozenset(("base",))):
            found.setdefault((showing.stimulus.id, showing.order, showing.replicate), showing)
    return list(found.values())


def _pair_calls(shown: StimulusColumns, stimulus: Ints, order: Ints) -> PairCalls:
    gap = np.array([_gap(one) for one in shown.stimuli])
    words = np.array([[len(text.split()) + 1 for text in one.texts] for one in shown.stimuli])
    longer = np.log2(words[:, 0] / words[:, 1])
    empty = np.array([one.probe == "vacuum" for one in shown.stimuli])
    side = 1 - 2 * order
    return PairCalls(
        gap[stimulus] * side, empty[stimulus], longer[stimulus] * side, stimulus, side, shown.stimuli
    )


def _gap(stimulus: Stimulus) -> float:
    wanted = stimulus.expectation
    size = 1.0 if stimulus.delta is None else stimulus.delta
    return size * {"u": 1, "v": -1}[wanted.content] if isinstance(wanted, Prefers) else 0.0


def _score_calls(shown: StimulusColumns, stimulus: Ints, answers: tuple[str, ...]) -> ScoreCalls:
    labels = {one.lineage.parent: _label(one) for one in shown.stimuli if one.kind == "original"}
    items = {name: number for number, name in enumerate(sorted({s.lineage.parent for s in shown.stimuli}))}
    own = [_label(one) or labels.get(one.lineage.parent) or answers[0] for one in shown.stimuli]
    depth = shown.change_depth
    broken = np.array([label == one.failing for label, one in zip(own, shown.stimuli, strict=True)])
    middle = broken & (depth >= 1 / 3) & (depth < 2 / 3)
    return ScoreCalls(
        label=np.array([answers.index(label) for label in own])[stimulus],
        item=np.array([items[one.lineage.parent] for one in shown.stimuli])[stimulus],
        text=stimulus,
        words=shown.words[stimulus],
        middle=middle[stimulus],
        written=np.array([one.probe in WRITTEN for one in shown.stimuli])[stimulus],
        levels=len(answers),
    )


def _label(stimulus: Stimulus) -> str | None:
    return stimulus.expectation.value if isinstance(stimulus.expectation, Label) else None
