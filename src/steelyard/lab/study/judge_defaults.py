"""The prompts and settings that a judge has when its author says nothing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from steelyard.errors import ConfigError
from steelyard.providers.embedded_prompts import EMBEDDED_GRADED, EMBEDDED_SCORE_PROMPT
from steelyard.providers.planted import PAIRWISE_MODELS, POINTWISE_MODELS
from steelyard.providers.planted_model import Parameters
from steelyard.providers.planted_rater import RATER_OPTIONS
from steelyard.registry import Spec
from steelyard.tasks.scale import Pairwise, Scale, scale_name
from steelyard.trials.builtin_prompts import (
    GRADED,
    GRADED_USER,
    PAIRWISE_SYSTEM,
    POINTWISE_SYSTEM,
    POINTWISE_USER,
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

USUAL = ("base", "strict")
"""Protocols that a judge has whether or not a probe asks for them."""

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
    arms: Collection[str] = (),
) -> dict[str, Protocol]:
    """`base`, `strict` where the judge has one, and those of its graded instructions that are asked for.

    A judge that cannot answer on the scale is refused.
    """
    if not isinstance(scale, Pairwise):
        return _score_protocols(provider, model, scale)
    if provider == "planted" and model in POINTWISE_MODELS:
        raise ConfigError(
            f"judge 'planted/{model}': scores single texts, found a pairwise scale; "
            "use planted/probit, or measure it on a scale such as binary or 1-6."
        )
    protocols = _graded(provider, model, margin, tau, tau_strict)
    wanted = [*USUAL, *(name for name in GRADED if name in arms and name not in USUAL)]
    return {name: protocols[name] for name in wanted if name in protocols}


def _graded(
    provider: str, model: str, margin: float | None, tau: float | None, tau_strict: float | None
) -> dict[str, Protocol]:
    """Every built-in pairwise protocol of a judge."""
    if provider == "embedded" and model.endswith("-likelihood"):
        return {
            name: Protocol(LIKELIHOOD_TEMPLATE, reader=Spec("likelihood", {"margin": value}))
            for name, value in _margins(LIKELIHOOD_MARGIN if margin is None else margin).items()
        }
    if provider == "embedded":
        return {name: Protocol(text, reader=Spec("choice")) for name, text in EMBEDDED_GRADED.items()}
    prompts = {name: Protocol(text, PAIRWISE_SYSTEM) for name, text in GRADED_USER.items()}
    if provider != "planted":
        return prompts
    if model != "probit":
        return {"base": prompts["base"]}
    taus = _taus(Parameters().tie_threshold if tau is None else tau, tau_strict)
    return {
        name: protocol if name == "base" else replace(protocol, settings={"tau": taus[name]})
        for name, protocol in prompts.items()
    }


def _margins(base: float) -> dict[str, float]:
    strict = max(LIKELIHOOD_STRICT_MARGIN, 4 * base)
    return {"lenient": base / 4, "base": base, "strict": strict, "strictest": 2 * strict}


def _taus(base: float, strict: float | None) -> dict[str, float]:
    strict = base + STRICT_STEP if strict is None else strict
    return {"lenient": base / 2, "base": base, "strict": strict, "strictest": strict + STRICT_STEP}


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
