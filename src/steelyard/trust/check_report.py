"""`trust check`: audited verdicts against the promise, as a report."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from steelyard.core.text import percent, pluralize
from steelyard.datasheet.render.html.drawing.forest_plot import IntervalRow
from steelyard.errors import ConfigError, DataError
from steelyard.metrics.stats.intervals import sequence_limits
from steelyard.survey.report import PEOPLE, KeyEntry, Plot, Report, ReportTable, plot_domain
from steelyard.trust.apply import ACCEPT, decide, read_for_trust
from steelyard.trust.evidence import ALARM, Watch, delay, watch
from steelyard.trust.options import CheckOptions
from steelyard.trust.trust_file import TrustFile, read_trust
from steelyard.trust.verdict_table import VerdictTable

SCHEMA = "steelyard.trust-check/1"
TIMES = (1.5, 2.0)
"""Actual errors, in multiples of the promised one, whose delay is said."""
MEANINGS = (
    (
        "evidence",
        f"Against the promise: a mixture of likelihood ratios that a kept promise lets grow to {ALARM:g} "
        f"with probability {1 / ALARM:g} at most, at all looks together.",
    ),
    ("error", "Share of audited answers that are wrong; its interval holds at every look."),
    ("delay", "Audits until half of all watches raise the alarm, simulated."),
)


def check_report(options: CheckOptions, now: datetime | None = None) -> tuple[Report, bool]:
    """The report, and whether nothing speaks against the promise."""
    where = str(options.trust)
    trust = read_trust(options.trust)
    trust.require_valid(where, now or datetime.now(UTC))
    people = options.people or trust.people
    if people is None and not options.file.is_dir():
        raise ConfigError(
            f"{options.file}: the column of people's answers is not known; name it with --people."
        )
    table = read_for_trust(trust, where, options.file, options.reading, people)
    found = _audits(trust, options.file, table)
    promised = trust.promise.error
    seen = watch(found, promised)
    low, high = sequence_limits(seen.wrong, seen.audits)
    kept = seen.alarm_at is None
    body = {
        "schema": SCHEMA,
        "trust": trust.digest,
        "promise": trust.promise.model_dump(),
        "kept": kept,
        **vars(seen),
        "error": {"value": seen.wrong / seen.audits, "low": low, "high": high},
        "delays": {f"{times:g}": delay(promised, min(1.0, times * promised)) for times in TIMES},
    }
    report = Report(
        kind="trust check",
        title="No sign of a broken promise" if kept else "The promise is broken",
        lead=_lead(seen, promised, (low, high)),
        facts=[
            ("source", Path(table.name).name),
            ("audits", f"{seen.audits:,}"),
            ("promised error", f"at most {percent(promised)}"),
        ],
        plot=_plot(seen, promised, (low, high)),
        tables=[_table(seen)],
        notes=_notes(promised, body["delays"]),
        meanings=MEANINGS,
        body=body,
    )
    return report, kept


def _audits(trust: TrustFile, file: Path, table: VerdictTable) -> list[bool]:
    """Whether each audited accepted answer is wrong; of one task or item the first audit counts."""
    wrong, seen = [], set()
    for row, made in enumerate(decide(trust, table)):
        label, cluster = table.labels[row], int(table.clusters[row])
        if made.decision != ACCEPT or label is None or cluster in seen:
            continue
        seen.add(cluster)
        wrong.append(made.answer != label and trust.promise.only in (None, made.answer))
    if not wrong:
        raise DataError(
            f"{file}: no accepted answer with an answer of people found, expected audits of some; let people "
            "answer a random part of what `steelyard trust apply` accepts."
        )
    return wrong


def _lead(seen: Watch, promised: float, limits: tuple[float, float]) -> str:
    share = seen.wrong / seen.audits
    error = f"{seen.wrong:,} of {pluralize(seen.audits, 'audited answer')} are wrong"
    figure = f"{percent(round(share, 3))} [{100 * limits[0]:.1f}, {100 * limits[1]:.1f}]"
    if seen.alarm_at is not None:
        return (
            f"The promise of at most {percent(promised)} is broken: {error} ({figure}), and the evidence "
            f"against it passed {ALARM:g} at audit {seen.alarm_at:,}. Stop accepting, label anew and fit "
            "again."
        )
    return (
        f"Nothing speaks against the promise of at most {percent(promised)}: {error} ({figure}); evidence "
        f"against it {seen.evidence:.2g}, at most {seen.highest:.2g} so far, alarm at {ALARM:g}."
    )


def _plot(seen: Watch, promised: float, limits: tuple[float, float]) -> Plot:
    rows = [
        IntervalRow(
            "audited", seen.wrong / seen.audits, limits, PEOPLE, text=f"{seen.wrong:,} of {seen.audits:,}"
        ),
        IntervalRow(
            "promised", promised, None, "muted", "diamond", hollow=True, text=f"at most {promised:g}"
        ),
    ]
    return Plot(
        "How many accepted answers are wrong",
        "Audited answers with an interval that holds at every look, and the promise.",
        rows,
        "wrong among the accepted",
        plot_domain(rows, 0.0, ends=(0.0, 1.0)),
        key=[KeyEntry("●", PEOPLE, "audited by people"), KeyEntry("◇", "muted", "promised")],
    )


def _table(seen: Watch) -> ReportTable:
    alarm = "none" if seen.alarm_at is None else f"audit {seen.alarm_at:,}"
    row = (f"{seen.audits:,}", f"{seen.wrong:,}", f"{seen.evidence:.3g}", f"{seen.highest:.3g}", alarm)
    return ReportTable("Audits", ("audits", "wrong", "evidence", "highest so far", "alarm"), [row])


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
