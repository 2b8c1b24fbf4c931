"""Judges with one planted fault each, on pairs and on single texts, and the verdicts on them.

They answer in process, without prompts, a store or pages; readings and verdicts are those of a run.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from random import Random

from steelyard.datasheet.assemble import assemble
from steelyard.datasheet.conclude import conclusions_of
from steelyard.datasheet.conclusion import CARE, NO_FAULT, UNFIT, Conclusion
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.questions.questions import decisions_of
from steelyard.metrics.faults import Faults
from steelyard.metrics.merit import merit_estimates
from steelyard.metrics.run.losses import loss_estimates
from steelyard.probes.probe import Showing
from steelyard.providers.planted.planted_judges import Planted
from steelyard.study.study import Study
from steelyard.study.study_file import build_study, load_config
from steelyard.tasks.task import parse_scale
from steelyard.trials.judge import Decoding, Judge, Presentation, Slots, Usage
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Decided, Tie

_SOUND_PAIRS = {"s": 5, "beta": 0, "tau": 2.5, "sigma": 0, "lapse": 0}
_SOUND_RATER = {"sensitivity": 0.98, "specificity": 0.98, "noise": 0.01}

PAIRS: Mapping[str, tuple[str | dict[str, object], str, str | None]] = {
    "faultless": ({"model": "planted/probit", **_SOUND_PAIRS}, NO_FAULT, None),
    "position-leaning": ({"model": "planted/probit", **_SOUND_PAIRS, "beta": 2}, CARE, "Position"),
    "wording-sensitive": ({"model": "planted/probit", **_SOUND_PAIRS, "sigma": 3}, CARE, "Surface"),
    "length-loving": ({"model": "planted/probit", **_SOUND_PAIRS, "length": 15}, CARE, "Length"),
    "noisy": ({"model": "planted/probit", **_SOUND_PAIRS, "tau": 0.5}, CARE, "Repeatability"),
    "insensitive": ({"model": "planted/probit", **_SOUND_PAIRS, "s": 1}, CARE, "Sensitivity"),
    "always first": ({"model": "planted/first"}, UNFIT, "Position"),
    "always tie": ({"model": "planted/tie"}, UNFIT, "Merit"),
    "a coin": ({"model": "planted/coin"}, UNFIT, "Merit"),
}
"""Judges of pairs by their fault: the judge, the word that is due, and the title of the first fact."""

SCORES: Mapping[str, tuple[dict[str, object], str, str | None]] = {
    "faultless": ({"model": "planted/rater", **_SOUND_RATER}, NO_FAULT, None),
    "lenient": ({"model": "planted/rater", **_SOUND_RATER, "specificity": 0.6}, CARE, "Leniency"),
    "strict": ({"model": "planted/rater", **_SOUND_RATER, "sensitivity": 0.6}, CARE, "Leniency"),
    "length-loving": ({"model": "planted/rater", **_SOUND_RATER, "length": 0.5}, CARE, "Length"),
    "noisy": ({"model": "planted/rater", **_SOUND_RATER, "noise": 0.4}, CARE, "Repeatability"),
    "wording-sensitive": ({"model": "planted/rater", **_SOUND_RATER, "wording": 0.2}, CARE, "Robustness"),
    "insensitive": (
        {"model": "planted/rater", "sensitivity": 0.55, "specificity": 0.55, "noise": 0.01},
        UNFIT,
        "Merit",
    ),
    "constant": ({"model": "planted/constant", "value": 1}, UNFIT, "Merit"),
    "a coin": ({"model": "planted/random"}, UNFIT, "Merit"),
}
"""The same for judges of single texts."""


def judged_pairs(seed: int = 7, names: Iterable[str] = PAIRS, replicates: int = 2) -> dict[str, Conclusion]:
    """The verdicts on judges of pairs at standard size; `seed` draws tasks, errors and noise."""
    judges = [_seeded(name, PAIRS[name][0], seed) for name in names]
    return verdicts_on(judges, ["vacuum", "ladder"], seed, replicates)


def verdicts_on(
    judges: Sequence[object], probes: Sequence[object], seed: int = 7, replicates: int = 1
) -> dict[str, Conclusion]:
    """The verdicts on judges of pairs at standard size, whatever they are and are asked."""
    overrides = {"judges": judges, "profile": "standard", "seed": seed, "replicates": replicates}
    study = build_study(load_config(None, {**overrides, "probes": probes}), Path())
    measured = [judge for judge in study.judges if not judge.baseline]
    estimates, shown = [], _Showings(study)
    for judge in measured:
        seen = Observations.of(_observed(shown, judge))
        for probe in study.build_probes():
            estimates += probe.estimates(judge.name, seen, seed)
        estimates += [*loss_estimates(judge.name, seen, seed), *merit_estimates(judge.name, seen, {}, seed)]
    entries = tuple(_entry(judge) for judge in measured)
    sheet = Datasheet("faults", seed, "sha256:0", "0", "standard", entries, tuple(estimates))
    return _verdicts(replace(sheet, findings=tuple(decisions_of(entries, estimates))))


def judged_scores(
    folder: Path, rows: int = 200, seed: int = 7, names: Iterable[str] = SCORES
) -> dict[str, Conclusion]:
    """The verdicts on judges of single texts, on so many labelled rows of one's own."""
    path = folder / f"rows-{rows}-{seed}.csv"
    _write_rows(path, rows, seed)
    overrides = {
        "judges": [_seeded(name, SCORES[name][0], seed) for name in names],
        "profile": "standard",
        "seed": seed,
        "task": {"scale": "binary", "rubric": "1 where the answer is right."},
        "data": {"path": str(path), "columns": {"request": "q", "response": "a", "label": "l", "id": "n"}},
        "probes": ["vacuum", "format_invariance_1", "format_invariance_3", "stochastic_stability"],
    }
    study = build_study(load_config(None, overrides), Path())
    measured, shown = [judge for judge in study.judges if not judge.baseline], _Showings(study)
    sheet = assemble(
        name="faults",
        seed=seed,
        profile="standard",
        stimulus_set="sha256:0",
        judges=[_entry(judge) for judge in measured],
        probes=study.build_probes(),
        observations=[seen for judge in measured for seen in _observed(shown, judge)],
        run={},
        own_data=True,
    )
    assert not sheet.faults
    return {verdict.judge: verdict for verdict in sheet.verdicts}


def _seeded(name: str, judge: str | dict[str, object], seed: int) -> dict[str, object]:
    return {"name": name, "seed": seed, **(judge if isinstance(judge, dict) else {"model": judge})}


def _entry(judge: Judge) -> JudgeEntry:
    return JudgeEntry(judge.name, judge.address, judge.baseline, {})


def _verdicts(sheet: Datasheet) -> dict[str, Conclusion]:
    faults = Faults()
    verdicts = {verdict.judge: verdict for verdict in conclusions_of(sheet, faults)}
    assert not faults.found
    return verdicts


def _observed(shown: _Showings, judge: Judge) -> Iterator[Observation]:
    """What a planted judge answers to everything that its study shows."""
    provider, study = Planted(judge), shown.study
    showings = shown.to(frozenset(judge.protocols))
    provider.set_labels({showing.stimulus.id: showing.stimulus for showing in showings}.values())
    for showing in showings:
        stimulus = showing.stimulus
        scale = study.task.scale if stimulus.scale is None else parse_scale(stimulus.scale)
        texts = stimulus.texts if showing.order == "uv" else tuple(reversed(stimulus.texts))
        trial = f"{stimulus.id}/{showing.order}/{showing.replicate}"
        presentation = Presentation(
            (), Slots(stimulus.request, texts), scale.answers, Decoding(), trial=trial
        )
        answer = provider.score(presentation) if len(texts) == 1 else provider.answer(presentation)
        verdict = Tie() if answer == "tie" else Decided(answer)
        yield Observation(
            judge.name, "base", stimulus, showing.order, showing.replicate, verdict, Usage(), ""
        )


@dataclass(frozen=True)
class _Showings:
    """What a study shows, made once for all judges that have the same protocols."""

    study: Study
    known: dict[frozenset[str], list[Showing]] = field(default_factory=dict)

    def to(self, protocols: frozenset[str]) -> list[Showing]:
        if protocols not in self.known:
            found: dict[tuple[str, str, int], Showing] = {}
            for probe in self.study.build_probes():
                for showing in probe.showings(self.study.design, protocols):
                    if showing.protocol == "base":
                        found.setdefault((showing.stimulus.id, showing.order, showing.replicate), showing)
            self.known[protocols] = list(found.values())
        return self.known[protocols]


@cache
def _vocabulary() -> tuple[str, ...]:
    words = "amber birch cedar delta ember fjord grove heath inlet jetty knoll ledge marsh north ocean pines"
    return tuple(words.split())


def _write_rows(path: Path, rows: int, seed: int) -> None:
    """Texts of 30 to 90 words; their length has nothing to do with their label."""
    chance = Random(f"rows/{seed}")
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["n", "q", "a", "l"])
        for number in range(rows):
            text = ". ".join(
                " ".join(chance.choices(_vocabulary(), k=chance.randint(6, 9))).capitalize()
                for _ in range(chance.randint(5, 10))
            )
            writer.writerow([number, f"What about case {number}?", f"{text}.", number % 2])


def rates(folder: Path, seeds: Iterable[int], rows: int = 300) -> Iterator[tuple[str, str, int, int, int]]:
    """Form, judge, seeds, how often the word is the due one, how often the fault is the due one alone."""
    tallies: dict[tuple[str, str], list[tuple[bool, bool]]] = {}
    for seed in seeds:
        for form, due, found in (
            ("pairs", PAIRS, judged_pairs(seed)),
            ("single texts", SCORES, judged_scores(folder, rows, seed)),
        ):
            for name, verdict in found.items():
                _, word, title = due[name]
                alone = [fact.title for fact in verdict.facts if fact.cause] == [title] if title else True
                tallies.setdefault((form, name), []).append((verdict.word == word, alone))
    for (form, name), each in tallies.items():
        yield form, name, len(each), sum(word for word, _ in each), sum(all(both) for both in each)
