"""The prompts and settings that a judge has when its author says nothing."""

from __future__ import annotations

from steelyard.providers.embedded_prompts import EMBEDDED_PROMPT, EMBEDDED_STRICT_PROMPT
from steelyard.providers.planted_model import Parameters
from steelyard.registry import Spec
from steelyard.trials.builtin_prompts import PAIRWISE_SYSTEM, PAIRWISE_USER, STRICT_USER
from steelyard.trials.judge import Judge, Protocol

PLANTED_PARAMETERS = ("s", "beta", "tau", "tau_strict", "sigma", "lapse")
"""Parameters of planted/probit; `tau_strict` is its criterion under the strict protocol."""

STRICT_STEP = 0.6
"""How much higher the criterion of planted/probit is under the strict protocol, where none is given."""

LIKELIHOOD_MARGIN = 2.0
LIKELIHOOD_STRICT_MARGIN = 8.0
"""Margins in nats within which a likelihood judge calls a tie."""

LIKELIHOOD_TEMPLATE = "{{ request }}\n1: {{ first }}\n2: {{ second }}"
"""A likelihood judge is not prompted; this is the record of what it compared."""

BASELINES = ("coin", "first", "tie", "longest")
"""Dumb judges that stand beside every pairwise result."""


def default_protocols(
    provider: str, model: str, margin: float | None, tau: float | None, tau_strict: float | None
) -> dict[str, Protocol]:
    """`base` and, where the judge has one, `strict`."""
    if provider == "embedded" and model.endswith("-likelihood"):
        base = LIKELIHOOD_MARGIN if margin is None else margin
        margins = {"base": base, "strict": max(LIKELIHOOD_STRICT_MARGIN, 4 * base)}
        return {
            name: Protocol(LIKELIHOOD_TEMPLATE, reader=Spec("likelihood", {"margin": value}))
            for name, value in margins.items()
        }
    if provider == "embedded":
        prompts = {"base": EMBEDDED_PROMPT, "strict": EMBEDDED_STRICT_PROMPT}
        return {name: Protocol(text, reader=Spec("choice")) for name, text in prompts.items()}
    base_protocol = Protocol(PAIRWISE_USER, PAIRWISE_SYSTEM)
    if provider != "planted":
        return {"base": base_protocol, "strict": Protocol(STRICT_USER, PAIRWISE_SYSTEM)}
    if model != "probit":
        return {"base": base_protocol}
    base_tau = Parameters().tie_threshold if tau is None else tau
    strict = base_tau + STRICT_STEP if tau_strict is None else tau_strict
    return {"base": base_protocol, "strict": Protocol(STRICT_USER, PAIRWISE_SYSTEM, settings={"tau": strict})}


def baseline_judges(seed: int) -> list[Judge]:
    """Coin, always-first, always-tie and longest-wins."""
    return [
        Judge(
            name=name,
            provider="planted",
            model=name,
            protocols=default_protocols("planted", name, None, None, None),
            options={"seed": seed},
            baseline=True,
        )
        for name in BASELINES
    ]
