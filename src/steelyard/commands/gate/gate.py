"""`gate`: read the datasheet, decide by the policy, issue a certificate; or verify one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeAlias

from steelyard.commands.gate.certificate import (
    NAME,
    Certificate,
    Instruments,
    issue,
    read_certificate,
    refuse_stale,
    verify,
)
from steelyard.commands.gate.drift import drift_checks
from steelyard.commands.gate.flags import with_flags
from steelyard.commands.gate.policy import Policy, PolicyLike, find_policy
from steelyard.commands.gate.ruling import (
    GATE_INCONCLUSIVE,
    Check,
    Ruling,
    apply_policy,
    select_judges,
    withhold_partial,
)
from steelyard.core.atomic_write import atomic_write_text
from steelyard.datasheet.datasheet import Datasheet
from steelyard.errors import ConfigError, StoreError
from steelyard.metrics.findings import MARGIN
from steelyard.run_folder.published_files import read_datasheet

DriftChecks: TypeAlias = Callable[[Ruling], tuple[list[Check], list[str]]]
"""Checks against a reference, and notes, given the ruling by the policy."""


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
    sheet = read_datasheet(folder)
    names = select_judges(sheet, judges, str(folder))
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
) -> Certificate:
    """Verify a certificate for the judges of a run folder or of a study file."""
    if target.is_file():
        instruments = Instruments.of_study(target)
    else:
        instruments = Instruments.of_datasheet(read_datasheet(target), str(target))
    known = [judge.name for judge in instruments.judges]
    own = [judge.name for judge in instruments.judges if not judge.baseline]
    for name in judges:
        if name not in known:
            raise ConfigError(f"{target}: no judge {name!r}, expected one of {', '.join(known)}.")
    certificate = read_certificate(certificate_file)
    policy = None if given is None else find_policy(given)
    verify(certificate, str(certificate_file), instruments, judges or own, now, policy)
    return certificate
