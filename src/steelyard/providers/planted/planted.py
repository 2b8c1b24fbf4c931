"""Planted judges: judges whose true parameters are known.

For pairs, `coin`, `first`, `tie` and `longest` are the baselines that stand beside every result; `probit`
follows the instrument model with the parameters of its options. For single texts, `constant` and `random`
are the baselines, and `rater` knows the labels and errs as often as its options say. For the best of several
texts, `coin`, `first` and `longest` are the baselines, and `chooser` knows the labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from steelyard.core.content_hash import canonical_json
from steelyard.core.rng import rng_for
from steelyard.core.text import pluralize
from steelyard.errors import ConfigError, PermanentError, ProviderRefusedError
from steelyard.providers.options import TRANSPORT_OPTIONS
from steelyard.providers.planted.answer_keys import KnownLabel, LabelKey, pack_key
from steelyard.providers.planted.chooser import ChoiceKey, ChooserParameters, choose, texts_hash
from steelyard.providers.planted.decision_model import OPTION_NAMES, Parameters, decide
from steelyard.providers.planted.planted_judges import CHOOSER, PAIRWISE_MODELS, PLANTED, POINTWISE_MODELS
from steelyard.providers.planted.rater import RaterParameters, rate
from steelyard.stimuli.stimulus import Stimulus
from steelyard.trials.judge import Judge
from steelyard.trials.presentation import Presentation
from steelyard.trials.reply import Reply, Usage

MODELS = (*PAIRWISE_MODELS, CHOOSER, *POINTWISE_MODELS)


class Planted:
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
        self._parameters, self._rater, self._chooser, self._value = _from_options(judge)
        for protocol in judge.protocols.values():
            self.parameters(protocol.settings)

    def set_labels(self, stimuli: Iterable[Stimulus]) -> None:
        """Take the labels of the texts into the key; they come beside the prompts, never in them."""
        known = list(stimuli)
        self._key = self._key.merge(LabelKey.of(known))
        self._choices = self._choices.merge(ChoiceKey.of(known))

    def parameters(self, settings: Mapping[str, Any]) -> Parameters:
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
        return self.reply(presentation)

    def reply(self, presentation: Presentation) -> Reply:
        single = self._single
        texts = len(presentation.slots.texts)
        several = texts > 2 and self.info.for_model(self._judge.model).can_choose
        if not several and (texts != (1 if single else 2) or self._chooser is not None):
            expected, scale = ("one", "binary or ordinal") if single else ("a pair", "pairwise")
            if self._chooser is not None:
                expected, scale = "several", "best-of"
            raise PermanentError(
                "bad_request",
                f"judge {self._judge.address}: found {pluralize(texts, 'text')}, "
                f"expected {expected}; use this judge with a {scale} scale.",
            )
        if single:
            text = f'{{"score": {self.score(presentation)}}}'
        else:
            winner = self.choice(presentation) if several else self.answer(presentation)
            text = f'{{"winner": "{winner}"}}'
        letters = 0
        for message in presentation.messages:
            letters += len(message.content)
        return self._shared_reply(text, letters // 4)

    def _shared_reply(self, text: str, prompt: int) -> Reply:
        """The same reply for all calls that get the same answer to a prompt of so many tokens."""
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
                return decide(parameters, (first, second), presentation.answers, presentation.trial)

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


def _from_options(judge: Judge) -> tuple[Parameters, RaterParameters, ChooserParameters | None, str | None]:
    options = {name: value for name, value in judge.options.items() if name not in TRANSPORT_OPTIONS}
    where, value = f"judge {judge.address}", None
    if judge.model == CHOOSER:
        return Parameters(), RaterParameters(), ChooserParameters().updated(options, where), None
    if judge.model == "rater":
        return Parameters(), RaterParameters().updated(options, where), None, None
    if judge.model == "constant" and "value" in options:
        value = str(options.pop("value"))
        if not value.isdecimal():
            raise ConfigError(f"{where}: option value is {value!r}, expected a whole number.")
    known = (*OPTION_NAMES, "seed") if judge.model == "probit" else ("seed",)
    parameters = Parameters().updated(options, where, known)
    return parameters, RaterParameters(seed=parameters.seed), None, value
