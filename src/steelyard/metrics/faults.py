"""Figures that could not be computed: a fault in one leaves all others standing.

Everything here runs after calls were paid for. What Steelyard raises on purpose passes, as does what ends a
program; any other exception becomes a fault with its place and its cause.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeVar

from steelyard.errors import SteelyardError
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.metric import Metric, undeclared

Result = TypeVar("Result")

_LONGEST = 200
_PASSING: tuple[type[Exception], ...] = (SteelyardError, MemoryError, BrokenPipeError)


@dataclass(frozen=True)
class FigureFault:
    judge: str
    """Name on the datasheet; empty where it is of no single judge."""
    figure: str
    """What was to be computed: a probe, `instrument model`, a reading, a file."""
    cause: str

    @property
    def note(self) -> str:
        return f"could not be computed: {self.cause}; please report it"


class Faults:
    def __init__(self) -> None:
        self.found: list[FigureFault] = []

    def guarded(
        self,
        judge: str,
        figure: str,
        make: Callable[[], Result],
        otherwise: Callable[[FigureFault], Result],
        passing: tuple[type[Exception], ...] = (),
    ) -> Result:
        """What is made, or what stands in its place; exceptions that the caller minds itself are passing."""
        try:
            return make()
        except _PASSING + passing:
            raise
        except Exception as error:
            fault = FigureFault(judge, figure, cause_of(error))
            self.found.append(fault)
            return otherwise(fault)

    def estimates(
        self,
        context: EstimateContext,
        figure: str,
        metrics: Sequence[Metric],
        make: Callable[[], Iterable[Estimate]],
    ) -> list[Estimate]:
        """The estimates that can be written; all the metrics undefined where making them fails."""

        def undefined(fault: FigureFault) -> list[Estimate]:
            return [context.undefined(metric, fault.note) for metric in metrics]

        made = self.guarded(context.judge, figure, lambda: list(make()), undefined)
        return [self._writable(context, figure, estimate) for estimate in made]

    def _writable(self, context: EstimateContext, figure: str, estimate: Estimate) -> Estimate:
        """The estimate; undefined where JSON has no spelling for it, as for NaN."""

        def checked() -> Estimate:
            json.dumps(estimate.to_json(), allow_nan=False)
            return estimate

        def undefined(fault: FigureFault) -> Estimate:
            group = _spelled(getattr(estimate, "group", {}))
            probe = str(getattr(estimate, "probe", context.probe))
            here = EstimateContext(context.judge, probe, group, context.seed)
            return here.undefined(undeclared(str(getattr(estimate, "metric", figure))), fault.note)

        return self.guarded(context.judge, figure, checked, undefined)


def cause_of(error: Exception) -> str:
    """`LinAlgError: Singular matrix`: one line, without addresses in memory, which no two runs share."""
    message = re.sub(r"0x[0-9a-fA-F]+", "0x…", " ".join(str(error).split()))
    shown = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
    return f"{type(error).__name__}: {shown}" if shown else type(error).__name__


def _spelled(group: Mapping[str, Any]) -> dict[str, str | float]:
    return {
        key: value
        for key, value in group.items()
        if isinstance(value, str) or (isinstance(value, (int, float)) and isfinite(value))
    }
