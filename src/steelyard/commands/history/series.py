"""Runs of one judge in order of time: a judge asked otherwise is another series, named by what differs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from steelyard.commands.gate.gate import NAME, read_certificate
from steelyard.commands.gate.ruling import PASS
from steelyard.core.content_hash import content_hash, short_hash
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.instrument_card import card_texts
from steelyard.datasheet.judge_entry import JudgeEntry
from steelyard.errors import SteelyardError

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

    def is_expired(self, now: datetime) -> bool:
        return self.expires is not None and self.expires <= now

    def state(self, now: datetime) -> str:
        if self.result != PASS:
            return "not passed"
        return "expired" if self.is_expired(now) else "valid"


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
    expires = certificate.expires
    return JudgeCertificate(
        own.result, _aware(certificate.issued), None if expires is None else _aware(expires)
    )


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


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
            return _aware(datetime.fromisoformat(self.sheet.facts.finished or ""))
        except ValueError:
            return None

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
    """The judges that several runs measured, by name and fingerprint; verdicts recorded elsewhere by name."""
    points = [
        RunPoint(number, path, sheet, judge, certificate_of(path, sheet, judge))
        for number, path, sheet in runs
        if sheet is not None
        for judge in sheet.judges
        if not judge.baseline
    ]
    named: dict[str, dict[str, list[RunPoint]]] = {}
    for point in sorted(points, key=lambda point: (point.sheet.facts.finished or "", point.number)):
        asked = point.judge.instruments.get("base", "")
        named.setdefault(point.judge.name, {}).setdefault(asked, []).append(point)
    found = []
    for name, by_print in named.items():
        if sum(map(len, by_print.values())) > 1:
            settings = _differences([points[-1] for points in by_print.values()])
            made = [JudgeSeries(name, tuple(p), s) for p, s in zip(by_print.values(), settings, strict=True)]
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
    return {"model": point.judge.made, **known}


def _fingerprint(asked: str) -> str:
    return f"fingerprint {short_hash(asked)}"


def _setting(label: str, text: str) -> str:
    return f"{label} {text if len(text) <= SHORT and chr(10) not in text else short_hash(content_hash(text))}"
