"""What a run did not bring, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from steelyard.errors import BudgetError, InterruptedRunError, RunError, SteelyardError
from steelyard.lab.runner import Outcome
from steelyard.metrics.faults import Fault
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.recorded_observations import verdict_counts
from steelyard.verdicts.verdict import NOT_RUN, Abstained, Decided, Failed, Tie, Unreadable


def stops(outcome: Outcome, observations: Sequence[Observation]) -> Iterator[SteelyardError]:
    """The reasons for an early end, each with how to go on."""
    total = len(observations)
    replied = sum(not isinstance(o.verdict, Failed) for o in observations)
    untried = sum(o.verdict == Failed(NOT_RUN) for o in observations)
    done = f"{replied:,} of {total:,} trials have a reply, which is kept"
    again = "run the same command again to go on"
    seen: set[str] = set()
    for error in outcome.stopped:
        if str(error) in seen:
            continue
        seen.add(str(error))
        if isinstance(error, InterruptedRunError):
            yield InterruptedRunError(f"interrupted: {done}; {again}.")
        elif isinstance(error, BudgetError):
            yield BudgetError(f"{error}: {done}; raise --budget and {again}.")
        else:
            yield type(error)(f"{str(error).rstrip('.?')}; {done}; {again}.")
    if untried and not outcome.stopped:
        yield RunError(f"{untried:,} trials were never tried: {done}; {again}.")


def speechless(judges: Iterable[str], observations: Sequence[Observation]) -> Iterator[SteelyardError]:
    """Judges from whom nothing readable came; a judge that was not reached at all is told of elsewhere."""
    counts = verdict_counts(observations)
    for judge in judges:
        tried = {v: n for (name, v), n in counts.items() if name == judge and v != Failed(NOT_RUN)}
        if tried and not any(isinstance(verdict, (Decided, Tie, Abstained)) for verdict in tried):
            reasons: Counter[str] = Counter()
            for verdict, number in tried.items():
                if isinstance(verdict, (Unreadable, Failed)):
                    reasons[verdict.reason] += number
            yield RunError(
                f"judge {judge}: no readable verdict in {sum(tried.values())} calls ({_told(reasons)}), "
                "no figure defined; look at the replies and correct the prompt, the reader or the server."
            )


def uncomputed(faults: Iterable[Fault]) -> Iterator[SteelyardError]:
    """The figures that a fault of the program took, in one sentence."""
    judges: dict[tuple[str, str], list[str]] = {}
    for fault in faults:
        judges.setdefault((fault.figure, fault.cause), []).append(fault.judge)
    told = [f"{figure}{_whose(names)} ({cause.rstrip('.')})" for (figure, cause), names in judges.items()]
    if told:
        yield RunError(
            f"could not be computed: {', '.join(told)}; every other figure stands and every reply is kept; "
            "please report it."
        )


def _whose(judges: Iterable[str]) -> str:
    names = [name for name in dict.fromkeys(judges) if name]
    return f" of {' and '.join(names)}" if names else ""


def warnings(observations: Sequence[Observation]) -> Iterator[str]:
    """Single calls without a verdict, by judge and reason."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for (judge, verdict), number in verdict_counts(observations).items():
        if isinstance(verdict, (Unreadable, Failed)) and verdict.reason != NOT_RUN:
            word = "unreadable" if isinstance(verdict, Unreadable) else "failed"
            counts.setdefault((judge, word), Counter())[verdict.reason] += number
    for (judge, word), reasons in sorted(counts.items()):
        yield f"judge {judge}: {reasons.total()} trials {word} ({_told(reasons)}); none of them is a score."


def _told(reasons: Counter[str]) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
