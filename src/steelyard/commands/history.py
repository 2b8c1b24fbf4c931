"""Runs of one judge in order of time, and the control chart of each: has it changed since its certificate?

A judge asked otherwise, or on another scale, is another series, named by what differs.

Two runs of a judge that is asked in the same way answer the same calls. If it has not changed, either answer
could have come from either run: the difference of each pair or item may have its sign flipped, whatever
cluster it belongs to. The test is exact for this question and says nothing of other texts.

An error of .05 a year is spread evenly over the runs that a year may have, and over the figures charted by
Holm's method. Of a judge that never changes, one year in twenty shows a mark at most.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from math import ceil, log2
from pathlib import Path

import numpy as np

from steelyard.commands.compare import Verdicts, paired_events
from steelyard.commands.gate.gate import NAME, read_certificate, with_zone
from steelyard.commands.gate.ruling import PASS
from steelyard.core.content_hash import canonical_json, content_hash, short_hash
from steelyard.core.files import atomic_write_text, cache_folder, signature
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.instrument_card import JudgeEntry, card_texts
from steelyard.errors import SteelyardError
from steelyard.metrics.comparison.comparison import Comparison, compare_units
from steelyard.metrics.comparison.paired import Paired
from steelyard.metrics.comparison.unit_events import Units
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.multiplicity import holm
from steelyard.metrics.stats.intervals import ALPHA, sign_flip
from steelyard.run_folder.publication import plug_ins_installed, program_digest, stored_digests
from steelyard.run_folder.run_folder import RunFolder

SHORT = 60
"""Letters of a setting that a title says; of a longer text it says the hash."""
NO_SETTINGS = "settings left at their defaults"
NOT_ASKED = ("price", "latency")
"""Facts of an instrument card that decide no verdict."""


@dataclass(frozen=True)
class JudgeCertificate:
    """What `certificate.json` of a run says of one judge of it."""

    result: str
    issued: datetime
    expires: datetime | None

    def state(self, now: datetime) -> str:
        if self.result != PASS:
            return "not passed"
        return "expired" if self.expires is not None and self.expires <= now else "valid"


def certificate_of(folder: Path, sheet: Datasheet, judge: JudgeEntry) -> JudgeCertificate | None:
    """None where there is no file, or one that speaks of other stimuli or of a judge asked otherwise."""
    try:
        certificate = read_certificate(folder / NAME)
    except SteelyardError:
        return None
    own = next((each for each in certificate.judges if each.name == judge.name), None)
    if own is None or certificate.stimulus_set != sheet.stimulus_set:
        return None
    if not own.protocols.items() <= dict(judge.protocols).items():
        return None
    return JudgeCertificate(own.result, certificate.issued, certificate.expires)


@dataclass(frozen=True)
class RunPoint:
    """One judge in one run."""

    number: int
    """Place of the run among the folders."""
    path: Path
    sheet: Datasheet
    judge: JudgeEntry
    certificate: JudgeCertificate | None = None

    @property
    def folder(self) -> str:
        return self.path.name

    @property
    def side(self) -> str:
        """As the page of comparisons takes it."""
        return f"{self.number}:{self.judge.name}"

    @property
    def finished(self) -> datetime | None:
        try:
            return with_zone(datetime.fromisoformat(self.sheet.facts.finished or ""))
        except ValueError:
            return None

    @property
    def scale(self) -> str:
        """`binary`, `1-5`, `pairwise`; of recorded verdicts that of the first, empty where that is unread."""
        for card in self.sheet.instruments:
            if card.judge == self.judge.name:
                return card.scale
        try:
            with RunFolder(self.path).imported[0].open(encoding="utf-8") as lines:
                return str(json.loads(lines.readline()).get("scale", self.sheet.form))
        except (OSError, ValueError):
            return ""

    @property
    def is_certified(self) -> bool:
        return self.certificate is not None and self.certificate.result == PASS


@dataclass(frozen=True)
class JudgeSeries:
    judge: str
    points: tuple[RunPoint, ...]
    """Oldest first."""
    settings: str = ""
    """What tells it from other series of the same name: `temperature 1`; empty for the only one."""

    @property
    def title(self) -> str:
        return f"{self.judge}, {self.settings}" if self.settings else self.judge

    def reference(self, place: int) -> int | None:
        """The run that the one at a place is compared with: that of the certificate before it.

        Without a certificate it is the first run. None for the run that nothing comes before.
        """
        certified = [number for number in range(place) if self.points[number].is_certified]
        return (certified or [0])[-1] if place else None


def series_of(runs: Iterable[tuple[int, Path, Datasheet | None]]) -> list[JudgeSeries]:
    """The judges that several runs measured, by name, fingerprint (unless recorded elsewhere) and scale."""
    points = [
        RunPoint(number, path, sheet, judge, certificate_of(path, sheet, judge))
        for number, path, sheet in runs
        if sheet is not None
        for judge in sheet.judges
        if not judge.baseline
    ]
    named: dict[str, dict[tuple[str, str], list[RunPoint]]] = {}
    for point in sorted(points, key=lambda point: (point.sheet.facts.finished or "", point.number)):
        asked = point.judge.instruments.get("base", ""), point.scale
        named.setdefault(point.judge.name, {}).setdefault(asked, []).append(point)
    found = []
    for name, kinds in named.items():
        if sum(map(len, kinds.values())) > 1:
            settings = _differences([points[-1] for points in kinds.values()])
            made = [JudgeSeries(name, tuple(p), s) for p, s in zip(kinds.values(), settings, strict=True)]
            found += sorted(made, key=lambda series: -len(series.points))
    return sorted(found, key=lambda series: len(series.points) < 2)  # what can be compared comes first


def _differences(points: Sequence[RunPoint]) -> list[str]:
    """What each of several judges of one name is asked that the others are not; empty for a single one."""
    if len(points) < 2:
        return [""]
    every = [_asked(point) for point in points]
    labels = dict.fromkeys(label for facts in every for label in facts)
    told = [label for label in labels if len({facts.get(label) for facts in every}) > 1]
    said = []
    for point, facts in zip(points, every, strict=True):
        parts = [_setting(label, facts[label]) for label in told if label in facts]
        asked = point.judge.instruments.get("base")
        said.append(
            ", ".join(parts) or ("recorded" if not asked else NO_SETTINGS if told else _fingerprint(asked))
        )
    repeated = {text for text in said if said.count(text) > 1}
    return [
        f"{text}, {_fingerprint(point.judge.instruments.get('base', 'none'))}" if text in repeated else text
        for text, point in zip(said, points, strict=True)
    ]


def _asked(point: RunPoint) -> Mapping[str, str]:
    """Label to what decides a verdict; nothing where the folder does not know."""
    cards = [card for card in point.sheet.instruments if card.judge == point.judge.name]
    known = {
        label: text
        for card in card_texts(cards, {})
        for label, text in (*card.facts, *card.texts)
        if label not in NOT_ASKED and "as it was sent" not in label
    }
    return {"model": point.judge.made, "scale": point.scale, **known}


def _fingerprint(asked: str) -> str:
    return f"fingerprint {short_hash(asked)}"


def _setting(label: str, text: str) -> str:
    return f"{label} {text if len(text) <= SHORT and chr(10) not in text else short_hash(content_hash(text))}"


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
    """Pairs or items that must all differ in one direction for a mark, where so many figures are tested."""
    return 1 + ceil(log2(tests / alpha))


def with_enough_pairs(tests: Mapping[str, PairedTest], alpha: float) -> dict[str, PairedTest]:
    """The figures less those of fewest pairs, until any that is left could be marked by itself."""
    kept = sorted(tests, key=lambda figure: -tests[figure].n_pairs)
    while kept and tests[kept[-1]].n_pairs < pairs_needed(len(kept), alpha):
        kept.pop()
    return {figure: test for figure, test in tests.items() if figure in kept}


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
