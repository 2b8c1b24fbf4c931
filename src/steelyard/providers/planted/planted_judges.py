"""Planted judges, whose true parameters are known: their information and options, and how they answer.

For pairs, `coin`, `first`, `tie` and `longest` are the baselines; `probit` follows the instrument model. For
single texts, `constant` and `random` are the baselines; `rater` knows the labels and errs as often as its
options say. Among several texts, `coin`, `first` and `longest` are the baselines; `chooser` knows the labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import Field

from steelyard.core.content_hash import canonical_json, rng_for
from steelyard.core.text import pluralize
from steelyard.core.validation import checked
from steelyard.errors import ConfigError, PermanentError, ProviderRefusedError
from steelyard.providers.planted.answer_keys import (
    KnownLabel,
    LabelKey,
    TextKey,
    pack_key,
    respaced,
    text_keys,
)
from steelyard.providers.planted.decision_model import (
    ChoiceKey,
    ChooserParameters,
    Parameters,
    RaterParameters,
    choose,
    decide,
    rate,
    texts_hash,
)
from steelyard.providers.provider_info import (
    IN_PROCESS_SECONDS,
    InProcessProvider,
    JudgeExample,
    Options,
    ProviderInfo,
    Settings,
    prompts,
)
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.task import BestOf, Pairwise, Scale, scale_name
from steelyard.trials.judge import Judge, Presentation, Protocol, Reply, Usage

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Changed = TypeVar("Changed", bound="DataclassInstance")

STRICT_STEP = 0.6
"""How much higher the criterion of planted/probit is under the strict protocol, where none is given."""

PROBIT = "planted/probit?s=0.8&beta=0.4&tau=0.6&sigma=0.7&lapse=0.02"


class SeededOptions(Options):
    owner = ""

    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)


@dataclass(frozen=True)
class Range:
    low: float
    high: float
    parameter: str = ""
    """What the option sets; one of its own name where that is empty."""


class ProbitSettings(Settings):
    owner = "planted/probit"

    s: Annotated[float | None, Range(-100, 100, "resolution")] = None
    beta: Annotated[float | None, Range(-100, 100, "position_bias")] = None
    tau: Annotated[float | None, Range(0, 100, "tie_threshold")] = None
    sigma: Annotated[float | None, Range(0, 100, "surface_sensitivity")] = None
    lapse: Annotated[float | None, Range(0, 1, "lapse_rate")] = None
    length: Annotated[float | None, Range(-100, 100, "length_pull")] = None
    worth: Annotated[float | None, Range(-100, 100, "cue_worth")] = None


class ProbitOptions(SeededOptions, ProbitSettings):
    tau_strict: float | None = Field(default=None, exclude=True)
    """The criterion under the strict protocol."""


Share = Annotated[float | None, Range(0, 1)]


class RaterOptions(SeededOptions):
    owner = "planted/rater"

    sensitivity: Share = None
    specificity: Share = None
    noise: Share = None
    wording: Share = None
    length: Share = None
    middle: Share = None
    worth: Annotated[float | None, Range(-100, 100)] = None


class ChooserOptions(SeededOptions):
    owner = "planted/chooser"

    accuracy: Share = None
    bias: Share = None
    noise: Share = None
    slot: int | None = Field(default=None, ge=1)


class ConstantOptions(SeededOptions):
    owner = "planted/constant"

    value: int | None = None


def updated(parameters: Changed, options: Options, where: str) -> Changed:
    """The parameters with what the options say of them."""
    changes: dict[str, Any] = {}
    for name, value in options.stored().items():
        parameter = name
        for limits in type(options).model_fields[name].metadata:
            if isinstance(limits, Range):
                parameter = limits.parameter or name
                if not limits.low <= value <= limits.high:
                    expected = f"expected a number from {limits.low:g} to {limits.high:g}"
                    raise ConfigError(f"{where}: option {name} is {value!r}, {expected}.")
        changes[parameter] = value
    return replace(parameters, **changes)


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


def _model(base: ProviderInfo, judge: str, meaning: str, **differs: Any) -> ProviderInfo:
    return replace(base, examples=(JudgeExample(judge, meaning),), **differs)


PLANTED = replace(
    _ANY,
    models={
        "probit": _model(
            _OF_PAIRS,
            PROBIT,
            "a judge with known parameters",
            options=ProbitOptions,
            settings=ProbitSettings,
            protocols=_graded,
        ),
        "coin": _model(
            _OF_TEXTS, "planted/coin", "any slot by chance; also run as a baseline beside every result"
        ),
        "first": _model(_OF_TEXTS, "planted/first", "always the first slot; baseline"),
        "tie": _model(_OF_PAIRS, "planted/tie", "always a tie; baseline"),
        "longest": _model(_OF_TEXTS, "planted/longest", "the longest answer; baseline"),
        "chooser": _model(
            _OF_TEXTS,
            "planted/chooser?accuracy=0.8&bias=0.2",
            "names the best of several texts with known rates of error",
            can_compare=False,
            knows_labels=True,
            options=ChooserOptions,
        ),
        "rater": _model(
            _OF_SCORES,
            "planted/rater?sensitivity=0.9&specificity=0.8&noise=0.1",
            "scores single texts with known rates of error",
            knows_labels=True,
            options=RaterOptions,
        ),
        "constant": _model(
            _OF_SCORES,
            "planted/constant?value=1",
            "always the same score, the middle unless given; baseline for scores",
            options=ConstantOptions,
            protocols=_constant,
        ),
        "random": _model(
            _OF_SCORES, "planted/random", "any score of the scale by chance; baseline for scores"
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
    options = SeededOptions(seed=seed).stored()
    return [
        Judge(name, "planted", name, info.protocols(scale, info.options()), options=options, baseline=True)
        for name, info in ((name, PLANTED.models[name]) for name in names)
    ]


MODELS = (*PAIRWISE_MODELS, CHOOSER, *POINTWISE_MODELS)


class Planted(InProcessProvider):
    info = PLANTED
    concurrency = 64

    def __init__(self, judge: Judge) -> None:
        if judge.model not in MODELS:
            raise ProviderRefusedError(
                f"judge {judge.address}: unknown planted model {judge.model!r}; known: {', '.join(MODELS)}."
            )
        self._judge = judge
        self._single = judge.model in POINTWISE_MODELS
        self._seen: dict[str, Parameters] = {}
        self._replies: dict[tuple[str, int], Reply] = {}
        self._key = pack_key() if judge.model == "rater" else LabelKey()
        self._choices = ChoiceKey()
        self._texts: dict[str, TextKey] = {}
        seed = {name: value for name, value in judge.options.items() if name == "seed"}
        self._parameters, self._rater = Parameters(**seed), RaterParameters(**seed)
        self._chooser: ChooserParameters | None = None
        self._value: str | None = None
        where = f"judge {judge.address}"
        match self.info.for_model(judge.model).options.of(judge):
            case ProbitOptions() as options:
                self._parameters = updated(self._parameters, options, where)
            case RaterOptions() as options:
                self._rater = updated(self._rater, options, where)
            case ChooserOptions() as options:
                self._chooser = updated(ChooserParameters(), options, where)
            case ConstantOptions(value=int(value)):
                self._value = str(value)
        for protocol in judge.protocols.values():
            self.parameters(protocol.settings)

    def set_labels(self, stimuli: Iterable[Stimulus]) -> None:
        """Take the labels of the texts into the key; they come beside the prompts, never in them."""
        if self._judge.model == "rater":
            self._key = self._key.merge(LabelKey.of(stimuli))
        elif self._judge.model == "chooser":
            self._choices = self._choices.merge(ChoiceKey.of(stimuli))
        elif self._judge.model == "probit":
            self._texts |= text_keys(stimuli)

    def parameters(self, settings: Mapping[str, Any]) -> Parameters:
        if self._judge.model != "probit" or not settings:
            return self._parameters
        name = canonical_json(dict(settings))
        if name not in self._seen:
            where = f"judge {self._judge.address}, protocol settings"
            self._seen[name] = updated(self._parameters, checked(ProbitSettings, settings, where), where)
        return self._seen[name]

    async def ask(self, presentation: Presentation) -> Reply:
        return self.reply(presentation)

    def reply(self, presentation: Presentation) -> Reply:
        texts = len(presentation.slots.texts)
        several = texts > 2 and self.info.for_model(self._judge.model).can_choose
        if not several and (texts != (1 if self._single else 2) or self._chooser is not None):
            expected, scale = ("one", "binary or ordinal") if self._single else ("a pair", "pairwise")
            if self._chooser is not None:
                expected, scale = "several", "best-of"
            raise PermanentError(
                "bad_request",
                f"judge {self._judge.address}: found {pluralize(texts, 'text')}, "
                f"expected {expected}; use this judge with a {scale} scale.",
            )
        if self._single:
            text = f'{{"score": {self.score(presentation)}}}'
        else:
            winner = self.choice(presentation) if several else self.answer(presentation)
            text = f'{{"winner": "{winner}"}}'
        # The same reply for all calls that get the same answer to a prompt of so many tokens.
        prompt = sum(len(message.content) for message in presentation.messages) // 4
        reply = self._replies.get((text, prompt))
        if reply is None:
            usage = Usage(input_tokens=prompt, output_tokens=len(text) // 4)
            reply = Reply(text, usage=usage, served_model=self._judge.address)
            self._replies[text, prompt] = reply
        return reply

    def knows(self, presentation: Presentation) -> bool:
        slots = presentation.slots
        if self._chooser is not None:
            return texts_hash(slots.request, slots.texts) in self._choices.best
        if self._judge.model != "rater":
            return True
        return self._key.lookup(slots.request, slots.texts[0], presentation.answers) is not None

    def answer(self, presentation: Presentation) -> str:
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
                difference = len(first.split()) - len(second.split())
                return "tie" if difference == 0 else "1" if difference > 0 else "2"
            case _:
                request, answers = presentation.slots.request, presentation.answers
                own = self._texts.get(respaced(request))
                return decide(parameters, request, (first, second), answers, presentation.trial, own)

    def choice(self, presentation: Presentation) -> str:
        """The slot that it names among several texts."""
        slots, texts = presentation.slots, presentation.slots.texts
        match self._judge.model:
            case "coin":
                chance = rng_for(self._parameters.seed, "coin", presentation.trial)
                return str(1 + int(chance.random() * len(texts)))
            case "first":
                return "1"
            case "longest":
                lengths = [len(text.split()) for text in texts]
                return str(1 + lengths.index(max(lengths)))
            case _:
                assert self._chooser is not None
                return choose(self._chooser, self._choices, slots.request, texts, presentation.trial)

    def score(self, presentation: Presentation) -> str:
        answers = presentation.answers
        match self._judge.model:
            case "constant":
                return self._constant(answers)
            case "random":
                return rng_for(self._rater.seed, "random", presentation.trial).choice(answers)
            case _:
                request, text = presentation.slots.request, presentation.slots.texts[0]
                truth = self._key.lookup(request, text, answers)
                if truth is None:
                    truth = KnownLabel(answers[0], f"{request}\n{text}")
                return rate(self._rater, truth, answers, presentation.trial, text)

    def _constant(self, answers: tuple[str, ...]) -> str:
        value = answers[len(answers) // 2] if self._value is None else self._value
        if value not in answers:
            raise PermanentError(
                "bad_request",
                f"judge {self._judge.address}: value {value} is not on the scale {', '.join(answers)}; "
                "choose another value.",
            )
        return value
