"""The prompts and settings that a judge has when its author says nothing."""

from __future__ import annotations

from steelyard.errors import ConfigError
from steelyard.providers.embedded_prompts import (
    EMBEDDED_PROMPT,
    EMBEDDED_SCORE_PROMPT,
    EMBEDDED_STRICT_PROMPT,
)
from steelyard.providers.planted import PAIRWISE_MODELS, POINTWISE_MODELS
from steelyard.providers.planted_model import Parameters
from steelyard.providers.planted_rater import RATER_OPTIONS
from steelyard.registry import Spec
from steelyard.tasks.scale import Pairwise, Scale, scale_name
from steelyard.trials.builtin_prompts import (
    PAIRWISE_SYSTEM,
    PAIRWISE_USER,
    POINTWISE_SYSTEM,
    POINTWISE_USER,
    STRICT_USER,
)
from steelyard.trials.judge import Judge, Protocol

PLANTED_PARAMETERS = {
    "probit": ("s", "beta", "tau", "tau_strict", "sigma", "lapse"),
    "rater": RATER_OPTIONS,
    "constant": ("value",),
}
"""Planted model to its own parameters; `tau_strict` is the criterion of probit under the strict protocol."""

STRICT_STEP = 0.6
"""How much higher the criterion of planted/probit is under the strict protocol, where none is given."""

LIKELIHOOD_MARGIN = 2.0
LIKELIHOOD_STRICT_MARGIN = 8.0
"""Margins in nats within which a likelihood judge calls a tie."""

LIKELIHOOD_TEMPLATE = "{{ request }}\n1: {{ first }}\n2: {{ second }}"
"""A likelihood judge is not prompted; this is the record of what it compared."""

BASELINES = ("coin", "first", "tie", "longest")
"""Dumb judges that stand beside every pairwise result."""
SCORE_BASELINES = ("constant", "random")
"""Dumb judges that stand beside every pointwise result."""


PAIRS = Pairwise()
"""The scale where none is named."""


def default_protocols(
    provider: str,
    model: str,
    margin: float | None = None,
    tau: float | None = None,
    tau_strict: float | None = None,
    scale: Scale = PAIRS,
) -> dict[str, Protocol]:
    """`base` and, where the judge has one, `strict`; a judge that cannot answer on the scale is refused."""
    if not isinstance(scale, Pairwise):
        return _score_protocols(provider, model, scale)
    if provider == "planted" and model in POINTWISE_MODELS:
        raise ConfigError(
            f"judge 'planted/{model}': scores single texts, found a pairwise scale; "
            "use planted/probit, or measure it on a scale such as binary or 1-6."
        )
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


def _score_protocols(provider: str, model: str, scale: Scale) -> dict[str, Protocol]:
    """`base` of a judge that scores single texts."""
    likelihood = provider == "embedded" and model.endswith("-likelihood")
    if likelihood or (provider == "planted" and model in PAIRWISE_MODELS):
        raise ConfigError(
            f"judge '{provider}/{model}': compares two texts and gives no score, found the scale "
            f"{scale_name(scale)!r}; {_instead(provider)}, or measure it on a pairwise scale."
        )
    if provider == "embedded":
        return {"base": Protocol(EMBEDDED_SCORE_PROMPT, reader=Spec("choice"))}
    return {"base": Protocol(POINTWISE_USER, POINTWISE_SYSTEM)}


def _instead(provider: str) -> str:
    return "use embedded/smollm2-135m" if provider == "embedded" else "use planted/rater"


def baseline_judges(seed: int, scale: Scale = PAIRS) -> list[Judge]:
    """Coin, always-first, always-tie and longest-wins; for single texts a constant and a random score."""
    names = BASELINES if isinstance(scale, Pairwise) else SCORE_BASELINES
    return [
        Judge(
            name=name,
            provider="planted",
            model=name,
            protocols=default_protocols("planted", name, scale=scale),
            options={"seed": seed},
            baseline=True,
        )
        for name in names
    ]
