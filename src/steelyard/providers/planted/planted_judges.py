"""What the planted judges are: their information and options, and the baselines of every study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import Field

from steelyard.errors import ConfigError
from steelyard.providers.options import Options, Settings
from steelyard.providers.planted.decision_model import Parameters
from steelyard.providers.provider_info import IN_PROCESS_SECONDS, JudgeExample, ProviderInfo, prompts
from steelyard.tasks.scale import BestOf, Pairwise, Scale, scale_name
from steelyard.trials.judge import Judge, Protocol

STRICT_STEP = 0.6
"""How much higher the criterion of planted/probit is under the strict protocol, where none is given."""

PROBIT = "planted/probit?s=0.8&beta=0.4&tau=0.6&sigma=0.7&lapse=0.02"


class SeededOptions(Options):
    owner = ""

    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)


class ProbitSettings(Settings):
    owner = "planted/probit"

    s: float | None = None
    beta: float | None = None
    tau: float | None = None
    sigma: float | None = None
    lapse: float | None = None
    length: float | None = None
    worth: float | None = None


class ProbitOptions(SeededOptions, ProbitSettings):
    tau_strict: float | None = Field(default=None, exclude=True)
    """The criterion under the strict protocol."""


class RaterOptions(SeededOptions):
    owner = "planted/rater"

    sensitivity: float | None = None
    specificity: float | None = None
    noise: float | None = None
    wording: float | None = None
    length: float | None = None
    middle: float | None = None
    worth: float | None = None


class ChooserOptions(SeededOptions):
    owner = "planted/chooser"

    accuracy: float | None = None
    bias: float | None = None
    noise: float | None = None
    slot: int | None = Field(default=None, ge=1)


class ConstantOptions(SeededOptions):
    owner = "planted/constant"

    value: int | None = None


def _base_alone(scale: Scale, options: Any) -> Mapping[str, Protocol]:
    return {"base": prompts(scale, options)["base"]}


def _graded(scale: Scale, options: ProbitOptions) -> Mapping[str, Protocol]:
    base = Parameters().tie_threshold if options.tau is None else options.tau
    strict = base + STRICT_STEP if options.tau_strict is None else options.tau_strict
    taus = {"lenient": base / 2, "strict": strict, "strictest": strict + STRICT_STEP}
    return {
        name: replace(protocol, settings={"tau": taus[name]}) if name in taus else protocol
        for name, protocol in prompts(scale, options).items()
    }


def _constant(scale: Scale, options: ConstantOptions) -> Mapping[str, Protocol]:
    if options.value is not None and str(options.value) not in scale.answers:
        raise ConfigError(
            f"value is {options.value}, expected an answer of the scale {scale_name(scale)!r}; correct it."
        )
    return _base_alone(scale, options)


_ANY = ProviderInfo(
    free=True,
    uses_prompt=False,
    can_write=False,
    seconds_per_call=IN_PROCESS_SECONDS,
    options=SeededOptions,
    protocols=_base_alone,
)
_OF_TEXTS = replace(_ANY, can_score=False)
_OF_PAIRS = replace(_OF_TEXTS, can_choose=False)
_OF_SCORES = replace(_ANY, can_compare=False, can_choose=False)

PLANTED = replace(
    _ANY,
    models={
        "probit": replace(
            _OF_PAIRS,
            options=ProbitOptions,
            settings=ProbitSettings,
            protocols=_graded,
            examples=(JudgeExample(PROBIT, "a judge with known parameters"),),
        ),
        "coin": replace(
            _OF_TEXTS,
            examples=(
                JudgeExample(
                    "planted/coin", "any slot by chance; also run as a baseline beside every result"
                ),
            ),
        ),
        "first": replace(
            _OF_TEXTS, examples=(JudgeExample("planted/first", "always the first slot; baseline"),)
        ),
        "tie": replace(_OF_PAIRS, examples=(JudgeExample("planted/tie", "always a tie; baseline"),)),
        "longest": replace(
            _OF_TEXTS, examples=(JudgeExample("planted/longest", "the longest answer; baseline"),)
        ),
        "chooser": replace(
            _OF_TEXTS,
            can_compare=False,
            knows_labels=True,
            options=ChooserOptions,
            examples=(
                JudgeExample(
                    "planted/chooser?accuracy=0.8&bias=0.2",
                    "names the best of several texts with known rates of error",
                ),
            ),
        ),
        "rater": replace(
            _OF_SCORES,
            knows_labels=True,
            options=RaterOptions,
            examples=(
                JudgeExample(
                    "planted/rater?sensitivity=0.9&specificity=0.8&noise=0.1",
                    "scores single texts with known rates of error",
                ),
            ),
        ),
        "constant": replace(
            _OF_SCORES,
            options=ConstantOptions,
            protocols=_constant,
            examples=(
                JudgeExample(
                    "planted/constant?value=1",
                    "always the same score, the middle unless given; baseline for scores",
                ),
            ),
        ),
        "random": replace(
            _OF_SCORES,
            examples=(
                JudgeExample("planted/random", "any score of the scale by chance; baseline for scores"),
            ),
        ),
    },
)

PAIRWISE_MODELS = tuple(sorted(name for name, info in PLANTED.models.items() if info.can_compare))
POINTWISE_MODELS = tuple(sorted(name for name, info in PLANTED.models.items() if info.can_score))
CHOOSER = "chooser"


DEFAULT_JUDGES = ("embedded/smollm2-135m", "embedded/smollm2-135m-likelihood")
SCORE_JUDGES = ("embedded/smollm2-135m",)

BASELINES = ("coin", "first", "tie", "longest")
SCORE_BASELINES = ("constant", "random")
BEST_OF_BASELINES = ("coin", "first", "longest")

DUMMY_SCORER = "planted/constant"

EXAMPLE_MODEL = "openai/gpt-4o"
EXAMPLE_SERVER = "openai/NAME?base_url=…"

PAIRS = Pairwise()


def baseline_judges(seed: int, scale: Scale = PAIRS) -> list[Judge]:
    names: tuple[str, ...] = BASELINES if isinstance(scale, Pairwise) else SCORE_BASELINES
    if isinstance(scale, BestOf):
        names = BEST_OF_BASELINES
    return [
        Judge(
            name=name,
            provider="planted",
            model=name,
            protocols=PLANTED.for_model(name).protocols(scale, PLANTED.for_model(name).options()),
            options=SeededOptions(seed=seed).stored(),
            baseline=True,
        )
        for name in names
    ]
