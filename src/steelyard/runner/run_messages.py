"""Messages of a run: why it stopped, calls that are pending, failed or unreadable, and what to do."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from steelyard.core.text import plural, pluralize
from steelyard.errors import (
    BudgetError,
    CallsRefusedError,
    InterruptedRunError,
    PreflightError,
    RunError,
    SteelyardError,
)
from steelyard.metrics.faults import FigureFault
from steelyard.runner.limits import MAYBE_BILLED
from steelyard.runner.record import Coverage
from steelyard.runner.session import RunSession
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable

AGAIN = "run the same command again to continue"
TRANSIENT_REASONS = MAYBE_BILLED | {"rate_limited", "server_error", "unreachable", "worker_unavailable"}

PREFLIGHT_ADVICE = (
    "fix the judge and run again: {folder} can be reused, because it holds only these replies of the judge; "
    "if you changed the server instead, choose another {out}; to continue anyway, {anyway}"
)

REFUSED_ADVICE = (
    "check the judge's key, model and settings with `steelyard doctor`, then run again: {folder} can be "
    "reused if the judge keeps its name; to continue anyway, {anyway}"
)
TYPED = {"out": "--out", "anyway": "add --no-preflight", "more": "raise --budget"}
IN_PYTHON = {
    "out": "folder as out=",
    "anyway": "pass limits={'preflight': False}",
    "more": "raise the budget of limits=",
}
"""Names of the same settings on the command line and in Python."""

NONE_ABORTED: Mapping[str, SteelyardError] = {}
NO_MESSAGES: Mapping[str, str] = {}


def show_command(folder: Path | None, judge: str, outcome: str) -> str:
    if folder is None:
        return f"look at the {outcome} calls"
    words = ("steelyard", "show", str(folder), "--judge", judge, "--outcome", outcome)
    return f"see them with `{shlex.join(words)}`"


def stop_reasons(
    session: RunSession, coverage: Coverage, folder: Path, *, typed: bool = True
) -> Iterator[SteelyardError]:
    """Why a run stopped and how to go on; `typed` by a command, and in Python where it is not."""
    words = TYPED if typed else IN_PYTHON
    standing = _coverage_words(coverage)
    distinct = {str(error): error for error in reversed(session.stop_errors)}
    for error in reversed(distinct.values()):
        if isinstance(error, InterruptedRunError):
            yield InterruptedRunError(f"interrupted: {standing}; {AGAIN}.")
        elif isinstance(error, BudgetError):
            yield BudgetError(f"{stop_cause(error, session)}: {standing}; {words['more']} and {AGAIN}.")
        elif isinstance(error, PreflightError):
            advice = REFUSED_ADVICE if isinstance(error, CallsRefusedError) else PREFLIGHT_ADVICE
            yield type(error)(f"{error}; {standing}; {advice.format(folder=folder, **words)}.")
        else:
            yield type(error)(f"{stop_cause(error, session)}; {standing}; {AGAIN}.")
    if not session.stop_errors:
        yield from pending_calls(coverage)


def stop_cause(error: SteelyardError, session: RunSession) -> str:
    reason = str(error).rstrip(".?")
    return f"{reason} (${session.dollars:.4f} spent)" if isinstance(error, BudgetError) else reason


def require_finished(session: RunSession, where: str, kept: str) -> None:
    for error in session.stop_errors:
        again = "run again"
        if isinstance(error, BudgetError):
            again = "raise --budget and run again"
        elif isinstance(error, PreflightError):
            again = "fix the judge and run again"
        raise type(error)(f"{where}: {stop_cause(error, session)}; {kept} is kept, {again} to continue.")


def pending_calls(coverage: Coverage, submitted: int = 0) -> Iterator[SteelyardError]:
    if coverage.partial:
        never = max(0, coverage.planned - coverage.asked - submitted)
        have = plural(submitted, "has", "have")
        waiting = f"{pluralize(submitted, 'call')} submitted in batches {have} no reply yet"
        calls = f"{pluralize(never, 'call')} {plural(never, 'was', 'were')} never made"
        pending = ", ".join(text for text, number in ((waiting, submitted), (calls, never)) if number)
        yield RunError(f"{pending}: {_coverage_words(coverage)}; {AGAIN}.")


def _coverage_words(coverage: Coverage) -> str:
    kept = ", which is kept" if coverage.answered else ""
    have = plural(coverage.answered, "has", "have")
    return f"{coverage.answered:,} of {pluralize(coverage.planned, 'call')} {have} a reply{kept}"


def judges_without_verdicts(
    judges: Iterable[str],
    observations: Observations,
    folder: Path | None = None,
    aborted: Mapping[str, SteelyardError] = NONE_ABORTED,
    last_failures: Mapping[str, str] = NO_MESSAGES,
    *,
    recorded: bool = False,
) -> Iterator[SteelyardError]:
    """An error for each judge without a readable verdict; the server's reason where no call was answered.

    A judge that was stopped without a reply, or in its preflight, has an error of its own.
    """
    counts = observations.counts()
    for judge in judges:
        tried = {verdict: number for (name, verdict), number in counts.items() if name == judge}
        replied = not all(isinstance(verdict, Failed) for verdict in tried)
        readable = any(isinstance(verdict, (Decided, Tie, Abstained)) for verdict in tried)
        elsewhere = (judge in aborted and not replied) or isinstance(aborted.get(judge), PreflightError)
        if tried and not readable and not elsewhere:
            look = show_command(folder, judge, "unreadable" if replied else "failed")
            reasons: Counter[str] = Counter()
            for verdict, number in tried.items():
                if isinstance(verdict, (Unreadable, Failed)):
                    reasons[verdict.reason] += number
            if replied or recorded:
                fix = "correct the prompt, the reader or the server"
            else:
                transient = not TRANSIENT_REASONS.isdisjoint(reasons)
                fix = f"then {AGAIN}" if transient else "correct the judge, and run again"
            last = "" if replied or judge not in last_failures else last_failures[judge].rstrip(".")
            yield RunError(
                f"judge {judge}: no readable verdict in {pluralize(sum(tried.values()), 'call')} "
                f"({_reason_counts(reasons)}), no figure defined; {f'the last: {last}; ' if last else ''}"
                f"{look}, {fix}."
            )


def metric_errors(faults: Iterable[FigureFault]) -> Iterator[SteelyardError]:
    judges: dict[tuple[str, str], list[str]] = {}
    for fault in faults:
        judges.setdefault((fault.figure, fault.cause), []).append(fault.judge)
    figures = []
    for (figure, cause), judge_names in judges.items():
        names = " and ".join(name for name in dict.fromkeys(judge_names) if name)
        figures.append(f"{figure}{f' of {names}' if names else ''} ({cause.rstrip('.')})")
    if figures:
        yield RunError(
            f"could not be computed: {', '.join(figures)}; every other figure stands and every reply is "
            "kept; please report it."
        )


def call_warnings(observations: Observations, folder: Path | None = None) -> Iterator[str]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    asked: Counter[str] = Counter()
    for (judge, verdict), number in observations.counts().items():
        asked[judge] += number
        if isinstance(verdict, (Unreadable, Failed)):
            word = "unreadable" if isinstance(verdict, Unreadable) else "failed"
            counts.setdefault((judge, word), Counter())[verdict.reason] += number
    for (judge, word), reasons in sorted(counts.items()):
        trials = f"{reasons.total():,} of {pluralize(asked[judge], 'trial')}"
        no_score = plural(reasons.total(), "it is no score", "none of them is a score")
        look = "" if folder is None else f"; {show_command(folder, judge, word)}"
        yield f"judge {judge}: {trials} {word} ({_reason_counts(reasons)}); {no_score}{look}."


def _reason_counts(reasons: Counter[str]) -> str:
    ordered = sorted(reasons.items(), key=lambda counted: (-counted[1], counted[0]))
    return ", ".join(f"{reason}{':' * (' ' in reason)} {count}" for reason, count in ordered)
