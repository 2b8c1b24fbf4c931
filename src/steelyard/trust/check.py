"""`trust check`: audited verdicts against the promise, which may be looked at after every audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from math import exp, inf, lgamma, log
from pathlib import Path

import numpy as np

from steelyard.core.text import percent, pluralize
from steelyard.datasheet.render.html.drawing.forest_plot import IntervalRow
from steelyard.datasheet.render.report import PEOPLE, KeyEntry, Plot, Report, ReportTable, plot_domain
from steelyard.errors import ConfigError, DataError
from steelyard.metrics.stats.distributions import beta_sides
from steelyard.metrics.stats.intervals import Span, sequence_limits
from steelyard.trust.apply import ACCEPT, decide, read_for_trust
from steelyard.trust.options import CheckOptions
from steelyard.trust.trust_file import TrustFile, read_trust
from steelyard.trust.verdict_table import VerdictTable

SCHEMA = "steelyard.trust-check/1"
ALARM = 20.0
"""Evidence at which a promise is refuted: one that is kept reaches it with probability 1/20 at most."""
TIMES = (1.5, 2.0)
"""Actual errors, in multiples of the promised one, whose delay is said."""
PATHS, HORIZON = 1000, 3000
_LARGEST = 700.0
"""The exponential of more is no number."""
OWN_LABELS = (
    "These are the labels on which the promise was fitted: they say nothing of verdicts since then. Let "
    "people answer a random part of those."
)
NO_NAMES = (
    "Each row was taken as an audit of its own, since no column names the items: where several rows are of "
    "one item or task, name its column with --columns item=COLUMN or task=COLUMN."
)
MEANINGS = (
    (
        "evidence",
        f"Against the promise: a mixture of likelihood ratios that a kept promise lets grow to {ALARM:g} "
        f"with probability {1 / ALARM:g} at most, at all looks together.",
    ),
    ("error", "Share of audited answers that are wrong; its interval holds at every look."),
    ("delay", "Audits until half of all watches raise the alarm, simulated."),
)


@dataclass(frozen=True)
class Watch:
    audits: int
    wrong: int
    evidence: float
    """Against the promise, after the last audit."""
    highest: float
    alarm_at: int | None
    """Audit at which it first reached the alarm; None where it never did."""

    @property
    def error(self) -> float:
        return self.wrong / self.audits

    @property
    def limits(self) -> Span:
        return sequence_limits(self.wrong, self.audits)


def log_evidence_against(wrong: float, audits: int, promised: float) -> float:
    """Logarithm of the mixture of (p/α)^k ((1 − p)/(1 − α))^(n − k) over p, uniform from α to 1.

    Where each audit is wrong with probability α at most, it is a supermartingale that starts at 1.
    """
    if not audits:
        return 0.0
    right = audits - wrong
    above = beta_sides(wrong + 1, right + 1, promised, 1 - promised)[1]
    if above <= 0:
        return -inf
    whole = lgamma(wrong + 1) + lgamma(right + 1) - lgamma(audits + 2)
    return whole + log(above) - wrong * log(promised) - (right + 1) * log(1 - promised)


def watch(wrong: Sequence[bool], promised: float) -> Watch:
    """The evidence over audits in their order."""
    path = [
        exp(min(log_evidence_against(errors, number, promised), _LARGEST))
        for number, errors in enumerate(accumulate(map(int, wrong)), start=1)
    ]
    alarm = next((number for number, each in enumerate(path, start=1) if each >= ALARM), None)
    return Watch(len(path), sum(map(int, wrong)), path[-1] if path else 1.0, max(path, default=1.0), alarm)


def delay(promised: float, actual: float, seed: int = 7) -> int | None:
    """Audits after which half of the watches raise the alarm where errors come at the actual rate; simulated.

    None where more than half of them take longer than 3,000 audits.
    """
    needed, errors = np.zeros(HORIZON, dtype=np.int64), 0
    for audits in range(1, HORIZON + 1):
        while errors <= audits and log_evidence_against(errors, audits, promised) < log(ALARM):
            errors += 1
        needed[audits - 1] = errors
    rng, found = np.random.default_rng(seed), []
    for _ in range(PATHS):
        above = np.cumsum(rng.random(HORIZON) < actual) >= needed
        found.append(int(above.argmax()) + 1 if above.any() else HORIZON + 1)
    middle = int(np.median(found))
    return middle if middle <= HORIZON else None


def check_report(options: CheckOptions) -> tuple[Report, bool]:
    """The report, and whether nothing speaks against the promise."""
    where = str(options.trust)
    trust = read_trust(options.trust)
    trust.require_valid(where, datetime.now(UTC))
    people = options.people or trust.people
    if people is None and not options.file.is_dir():
        raise ConfigError(
            f"{options.file}: the column of people's answers is not known; name it with --people."
        )
    table = read_for_trust(trust, where, options.file, options.reading, people)
    promised = trust.promise.error
    seen = watch(_audits(trust, options.file, table), promised)
    kept = seen.alarm_at is None
    delays = {f"{times:g}": delay(promised, min(1.0, times * promised)) for times in TIMES}
    body = {
        "schema": SCHEMA,
        "trust": trust.digest,
        "promise": trust.promise.model_dump(),
        "kept": kept,
        **vars(seen),
        "error": {"value": seen.error, "low": seen.limits[0], "high": seen.limits[1]},
        "delays": delays,
        "columns": dict(table.columns),
    }
    alarm = "none" if kept else f"audit {seen.alarm_at:,}"
    row = (f"{seen.audits:,}", f"{seen.wrong:,}", f"{seen.evidence:.3g}", f"{seen.highest:.3g}", alarm)
    report = Report(
        kind="trust check",
        title="No sign of a broken promise" if kept else "The promise is broken",
        lead=_lead(seen, promised),
        facts=[
            ("source", Path(table.name).name),
            ("audits", f"{seen.audits:,}"),
            ("promised error", f"at most {percent(promised)}"),
        ],
        plot=_plot(seen, promised),
        tables=[ReportTable("Audits", ("audits", "wrong", "evidence", "highest so far", "alarm"), [row])],
        notes=[
            *([] if table.has_names else [NO_NAMES]),
            *_notes(promised, delays),
            *([OWN_LABELS] if table.label_hash == trust.label_hash else []),
        ],
        meanings=MEANINGS,
        body=body,
    )
    return report, kept


def _audits(trust: TrustFile, file: Path, table: VerdictTable) -> list[bool]:
    """Whether each audited accepted answer is wrong; of one task or item the first audit counts."""
    wrong: dict[int, bool] = {}
    for made, label, cluster in zip(decide(trust, table), table.labels, table.clusters.tolist(), strict=True):
        if made.decision == ACCEPT and label is not None:
            wrong.setdefault(cluster, made.answer != label and trust.promise.only in (None, made.answer))
    if not wrong:
        raise DataError(
            f"{file}: no accepted answer with an answer of people found, expected audits of some; let people "
            "answer a random part of what `steelyard trust apply` accepts."
        )
    return list(wrong.values())


def _lead(seen: Watch, promised: float) -> str:
    low, high = (100 * end for end in seen.limits)
    verb = "is" if seen.wrong == 1 else "are"
    error = (
        f"{seen.wrong:,} of {pluralize(seen.audits, 'audited answer')} {verb} wrong "
        f"({percent(round(seen.error, 3))} [{low:.1f}, {high:.1f}])"
    )
    if seen.alarm_at is not None:
        return (
            f"The promise of at most {percent(promised)} is broken: {error}, and the evidence "
            f"against it passed {ALARM:g} at audit {seen.alarm_at:,}. Stop accepting, label anew and fit "
            "again."
        )
    return (
        f"Nothing speaks against the promise of at most {percent(promised)}: {error}; evidence "
        f"against it {seen.evidence:.2g}, at most {seen.highest:.2g} so far, alarm at {ALARM:g}."
    )


def _plot(seen: Watch, promised: float) -> Plot:
    audited = f"{seen.wrong:,} of {seen.audits:,}"
    most = f"at most {promised:g}"
    rows = [
        IntervalRow("audited", seen.error, seen.limits, PEOPLE, text=audited),
        IntervalRow("promised", promised, None, "muted", "diamond", hollow=True, text=most),
    ]
    return Plot(
        "How many accepted answers are wrong",
        "Audited answers with an interval that holds at every look, and the promise.",
        rows,
        "wrong among the accepted",
        plot_domain(rows, 0.0, ends=(0.0, 1.0)),
        key=[KeyEntry("●", PEOPLE, "audited by people"), KeyEntry("◇", "muted", "promised")],
    )


def _notes(promised: float, delays: dict[str, int | None]) -> list[str]:
    said = [
        f"A promise that is kept raises the alarm in at most {percent(1 / ALARM)} of all watches, however "
        "often one looks.",
        "Assumed: the audited answers are a random part of the accepted ones, in the order of the file.",
    ]
    for times, count in delays.items():
        rate = percent(round(min(1.0, float(times) * promised), 4))
        late = "more than 3,000 audits" if count is None else f"about {count:,} audits"
        said.append(f"Delay: were {rate} wrong, half of all watches would tell after {late}.")
    return said
