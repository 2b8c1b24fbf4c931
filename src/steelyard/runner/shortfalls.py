"""What a run did not bring, in sentences."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.core.text import plural, pluralize
from steelyard.errors import BudgetError, InterruptedRunError, PilotError, RunError, SteelyardError
from steelyard.metrics.faults import Fault
from steelyard.runner.record import Coverage
from steelyard.runner.session import Sitting
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable, Verdict

if TYPE_CHECKING:
    from steelyard.datasheet.datasheet import Datasheet

AGAIN = "run the same command again to go on"
WORTH_ANOTHER_TRY = frozenset(
    ("rate_limited", "server_error", "timeout", "unreachable", "connection_dropped", "garbled_reply")
)
"""Failures that the next sitting may not meet."""

MEND = (
    "correct the judge and run again: {folder} takes it as long as nothing of it but these replies is there; "
    "where the server was corrected choose another --out, or go on as it is with --no-pilot"
)
"""What to do where a pilot ended a judge's run."""

NOBODY: Mapping[str, SteelyardError] = {}
"""No judge was left."""


def seen_with(folder: Path | None, judge: str, outcome: str) -> str:
    """The command that shows the calls of a judge that ended so."""
    if folder is None:
        return f"look at what is {outcome}"
    words = ("steelyard", "show", str(folder), "--judge", judge, "--outcome", outcome)
    return f"see them with `{shlex.join(words)}`"


def stops(sitting: Sitting, coverage: Coverage, folder: Path) -> Iterator[SteelyardError]:
    """The reasons for an early end, each once and with how to go on."""
    standing = _done(coverage)
    distinct = {str(error): error for error in reversed(sitting.stopped)}
    for error in reversed(distinct.values()):
        if isinstance(error, InterruptedRunError):
            yield InterruptedRunError(f"interrupted: {standing}; {AGAIN}.")
        elif isinstance(error, BudgetError):
            yield BudgetError(f"{cause(error, sitting)}: {standing}; raise --budget and {AGAIN}.")
        elif isinstance(error, PilotError):
            yield PilotError(f"{error}; {standing}; {MEND.format(folder=folder)}.")
        else:
            yield type(error)(f"{cause(error, sitting)}; {standing}; {AGAIN}.")
    if not sitting.stopped:
        yield from unasked(coverage)


def cause(error: SteelyardError, sitting: Sitting) -> str:
    """Why a run stopped, as the beginning of a sentence; a budget with what was spent in all."""
    reason = str(error).rstrip(".?")
    return f"{reason} (${sitting.dollars:.4f} spent)" if isinstance(error, BudgetError) else reason


def require_end(sitting: Sitting, where: str, kept: str) -> None:
    """Raise what stopped a sitting from which nothing follows before its end."""
    for error in sitting.stopped:
        again = "run again"
        if isinstance(error, BudgetError):
            again = "raise --budget and run again"
        elif isinstance(error, PilotError):
            again = "correct the judge and run again"
        raise type(error)(f"{where}: {cause(error, sitting)}; {kept} is kept, {again} to go on.")


def unasked(coverage: Coverage, handed_in: int = 0) -> Iterator[SteelyardError]:
    """One sentence where calls of the plan were never made, or wait in batches at a vendor's."""
    if coverage.partial:
        never = max(0, coverage.planned - coverage.asked - handed_in)
        have = plural(handed_in, "has", "have")
        waiting = f"{pluralize(handed_in, 'call')} handed in as batches {have} no reply yet"
        calls = f"{pluralize(never, 'call')} {plural(never, 'was', 'were')} never asked"
        told = ", ".join(text for text, number in ((waiting, handed_in), (calls, never)) if number)
        yield RunError(f"{told}: {_done(coverage)}; {AGAIN}.")


def _done(coverage: Coverage) -> str:
    kept = ", which is kept" if coverage.answered else ""
    have = plural(coverage.answered, "has", "have")
    return f"{coverage.answered:,} of {pluralize(coverage.planned, 'call')} {have} a reply{kept}"


def speechless(
    judges: Iterable[str],
    observations: Observations,
    folder: Path | None = None,
    given_up: Mapping[str, SteelyardError] = NOBODY,
    *,
    recorded: bool = False,
) -> Iterator[SteelyardError]:
    """Judges from whom nothing readable came.

    One that was given up without a reply, or in its pilot, is told of elsewhere.
    """
    counts = observations.counts()
    for judge in judges:
        tried = {verdict: number for (name, verdict), number in counts.items() if name == judge}
        replied = not all(isinstance(verdict, Failed) for verdict in tried)
        readable = any(isinstance(verdict, (Decided, Tie, Abstained)) for verdict in tried)
        elsewhere = (judge in given_up and not replied) or isinstance(given_up.get(judge), PilotError)
        if tried and not readable and not elsewhere:
            look = seen_with(folder, judge, "unreadable" if replied else "failed")
            mend = "correct the prompt, the reader or the server" if replied or recorded else _after(tried)
            yield _silence(judge, tried, f"{look}, {mend}")


def _after(failed: Iterable[Verdict]) -> str:
    """What to do after calls that all failed: only some failures may not happen again."""
    transient = any(isinstance(each, Failed) and each.reason in WORTH_ANOTHER_TRY for each in failed)
    return f"then {AGAIN}" if transient else "correct the judge, and run again"


def _silence(judge: str, tried: Mapping[Verdict, int], cure: str) -> RunError:
    reasons: Counter[str] = Counter()
    for verdict, number in tried.items():
        if isinstance(verdict, (Unreadable, Failed)):
            reasons[verdict.reason] += number
    return RunError(
        f"judge {judge}: no readable verdict in {pluralize(sum(tried.values()), 'call')} "
        f"({_listed(reasons)}), no figure defined; {cure}."
    )


def uncomputed(faults: Iterable[Fault]) -> Iterator[SteelyardError]:
    """The figures that a fault of the program took, in one sentence."""
    judges: dict[tuple[str, str], list[str]] = {}
    for fault in faults:
        judges.setdefault((fault.figure, fault.cause), []).append(fault.judge)
    figures = [f"{figure}{_whose(names)} ({cause.rstrip('.')})" for (figure, cause), names in judges.items()]
    if figures:
        yield RunError(
            f"could not be computed: {', '.join(figures)}; every other figure stands and every reply is "
            "kept; please report it."
        )


def _whose(judges: Iterable[str]) -> str:
    names = [name for name in dict.fromkeys(judges) if name]
    return f" of {' and '.join(names)}" if names else ""


def warnings(observations: Observations, folder: Path | None = None) -> Iterator[str]:
    """Calls that failed or could not be read, by judge and reason; however many, they end no run."""
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
        look = "" if folder is None else f"; {seen_with(folder, judge, word)}"
        yield f"judge {judge}: {trials} {word} ({_listed(reasons)}); {no_score}{look}."


def untaken(datasheet: Datasheet) -> Iterator[str]:
    """Judges that were not asked as they were meant to be: what their servers refused, what did not fit."""
    for judge in datasheet.judges:
        for told in datasheet.caveats(judge.name):
            yield f"judge {judge.name}: {told}."


def uncounted(datasheet: Datasheet) -> Iterator[str]:
    """Calls whose dollars are estimated, by judge."""
    for judge, calls in datasheet.facts.uncounted.items():
        yield (
            f"judge {judge}: the server counted no tokens in {pluralize(calls, 'call')}; what they cost is "
            "estimated from their characters."
        )


def _listed(reasons: Counter[str]) -> str:
    ordered = sorted(reasons.items(), key=lambda counted_reason: (-counted_reason[1], counted_reason[0]))
    return ", ".join(f"{reason}{':' * (' ' in reason)} {count}" for reason, count in ordered)
