"""`gate`: decide by the policy and issue `certificate.json`, or verify one that was issued.

A ruling is reported as JUnit XML for continuous integration, and as Markdown for a job summary or a pull
request. JUnit has one test suite per judge and one test case per check. FAIL is a `failure`. INCONCLUSIVE is
an `error`: a skipped test would look as if nothing were wrong.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias
from xml.etree import ElementTree

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from steelyard.commands.gate.drift import drift_checks
from steelyard.commands.gate.policy import Policy, PolicyLike, find_policy
from steelyard.commands.gate.ruling import (
    FAIL,
    GATE_INCONCLUSIVE,
    ORDER,
    PASS,
    Check,
    Ruling,
    apply_policy,
    select_judges,
    with_flags,
    withhold_partial,
    worst,
)
from steelyard.commands.report import current_datasheet, current_lines, has_record
from steelyard.core.content_hash import content_hash, short_hash
from steelyard.core.files import atomic_write_text, read_problem
from steelyard.core.text import escape_control_chars
from steelyard.core.validation import reason
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.errors import CertificateError, ConfigError, StoreError
from steelyard.metrics.findings import MARGIN
from steelyard.run_folder.published_files import results_hash, with_estimate
from steelyard.study.planner import make_plan
from steelyard.study.study_file import build_study, load_config
from steelyard.study.study_files import Consent, refuse
from steelyard.trials.judge import Judge
from steelyard.version import __version__

SCHEMA = "steelyard.certificate/1"
NAME = "certificate.json"


def with_zone(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


Moment = Annotated[datetime, AfterValidator(with_zone), Field(strict=False)]
"""A date of a file; without a zone it is of UTC."""


class _CertificateBody(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class CertifiedJudge(_CertificateBody):
    name: str
    model: str
    protocols: dict[str, str]
    result: str

    def require_pass(self, where: Path) -> None:
        if self.result != PASS:
            raise CertificateError(
                f"{where}: says {self.result} of judge {self.name!r}, expected PASS; take a judge that "
                "passes, or gate the run by another policy with `steelyard gate DIR --policy FILE`."
            )


class Versions(_CertificateBody):
    steelyard: str
    python: str


class Certificate(_CertificateBody):
    schema_name: str = Field(alias="schema")
    result: str
    judges: list[CertifiedJudge]
    stimulus_set: str
    policy: dict[str, Any]
    versions: Versions
    measured: str | None = None
    issued: Moment
    expires: Moment | None = None


def issue(sheet: Datasheet, policy: Policy, ruling: Ruling, now: datetime) -> dict[str, Any]:
    """The certificate of a ruling that passes, or the record of one that fails, which nothing accepts."""
    entries = {judge.name: judge for judge in sheet.judges}
    measured = sheet.run.get("finished")
    return {
        "schema": SCHEMA,
        "study": sheet.name,
        "result": ruling.result,
        "judges": [
            {
                "name": name,
                "model": entries[name].model,
                "protocols": dict(entries[name].protocols),
                "result": worst(check.result for check in ruling.of(name)),
                **({"caveats": told} if (told := sheet.caveats(name)) else {}),
            }
            for name in ruling.judges
        ],
        "stimulus_set": sheet.stimulus_set,
        "policy": dict(policy.body),
        "checks": [check.to_json() for check in ruling.checks],
        "versions": {"steelyard": sheet.version, "python": platform.python_version()},
        "measured": measured if isinstance(measured, str) else None,
        "issued": now.isoformat(timespec="seconds"),
        "expires": (now + policy.valid_for).isoformat(timespec="seconds") if policy.valid_for else None,
    }


def refuse_stale(sheet: Datasheet, policy: Policy, now: datetime, where: str) -> None:
    measured = sheet.run.get("finished")
    if policy.valid_for is None or not isinstance(measured, str):
        return
    try:
        finished = with_zone(datetime.fromisoformat(measured))
    except ValueError:
        return
    if finished + policy.valid_for < now:
        raise CertificateError(
            f"{where}: measured on {measured}, longer ago than the policy's {policy.body['valid_for']}; "
            "measure again into another --out."
        )


def read_certificate(path: Path) -> Certificate:
    try:
        certificate = Certificate.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(
            f"{path}: {read_problem(path, error)}, expected a certificate; write one with "
            "`steelyard gate DIR --policy FILE`."
        ) from error
    except ValidationError as error:
        why = reason(error, Certificate)
        raise ConfigError(f"{path}: not a certificate ({why}); gate the run again.") from error
    except ValueError as error:
        raise ConfigError(f"{path}: not a certificate ({error}); gate the run again.") from error
    if certificate.schema_name != SCHEMA:
        raise ConfigError(
            f"{path}: found schema {certificate.schema_name!r}, expected {SCHEMA!r}; gate again."
        )
    return certificate


def require_certified(judge: Judge, path: Path, now: datetime) -> None:
    """Refuse a judge whose code, prompt or model has changed since it was certified."""
    certificate = read_certificate(path)
    refuse_expired(certificate, str(path), now)
    prints = {name: judge.fingerprint(name) for name in judge.protocols}
    certified = next((one for one in certificate.judges if one.protocols.items() <= prints.items()), None)
    if certified is None:
        names = ", ".join(
            f"{one.name} ({short_hash(one.protocols.get('base', 'none'))})" for one in certificate.judges
        )
        raise CertificateError(
            f"{path}: speaks of {names}, found {judge.name} with fingerprint {short_hash(prints['base'])}; "
            "the judge has changed since it was certified: measure and gate it as it is."
        )
    certified.require_pass(path)


def refuse_expired(certificate: Certificate, where: str, now: datetime) -> None:
    if certificate.expires is not None and certificate.expires <= now:
        raise CertificateError(
            f"{where}: expired on {certificate.expires.isoformat(timespec='seconds')}; "
            "measure again and gate the new run."
        )


def certified_judge(certificate: Certificate, where: str, name: str) -> CertifiedJudge:
    certified = next((judge for judge in certificate.judges if judge.name == name), None)
    if certified is None:
        names = ", ".join(judge.name for judge in certificate.judges)
        raise CertificateError(f"{where}: does not speak of judge {name!r}, only of {names}; gate it.")
    return certified


def gate(
    folder: Path,
    given: PolicyLike,
    now: datetime,
    judges: Sequence[str] = (),
    reference: Path | None = None,
    margin: float = MARGIN,
) -> tuple[Ruling, Path | None]:
    """Decide by the policy and write the certificate into the folder.

    Nothing is written, and an earlier certificate is taken back, where nothing is decided. The path is None
    there, and where the folder can not be written to.
    """
    policy = find_policy(given)
    sheet = current_datasheet(folder)
    if not has_record(folder):
        raise ConfigError(
            f"{folder}: datasheet.json stands alone, expected the replies or recorded verdicts that it was "
            "computed from; gate the folder that `measure` or `import` wrote."
        )
    sheet = with_estimate(sheet, folder, lambda: results_hash(current_lines(folder)))
    names = select_judges(sheet.judges, judges, str(folder))
    refuse_stale(sheet, policy, now, str(folder))
    drift = partial(drift_checks, folder, reference, policy, margin=margin) if reference is not None else None
    ruling = rule_on(sheet, policy, names, drift)
    certificate = folder / NAME
    try:
        if ruling.result == GATE_INCONCLUSIVE:
            certificate.unlink(missing_ok=True)
            return ruling, None
        body = issue(sheet, policy, ruling, now)
        atomic_write_text(certificate, json.dumps(body, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    except (StoreError, OSError):
        return ruling, None
    return ruling, certificate


DriftChecks: TypeAlias = Callable[[Ruling], tuple[list[Check], list[str]]]
"""Checks against a reference, and notes, given the ruling by the policy."""


def rule_on(
    sheet: Datasheet, policy: Policy, judges: Sequence[str], drift: DriftChecks | None = None
) -> Ruling:
    """Everything that decides: the rules, drift from a reference, flagged readings, missing calls."""
    ruling = apply_policy(sheet, policy, judges, policy.name or "policy")
    if drift is not None:
        checks, notes = drift(ruling)
        ruling = replace(ruling, checks=(*ruling.checks, *checks), notes=(*ruling.notes, *notes))
    return withhold_partial(with_flags(ruling, sheet, policy), sheet)


def check_certificate(
    target: Path,
    certificate_file: Path,
    now: datetime,
    judges: Sequence[str] = (),
    given: PolicyLike | None = None,
    consent: Consent = refuse,
) -> Certificate:
    entries, stimulus_set, version = _instruments(target, consent)
    names = select_judges(entries, judges, str(target))
    certificate, where = read_certificate(certificate_file), certificate_file
    policy = None if given is None else json.loads(json.dumps(find_policy(given).body))  # as JSON has it
    refuse_expired(certificate, str(where), now)
    if certificate.stimulus_set != stimulus_set:
        raise CertificateError(
            f"{where}: issued for stimulus set {short_hash(certificate.stimulus_set)}, found "
            f"{short_hash(stimulus_set)} in {target}; gate that run."
        )
    if certificate.versions.steelyard != version:
        raise CertificateError(
            f"{where}: issued on figures of version {certificate.versions.steelyard}, found "
            f"{version} in {target}; measure and gate with one version."
        )
    if policy is not None and content_hash(policy) != content_hash(certificate.policy):
        raise CertificateError(f"{where}: issued by another policy than the one given; gate the run again.")
    present = {entry.name: entry.protocols for entry in entries}
    for certified in (certified_judge(certificate, str(where), name) for name in names):
        mine = present[certified.name]
        for protocol, fingerprint in certified.protocols.items():
            if mine.get(protocol) != fingerprint:
                raise CertificateError(
                    f"{where}: judge {certified.name!r} has another fingerprint under protocol {protocol!r} "
                    f"({short_hash(fingerprint)} certified, {short_hash(mine.get(protocol, 'none'))} in "
                    f"{target}); measure and gate the judge as it is."
                )
        certified.require_pass(where)
    return certificate


def _instruments(target: Path, consent: Consent) -> tuple[tuple[JudgeEntry, ...], str, str]:
    """The judges of a run or of a study file, their stimuli, and the version that made the figures."""
    if not target.is_file():
        sheet = current_datasheet(target)
        return sheet.judges, sheet.stimulus_set, sheet.version
    study = build_study(load_config(target, {}, consent=consent), target.parent)
    judges = tuple(JudgeEntry.of(judge, judge.protocols) for judge in study.judges)
    return judges, make_plan(study).stimuli.hash, __version__


_TAGS = {FAIL: "failure", GATE_INCONCLUSIVE: "error"}


def render_junit(ruling: Ruling) -> str:
    root = ElementTree.Element(
        "testsuites", {"name": escape_control_chars(ruling.study), **_counts(ruling.checks)}
    )
    for judge in ruling.judges:
        checks = tuple(ruling.of(judge))
        suite = ElementTree.SubElement(
            root, "testsuite", {"name": escape_control_chars(judge), **_counts(checks)}
        )
        for check in checks:
            _case(suite, check)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ElementTree.Element, check: Check) -> None:
    name = escape_control_chars(f"{check.rule} ({check.figure})")
    case = ElementTree.SubElement(
        suite, "testcase", classname=escape_control_chars(check.judge), name=name, time="0"
    )
    if check.result in _TAGS:
        message = escape_control_chars(f"{check.found}: {sentence(check)}")
        problem = ElementTree.SubElement(case, _TAGS[check.result], message=message, type=check.result)
        problem.text = message


def _counts(checks: tuple[Check, ...]) -> dict[str, str]:
    results = [check.result for check in checks]
    return {
        "tests": str(len(results)),
        "failures": str(results.count(FAIL)),
        "errors": str(results.count(GATE_INCONCLUSIVE)),
        "skipped": "0",
        "time": "0",
    }


def sentence(check: Check) -> str:
    return check.reason if check.more is None else f"{check.reason}; {check.more}"


MARKS = {"PASS": "✅", "FAIL": "❌", "INCONCLUSIVE": "❔"}


def render_markdown(ruling: Ruling) -> str:
    parts = [f"## Judge gate: {MARKS[ruling.result]} {ruling.result}", "", f"Study {_cell(ruling.study)}."]
    for judge in ruling.judges:
        checks = ruling.of(judge)
        result = worst(check.result for check in checks)
        parts += ["", f"### {_cell(judge)}: {MARKS[result]} {result}", ""]
        parts += ["| rule | figure | found | result | why |", "| :-- | :-- | :-- | :-- | :-- |"]
        parts += [
            f"| {_cell(check.rule)} | {_cell(check.figure)} | {_cell(check.found)} | "
            f"{MARKS[check.result]} {check.result} | {_cell(sentence(check))} |"
            for check in sorted(checks, key=lambda check: ORDER.index(check.result))
        ]
    if ruling.notes:
        parts += ["", *(f"- {_cell(note)}" for note in ruling.notes)]
    parts += ["", "Decided on whole 95 % intervals, never on points."]
    return "\n".join(parts) + "\n"


def _cell(text: str) -> str:
    shown = escape_control_chars(text)
    for sign in "\\`*_[]<>|#":
        shown = shown.replace(sign, f"\\{sign}")
    return shown
