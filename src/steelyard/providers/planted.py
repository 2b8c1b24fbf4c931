"""Judges whose true parameters are known: the laboratory's reference weights.

`coin`, `first`, `tie` and `longest` are the baselines that stand beside every result; `probit` follows the
instrument model with the parameters of its options.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.errors import PermanentError, ProviderRefusedError
from steelyard.identity import canonical_json, rng_for
from steelyard.providers.planted_model import OPTION_NAMES, Parameters, decide, surface_effect
from steelyard.providers.planted_rates import CallRates, PairRates, expected_pair_rates, expected_rates
from steelyard.trials.judge import TRANSPORT_OPTIONS, Judge
from steelyard.trials.presentation import Presentation
from steelyard.trials.reply import Reply, Usage

__all__ = [
    "MODELS",
    "CallRates",
    "PairRates",
    "Parameters",
    "Planted",
    "decide",
    "expected_pair_rates",
    "expected_rates",
    "surface_effect",
]

MODELS = ("coin", "first", "longest", "probit", "tie")
"""Every planted model."""


class Planted:
    """A judge that answers at once, in process, from its own key."""

    concurrency = 64

    def __init__(self, judge: Judge) -> None:
        """Check the model, the options and the settings of every protocol."""
        if judge.model not in MODELS:
            raise ProviderRefusedError(
                f"judge {judge.address}: unknown planted model {judge.model!r}; known: {', '.join(MODELS)}."
            )
        self._judge = judge
        self._seen: dict[str, Parameters] = {}
        options = {name: value for name, value in judge.options.items() if name not in TRANSPORT_OPTIONS}
        known = (*OPTION_NAMES, "seed") if judge.model == "probit" else ("seed",)
        self._parameters = Parameters().updated(options, f"judge {judge.address}", known)
        for protocol in judge.protocols.values():
            self.parameters(protocol.settings)

    def parameters(self, settings: Mapping[str, Any]) -> Parameters:
        """The parameters in force under a protocol; judges other than probit have no use for settings."""
        if self._judge.model != "probit" or not settings:
            return self._parameters
        name = canonical_json(dict(settings))
        if name not in self._seen:
            where = f"judge {self._judge.address}, protocol settings"
            self._seen[name] = self._parameters.updated(settings, where, tuple(OPTION_NAMES))
        return self._seen[name]

    async def open(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to release."""

    async def ask(self, presentation: Presentation) -> Reply:
        """Answer one call."""
        if len(presentation.slots.texts) != 2:
            raise PermanentError(
                "bad_request",
                f"judge {self._judge.address}: found {len(presentation.slots.texts)} text, expected a pair; "
                "use this judge with a pairwise scale.",
            )
        text = f'{{"winner": "{self.answer(presentation)}"}}'
        prompt = sum(len(message.content) for message in presentation.messages)
        usage = Usage(input_tokens=prompt // 4, output_tokens=len(text) // 4)
        return Reply(text, usage=usage, served_model=self._judge.address)

    def answer(self, presentation: Presentation) -> str:
        """The winner this judge names."""
        first, second = presentation.slots.texts
        parameters = self.parameters(presentation.settings)
        match self._judge.model:
            case "coin":
                chance = rng_for(parameters.seed, "coin", presentation.trial)
                return "1" if chance.random() < 0.5 else "2"
            case "first":
                return "1"
            case "tie":
                return "tie"
            case "longest":
                return _longest(first, second)
            case _:
                return decide(parameters, (first, second), presentation.answers, presentation.trial)


def _longest(first: str, second: str) -> str:
    difference = len(first.split()) - len(second.split())
    if difference == 0:
        return "tie"
    return "1" if difference > 0 else "2"
