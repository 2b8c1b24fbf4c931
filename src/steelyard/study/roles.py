"""Models of a study that are no judges: author, validator, editors of runs; their prompts and decoding."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from steelyard.core.content_hash import content_hash
from steelyard.core.validation import Expected, StrictModel
from steelyard.providers.provider_info import TRANSPORT_OPTIONS
from steelyard.stimuli.authored_checks import EMBEDDED_LIMIT, LOCAL_LIMIT
from steelyard.stimuli.brief import GOALS, ORDINAL, RUN_GOALS
from steelyard.study.judge_config import ADDRESS
from steelyard.trials.builtin_prompts import (
    POINTWISE_SYSTEM,
    POINTWISE_USER,
    TRANSCRIPT_SYSTEM,
    TRANSCRIPT_USER,
)
from steelyard.trials.judge import Decoding, Judge, Protocol
from steelyard.trials.trial import EDITING_ROLES, VERIFIER

STEPS = 4
"""Messages that one plan may edit, where a study says nothing else."""
SUMMARY_WORDS = 200
SHOWN_BEFORE = 8
"""Messages before the edited one that an editor sees as they are; earlier ones are summed up."""


@dataclass(frozen=True)
class Editing:
    planner: Judge
    editor: Judge
    summarizer: Judge
    verifier: Judge
    """Grades the edited run, and does not know what it was to become."""
    steps: int = STEPS
    summary_words: int = SUMMARY_WORDS
    prompts: tuple[tuple[str, str], ...] = ()
    """Roles whose prompt the study brings, with its text."""
    stated: bool = False
    """True where the study says something of its own; what follows from author and validator is theirs."""

    @property
    def models(self) -> tuple[Judge, ...]:
        return (self.planner, self.editor, self.summarizer, self.verifier)

    def at(self, model: Judge, attempt: int) -> Judge:
        """A model as it is asked in one try: each has a seed of its own, where there is one."""
        seed = model.decoding.seed
        decoding = model.decoding if seed is None else replace(model.decoding, seed=seed + attempt)
        return replace(model, name=f"{model.name}, try {attempt + 1}", decoding=decoding)


GRADE, MEANING, EXPANSION, BORDER = "grade", "meaning", "expansion", "border"
"""What a validator is asked: a score, whether two texts say the same, or the same with explanation, whether a
score is open."""
QUESTIONS = {VERIFIER: GRADE}
"""Roles of editing whose question is called otherwise than they are."""
EMBED = "embedding"


@cache
def prompt_file(name: str) -> str:
    return (files("steelyard.stimuli") / "prompts" / f"{name}.md").read_text(encoding="utf-8")


AUTHOR_VARIABLES = frozenset(
    {"error", "exemplars", "expected", "fence", "high", "label", "low", "variant", "words"}
)


def author_protocols(own: Mapping[str, str] | None = None) -> dict[str, Protocol]:
    """Goal to prompt: what to write, in the study's words where it brings some, the material, the form."""
    material = {goal: "ordinal_material" if goal == ORDINAL else "material" for goal in GOALS}
    asked = {goal: f"{text.rstrip()}\n" for goal, text in (own or {}).items()}
    return {
        goal: Protocol(
            asked.get(goal, prompt_file(goal))
            + prompt_file(material[goal])
            + prompt_file("form").rstrip("\n"),
            prompt_file("author").rstrip("\n"),
        )
        for goal in GOALS
    }


def validator_protocols() -> dict[str, Protocol]:
    """A judge's own question for grades, so that the rubric counts as it is; other questions beside it."""
    system = prompt_file("validator").rstrip("\n")
    return {
        GRADE: Protocol(POINTWISE_USER, POINTWISE_SYSTEM),
        MEANING: Protocol(prompt_file("meaning").rstrip("\n"), system),
        EXPANSION: Protocol(prompt_file("expansion").rstrip("\n"), system),
        BORDER: Protocol(prompt_file("border").rstrip("\n"), system),
    }


def editing_protocols(prompts: Mapping[str, str]) -> dict[str, dict[str, Protocol]]:
    """Role to its one question, in the study's own words where it brings some; a verifier has a judge's."""
    system = prompt_file("run_author").rstrip("\n")
    asked = {role: Protocol(prompt_file(f"run_{role}").rstrip("\n"), system) for role in EDITING_ROLES[:-1]}
    asked[VERIFIER] = Protocol(TRANSCRIPT_USER, TRANSCRIPT_SYSTEM)
    own = {role: Protocol(text, None) for role, text in prompts.items()}
    return {role: {QUESTIONS.get(role, role): own.get(role, asked[role])} for role in EDITING_ROLES}


class ModelConfig(StrictModel):
    model_config = ConfigDict(allow_inf_nan=False)

    model: Annotated[str, Expected(ADDRESS)]
    extra: dict[str, Any] = Field(default={})


class RoleConfig(ModelConfig):
    temperature: float | None = Field(default=0.0, ge=0)
    max_tokens: int = Field(default=512, gt=0, le=10**9)
    seed: int | None = Field(default=None, ge=-(2**62), lt=2**62)


class AuthorConfig(RoleConfig):
    temperature: float | None = Field(default=0.7, ge=0)
    temperature_cap: float = Field(default=1.2, ge=0)
    """Temperature of the last try."""
    max_tokens: int = Field(default=2048, gt=0, le=10**9)
    attempts: int = Field(default=3, ge=1, le=20)
    exemplars: int = Field(default=2, ge=0, le=20)
    embeddings: str | dict[str, Any] | None = None
    similarity: Annotated[
        Annotated[float, Field(gt=0, le=1)] | Literal["off"] | None,
        BeforeValidator(lambda given: "off" if given is False else given),  # YAML reads a bare `off` as false
    ] = None
    """Cosine above which a synthetic text is too close to another; None takes the usual limit."""
    off_target: Literal["reject", "keep"] = "reject"
    """`keep` has a synthetic text that misses its score to the end kept at the score it got."""
    prompts: dict[str, str] = Field(default={})
    """Goal to what the study has its author told in the place of the built-in words."""


@dataclass(frozen=True)
class Roles:
    author: Judge
    """Writes; one protocol for each goal."""
    validator: Judge
    """Grades and compares; protocols `grade`, `meaning`, `expansion` and `border`."""
    own: AuthorConfig
    """What the study says of its author."""
    fallback: Judge | None = None
    """Asked where the validator gives no readable answer."""
    embedder: Judge | None = None
    """Embedding model that compares texts; None compares runs of signs."""
    editing: Editing | None = None
    """Who edits runs of agents; None where nobody can be asked to."""

    @property
    def similarity_limit(self) -> float | None:
        """None where synthetic texts may be as close as they like."""
        if self.own.similarity is None:
            return LOCAL_LIMIT if self.embedder is None else EMBEDDED_LIMIT
        return None if self.own.similarity == "off" else self.own.similarity

    @property
    def models(self) -> tuple[Judge, ...]:
        return self.models_of(())

    def models_of(self, typed: Collection[str]) -> tuple[Judge, ...]:
        """The models of all keys of a study file but those that a caller typed."""
        stated = self.editing is not None and self.editing.stated
        by_key = {
            "author": (self.author, self.embedder),
            "validator": (self.validator, self.fallback),
            "editing": self.editing.models if self.editing is not None and stated else (),
        }
        every = (model for key, models in by_key.items() if key not in typed for model in models)
        return tuple(model for model in every if model is not None)

    @property
    def templates(self) -> dict[str, str]:
        editing = () if self.editing is None else self.editing.models
        return {
            f"{model.name}: {question}": "\n\n".join(filter(None, (protocol.system, protocol.user)))
            for model in (self.author, self.validator, *editing)
            for question, protocol in model.protocols.items()
        }

    def prompts_for(self, goals: Collection[str]) -> dict[str, str]:
        """What a study may say in its own words for these goals, as it stands: by goal or by editing role."""
        texts = {goal: self.own.prompts.get(goal, prompt_file(goal)) for goal in GOALS if goal in goals}
        if self.editing is None or not set(goals) & set(RUN_GOALS):
            return texts
        return texts | {
            model.name: self.templates[f"{model.name}: {question}"]
            for model in self.editing.models
            for question in model.protocols
        }

    def cautions(self, judges: Iterable[Judge]) -> Iterator[str]:
        author, validator = _served(self.author), _served(self.validator)
        if validator == author:
            yield (
                f"validator: {self.validator.address} confirms what it has written itself; "
                "name another model to have it checked."
            )
        editing = self.editing
        if editing is not None and editing.stated and editing.verifier.address == editing.editor.address:
            yield (
                f"verifier: {editing.verifier.address} confirms what it has edited itself; "
                "name another model to have it checked."
            )
        for judge in judges:
            if _served(judge) in (author, validator):
                role = "wrote" if _served(judge) == author else "confirmed"
                yield (
                    f"judge {judge.name}: is measured on texts that {judge.address} {role}, and may find "
                    "what it expects; name other models as author and validator."
                )

    @cached_property
    def hash(self) -> str:
        """Hash of all that decides who is asked and how; the wording of the prompts does not enter.

        Stimuli are frozen once made, so that a later version with better prompts goes on with a folder.
        """
        models = [None if m is None else _identity(m) for m in (self.author, self.validator, self.fallback)]
        embedder = None if self.embedder is None else _identity(self.embedder)
        own, limit = self.own, None if self.own.similarity == "off" else self.own.similarity
        settings: list[object] = [models, embedder, own.attempts, own.temperature_cap, limit]
        # Settings leave the hash alone where they are the usual ones.
        given = own.model_dump(include={"exemplars", "off_target"}, exclude_defaults=True)
        given |= {"compared": False} if own.similarity == "off" else {}
        given |= {"prompts": sorted(own.prompts.items())} if own.prompts else {}
        settings += [given] if given else []
        editing = self.editing
        if editing is not None and editing.stated:
            editors = [_identity(model) for model in editing.models]
            limits = [editing.steps, editing.summary_words]
            settings.append({"models": editors, "limits": limits, "prompts": editing.prompts})
        return content_hash(settings)

    def settings(self) -> dict[str, Any]:
        author = {
            **_settings(self.author),
            **self.own.model_dump(include={"temperature_cap", "attempts", "exemplars", "off_target"}),
            "similarity": self.similarity_limit or "off",
            "embeddings": None if self.embedder is None else self.embedder.address,
            **({"prompts": dict(sorted(self.own.prompts.items()))} if self.own.prompts else {}),
        }
        fallback = None if self.fallback is None else _settings(self.fallback)
        body = {
            "author": author,
            "validator": {**_settings(self.validator), "fallback": fallback},
            "roles": self.hash,
        }
        if self.editing is None or not self.editing.stated:
            return body
        own = dict(self.editing.prompts)
        editing: dict[str, Any] = {
            model.name: {**_settings(model), "prompt": own.get(model.name)} for model in self.editing.models
        }
        editing |= {"steps": self.editing.steps, "summary_words": self.editing.summary_words}
        return {**body, "editing": editing}

    def decoding(self, attempt: int) -> Decoding:
        """The author's sampling at one try: warmer each time, up to the cap, each with a seed of its own."""
        first = self.author.decoding
        share = attempt / max(1, self.own.attempts - 1)
        temperature = first.temperature
        if temperature is not None:
            cap = max(temperature, self.own.temperature_cap)
            temperature = round(temperature + share * (cap - temperature), 4)
        seed = None if first.seed is None else first.seed + attempt
        return replace(first, temperature=temperature, seed=seed)


def _identity(model: Judge) -> list[object]:
    """Who is asked and how; options of the provider's own only where there are any."""
    own = {name: value for name, value in model.options.items() if name not in TRANSPORT_OPTIONS}
    return [model.address, model.options.get("base_url"), model.decoding, *([own] if own else [])]


def _settings(model: Judge) -> dict[str, Any]:
    decoding = model.decoding
    return {
        "model": model.address,
        **model.options,
        "temperature": decoding.temperature,
        "max_tokens": decoding.max_tokens,
        "seed": decoding.seed,
        **({"extra": dict(decoding.extra)} if decoding.extra else {}),
    }


def _served(model: Judge) -> tuple[str, object]:
    """Who answers: a model, and the server where one is named; one name may stand for two models."""
    return model.address, model.options.get("base_url")
