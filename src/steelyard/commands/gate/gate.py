"""`gate`: read the datasheet, decide by the policy, issue a certificate; or verify one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

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
from steelyard.commands.gate.policy import PolicyLike, find_policy
from steelyard.commands.gate.ruling import (
    GATE_INCONCLUSIVE,
    Ruling,
    apply_policy,
    select_judges,
    withhold_partial,
)
from steelyard.core.atomic_write import atomic_write_text
from steelyard.errors import StoreError
from steelyard.metrics.findings import MARGIN
from steelyard.run_folder.published_files import read_datasheet


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
    names = select_judges(sheet.judges, judges, str(folder))
    refuse_stale(sheet, policy, now, str(folder))
    ruling = apply_policy(sheet, policy, names, policy.name or "policy")
    if reference is not None:
        checks, notes = drift_checks(folder, reference, policy, ruling, margin)
        ruling = replace(ruling, checks=(*ruling.checks, *checks), notes=(*ruling.notes, *notes))
    ruling = withhold_partial(with_flags(ruling, sheet, policy), sheet)
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


def check_certificate(
    target: Path,
    certificate_file: Path,
    now: datetime,
    judges: Sequence[str] = (),
    given: PolicyLike | None = None,
) -> Certificate:
    instruments = Instruments.of(target)
    names = select_judges(instruments.judges, judges, str(target))
    certificate = read_certificate(certificate_file)
    policy = None if given is None else find_policy(given)
    verify(certificate, str(certificate_file), instruments, names, now, policy)
    return certificate
