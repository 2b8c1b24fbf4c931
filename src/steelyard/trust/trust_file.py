"""`trust.json`: the promise, the thresholds behind it, the judges that it is tied to, and when it expires."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from steelyard.commands.gate.gate import NAME as CERTIFICATE
from steelyard.commands.gate.gate import Moment, certified_judge, read_certificate, refuse_expired
from steelyard.commands.report import current_datasheet
from steelyard.core.content_hash import content_hash, short_hash
from steelyard.core.files import read_problem
from steelyard.core.validation import checked
from steelyard.errors import CertificateError, ConfigError
from steelyard.providers.provider import shows_question
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_snapshot
from steelyard.study.judge_config import parse_judge
from steelyard.tasks.task import Scale, Task, parse_scale, question_hash, scale_name
from steelyard.trust.fit import Stage, TrustFit
from steelyard.trust.options import FitOptions
from steelyard.trust.verdict_table import by_judge
from steelyard.version import __version__

SCHEMA = "steelyard.trust/1"
NAME = "trust.json"
UNSURE, NO_ANSWER, NO_SIGNAL = "no judge is sure", "no judge gave an answer", "no signal of confidence"
UNKNOWN_ANSWER = "an answer that no judge gave in the fit"


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class JuryMember(_Body):
    judge: str
    calls: int = Field(ge=1)
    fingerprint: str | None = None


class TrustedSignal(_Body):
    name: str
    kind: str
    calls: int | None = None
    """Of the judge and of the jury together."""
    share: bool = False
    """Whether it lay between 0 and 1 where the threshold was fitted, so that no other number can be it."""
    jury: list[JuryMember] = Field(default_factory=list)
    """Other judges whose answers the signal rests on."""

    def admits(self, value: float) -> bool:
        return isfinite(value) and (not self.share or 0 <= value <= 1)

    @property
    def own_calls(self) -> int:
        return (self.calls or 1) - sum(member.calls for member in self.jury)


class TrustedStage(_Body):
    judge: str
    signal: TrustedSignal
    threshold: float | None = None
    fingerprint: str | None = None

    @property
    def judges(self) -> list[TrustedStage | JuryMember]:
        """All that are asked, jurors too."""
        return [self, *self.signal.jury]

    def accepts(self, signal: float) -> bool:
        return self.threshold is not None and signal >= self.threshold


class TrustPromise(_Body):
    error: float = Field(gt=0, lt=1)
    confidence: float = Field(gt=0, lt=1)
    only: str | None = None


class TrustFile(_Body):
    schema_name: str = Field(alias="schema")
    promise: TrustPromise
    stages: list[TrustedStage]
    verdicts: int = Field(ge=1)
    accepted: int = Field(ge=0)
    people: str | None = None
    """Column of the labels."""
    columns: dict[str, str] = Field(default_factory=dict)
    """Columns of items and tasks, and of the parts of a long table; none in files of earlier versions."""
    scale: str | None = None
    values: str | None = None
    answers: list[str] = Field(default_factory=list)
    """All answers that judges and people gave."""
    label_hash: str | None = None
    """Of items and labels."""
    question: str | None = None
    """Hash of instruction and rubric, where a run holds them."""
    refused: str | None = None
    issued: Moment
    expires: Moment | None = None
    digest: str

    @property
    def used(self) -> list[TrustedStage]:
        """Stages that accept anything."""
        return [stage for stage in self.stages if stage.threshold is not None]

    @property
    def judges(self) -> list[TrustedStage | JuryMember]:
        return [one for stage in self.used for one in stage.judges]

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset((*self.answers, *(parse_scale(self.scale).answers if self.scale else ())))

    def why_not(self, stage: TrustedStage, answer: str | None, signal: float | None) -> str | None:
        """Why an answer of a judge is not accepted; None where it is."""
        if answer is None:
            return NO_ANSWER
        if answer not in self._known:
            return UNKNOWN_ANSWER
        if signal is None or not stage.signal.admits(signal):
            return NO_SIGNAL
        return None if stage.accepts(signal) else UNSURE

    def require_valid(self, where: str, now: datetime) -> None:
        """Refuse a promise that was never shown, or whose certificate has expired."""
        if self.refused is not None:
            raise CertificateError(f"{where}: holds a refusal, no promise ({self.refused}); fit it again.")
        if self.expires is not None and self.expires <= now:
            raise CertificateError(
                f"{where}: expired on {self.expires.isoformat(timespec='seconds')} with the judges' "
                "certificate; measure and gate them again, then fit the thresholds anew."
            )

    def require_tied(self, where: str) -> None:
        """Refuse a promise of which nobody can tell whether its judges are the same."""
        untied = [one.judge for one in self.judges if one.fingerprint is None]
        if untied:
            raise CertificateError(
                f"{where}: is tied to no fingerprint of judge {untied[0]!r}, so nobody can tell whether it "
                "is the same; fit it from a run folder, or with --certificate or --bind."
            )

    def require_judge(self, stage: TrustedStage | JuryMember, fingerprint: str, where: str) -> None:
        """Refuse a judge other than the one that the threshold was fitted for."""
        if stage.fingerprint != fingerprint:
            raise CertificateError(
                f"{where}: was fitted for judge {stage.judge!r} with fingerprint "
                f"{short_hash(stage.fingerprint or 'none')}, found {short_hash(fingerprint)}; the judge has "
                "changed, so fit the thresholds anew."
            )

    def require_scale(self, scale: Scale | None, where: str) -> None:
        """Refuse answers on another scale; None of answers whose scale nobody names."""
        fitted = None if self.scale is None else parse_scale(self.scale)
        if scale is not None and fitted is not None and scale_name(scale) != scale_name(fitted):
            raise CertificateError(
                f"{where}: was fitted on the scale {scale_name(fitted)}, found {scale_name(scale)}; ask on "
                "that scale, or fit the thresholds anew."
            )

    def require_question(self, question: str | None, where: str) -> None:
        """Refuse a judge that is asked something else; None of one that is shown no question."""
        if None not in (self.question, question) and self.question != question:
            raise CertificateError(
                f"{where}: was fitted for another instruction or rubric than is asked here; give the rubric "
                'of the run, as in trusted(judge, …, rubric="rubric.md"), or fit the thresholds anew.'
            )


def trust_body(
    fitted: TrustFit,
    refused: str | None,
    fingerprints: dict[str, str],
    expires: datetime | None,
    about: dict[str, str | None],
    now: datetime,
) -> dict[str, Any]:
    """The file's content; `about` is how the table was read."""
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "promise": asdict(fitted.promise),
        "refused": refused,
        "stages": [_stage(fitted, stage, fingerprints) for stage in fitted.stages],
        "routes": [{**asdict(route), "accepted": route.accepted} for route in fitted.routes],
        "verdicts": len(fitted.table.items),
        "accepted": int(fitted.accepted.sum()),
        "labels": {"clusters": fitted.units, "signal_chosen_on": fitted.chosen_on},
        "label_hash": fitted.table.label_hash,
        "source": fitted.table.name,
        "answers": fitted.table.known_answers,
        "columns": dict(fitted.table.columns),
        "seed": fitted.seed,
        **about,
        "version": __version__,
        "issued": now.isoformat(timespec="seconds"),
        "expires": None if expires is None else expires.isoformat(timespec="seconds"),
    }
    plain = json.loads(json.dumps(body))  # as JSON has it: tuples are lists
    return {**plain, "digest": content_hash(plain)}


def _stage(fitted: TrustFit, stage: Stage, prints: dict[str, str]) -> dict[str, Any]:
    kept, signal = stage.threshold, stage.signal
    about: dict[str, Any] = {
        "name": signal.name,
        "kind": signal.kind,
        "calls": signal.calls,
        "share": signal.is_share,
    }
    if signal.jury:
        members = signal.jury.items()
        about["jury"] = [{"judge": n, "calls": c, "fingerprint": prints.get(n)} for n, c in members]
    return {
        "judge": stage.judge,
        "fingerprint": prints.get(stage.judge),
        "signal": about,
        "threshold": None if kept is None else kept.value,
        "labels": {
            "reached": stage.left,
            "accepted": 0 if kept is None else kept.accepted,
            "wrong": 0 if kept is None else kept.wrong,
        },
        "bound": None if kept is None else kept.bound,
        "verdicts": {"reached": stage.reached, "accepted": stage.accepted},
        "signals": [asdict(each) for each in fitted.quality[stage.judge]],
        "curve": [{**asdict(point), "value": point.value} for point in fitted.curves[stage.judge]],
    }


def read_trust(path: Path) -> TrustFile:
    again = "fit it again with `steelyard trust fit`"
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {read_problem(path, error)}, expected {NAME}; {again}.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid JSON, expected {NAME}; {again}.") from error
    if not isinstance(body, dict) or body.get("schema") != SCHEMA:
        found = body.get("schema") if isinstance(body, dict) else type(body).__name__
        raise ConfigError(f"{path}: found schema {found!r}, expected {SCHEMA!r}; {again}.")
    digest = _digest(body)
    if digest is None or digest != body.get("digest"):
        raise ConfigError(
            f"{path}: its content is not that of its digest, expected a file as it was written; {again}."
        )
    return checked(TrustFile, body, str(path))


def _digest(body: dict[str, Any]) -> str | None:
    """Of all but the digest itself; None of what no promise holds: NaN, or lists without end."""
    try:
        return content_hash({key: value for key, value in body.items() if key != "digest"})
    except (ValueError, RecursionError):
        return None


def bindings(
    options: FitOptions, judges: Sequence[str], scale: str | None, now: datetime
) -> tuple[dict[str, str], datetime | None]:
    """Fingerprints by judge, as far as they are known, and the expiry of the certificate."""
    prints: dict[str, str] = {}
    path = options.certificate
    tied = "--bind" if options.bind else "--certificate" if path is not None else None
    if scale is None and tied is not None:
        raise ConfigError(
            f"{tied}: found without --scale, expected the scale that the judge is asked on; add it."
        )
    if options.file.is_dir():
        prints = run_fingerprints(options.file, judges)
        usual = options.file / CERTIFICATE
        path = usual if path is None and usual.exists() else path
    for name, spec in by_judge("--bind", "NAME=JUDGE", options.bind, judges):
        prints[name] = parse_judge(spec, Path(), parse_scale(scale or "")).fingerprint("base")
    return (prints, None) if path is None else _certified(path, judges, prints, now)


def run_fingerprints(folder: Path, judges: Sequence[str]) -> dict[str, str]:
    entries = {entry.name: entry.protocols for entry in current_datasheet(folder).judges}
    return {name: entries[name]["base"] for name in judges if "base" in entries.get(name, {})}


def run_question(folder: Path, judges: Collection[str]) -> tuple[Scale | None, str | None]:
    """The scale of a run, None of an import, and the hash of what these judges are shown, if anything."""
    run = RunFolder(folder)
    if not run.study.exists():
        return None, None
    study = load_snapshot(run.study)
    own = [
        Task(item.instruction or study.task.instruction, item.rubric or study.task.rubric, study.task.scale)
        for item in study.items
    ]
    shown = any(shows_question(judge) for judge in study.judges if judge.name in judges)
    return study.task.scale, question_hash(own or [study.task]) if shown else None


def _certified(
    path: Path, judges: Sequence[str], prints: dict[str, str], now: datetime
) -> tuple[dict[str, str], datetime | None]:
    certificate = read_certificate(path)
    refuse_expired(certificate, str(path), now)
    made = dict(prints)
    for judge in judges:
        one = certified_judge(certificate, str(path), judge)
        one.require_pass(path)
        certified = one.protocols.get("base", "none")
        if made.setdefault(judge, certified) != certified:
            raise CertificateError(
                f"{path}: judge {judge!r} was certified with fingerprint {short_hash(certified)}, found "
                f"{short_hash(made[judge])}; measure and gate the judge as it is."
            )
    return made, certificate.expires
