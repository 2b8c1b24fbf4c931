"""What a promise is tied to: the judges' fingerprints, and the day on which their certificate expires."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from steelyard.commands.gate.gate import NAME as CERTIFICATE
from steelyard.commands.gate.gate import read_certificate
from steelyard.commands.gate.ruling import PASS
from steelyard.commands.report import current_datasheet
from steelyard.core.content_hash import short_hash
from steelyard.errors import CertificateError, ConfigError
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_snapshot
from steelyard.study.judge_config import parse_judge
from steelyard.tasks.scale import parse_scale, scale_name
from steelyard.tasks.task import Task, question_hash
from steelyard.trust.options import FitOptions


def bindings(
    options: FitOptions, judges: Sequence[str], now: datetime
) -> tuple[dict[str, str], datetime | None]:
    """Fingerprints by judge, as far as they are known, and the expiry of the certificate."""
    prints: dict[str, str] = {}
    path = options.certificate
    if options.file.is_dir():
        prints = run_fingerprints(options.file, judges)
        usual = options.file / CERTIFICATE
        path = usual if path is None and usual.exists() else path
    prints |= _bound(options, judges)
    return (prints, None) if path is None else _certified(path, judges, prints, now)


def run_fingerprints(folder: Path, judges: Sequence[str]) -> dict[str, str]:
    entries = {entry.name: entry.protocols for entry in current_datasheet(folder).judges}
    return {name: entries[name]["base"] for name in judges if "base" in entries.get(name, {})}


def run_question(folder: Path) -> tuple[str | None, str | None]:
    """The scale of a run, and the hash of what it asks; None where the folder is an import."""
    run = RunFolder(folder)
    if not run.study.exists():
        return None, None
    study = load_snapshot(run.study)
    own = [
        Task(item.instruction or study.task.instruction, item.rubric or study.task.rubric, study.task.scale)
        for item in study.items
    ]
    return scale_name(study.task.scale), question_hash(own or [study.task])


def _bound(options: FitOptions, judges: Sequence[str]) -> dict[str, str]:
    made = {}
    for text in options.bind:
        name, sign, spec = text.partition("=")
        if not sign or name not in judges:
            if len(judges) != 1:
                raise ConfigError(
                    f"--bind: found {text!r} beside several judges, expected NAME=JUDGE with one of "
                    f"{', '.join(judges)}; write whose it is."
                )
            name, spec = judges[0], text
        if options.reading.scale is None:
            raise ConfigError(
                "--bind: found without --scale, expected the scale that the judge is asked on; add it."
            )
        made[name] = parse_judge(spec, Path(), parse_scale(options.reading.scale)).fingerprint("base")
    return made


def _certified(
    path: Path, judges: Sequence[str], prints: dict[str, str], now: datetime
) -> tuple[dict[str, str], datetime | None]:
    certificate = read_certificate(path)
    expires = certificate.expires
    if expires is not None and expires.tzinfo is None:
        expires = expires.replace(tzinfo=UTC)
    if expires is not None and expires <= now:
        raise CertificateError(
            f"{path}: expired on {expires.isoformat(timespec='seconds')}; measure again and gate the new run."
        )
    known = {one.name: one for one in certificate.judges}
    made = dict(prints)
    for judge in judges:
        if judge not in known:
            raise CertificateError(
                f"{path}: does not speak of judge {judge!r}, only of {', '.join(known)}; gate it, or name "
                "its certificate with --certificate."
            )
        one = known[judge]
        if one.result != PASS:
            raise CertificateError(f"{path}: says {one.result} of judge {judge!r}, expected PASS.")
        certified = one.protocols.get("base", "none")
        if made.setdefault(judge, certified) != certified:
            raise CertificateError(
                f"{path}: judge {judge!r} was certified with fingerprint {short_hash(certified)}, found "
                f"{short_hash(made[judge])}; measure and gate the judge as it is."
            )
    return made, expires
