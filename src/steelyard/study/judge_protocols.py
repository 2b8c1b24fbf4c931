"""The protocols of a judge: prompts, reader and answer map; the provider's own, as its owner changes them.

A prompt may be a list of messages, as chat APIs and prompt tools have them: a system and a user message.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import ConfigDict

from steelyard.core.files import read_problem
from steelyard.core.registry import Spec
from steelyard.core.validation import Expected, StrictModel, checked, format_value, parse_map
from steelyard.errors import ConfigError
from steelyard.providers.provider_info import Options, ProviderInfo
from steelyard.study.composite_judges import provider_options
from steelyard.tasks.sources.table import SPELLINGS
from steelyard.tasks.task import BestOf, Pairwise, Scale, scale_name
from steelyard.trials.builtin_prompts import (
    CONFIDENCE,
    GRADED,
    NAMED_USER,
    PAPER_SYSTEM,
    PAPER_USER,
    POINTWISE_USER,
    TRANSCRIPT_SYSTEM,
    TRANSCRIPT_USER,
    asking_confidence,
    asking_json,
    response_format,
)
from steelyard.trials.judge import Protocol
from steelyard.trials.prompt import (
    BEST_OF_SHOWN,
    BEST_OF_VARIABLES,
    PAIRWISE_SHOWN,
    PAIRWISE_VARIABLES,
    POINTWISE_SHOWN,
    POINTWISE_VARIABLES,
    TRANSCRIPT_SHOWN,
    PromptTemplate,
)
from steelyard.trials.template_reader import DataColumns, TemplateNames, read_template
from steelyard.verdicts.readers import READERS, json_key
from steelyard.verdicts.verdict import ABSTAIN, normalize, strip_wrapping

ROLES = {"system": "system", "developer": "system", "user": "user", "human": "user"}
ENDINGS = (".json", ".yaml", ".yml")


def read_messages(text: str, name: str, origin: str) -> Mapping[str, str] | None:
    """Role to template, of a file with a list of messages; None where the text is the prompt itself."""
    ending = Path(name).suffix.lower()
    if ending not in ENDINGS:
        return None
    try:
        body = json.loads(text) if ending == ".json" else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        if ending != ".json":
            return None  # a text may end so and be no YAML
        raise ConfigError(
            f"{origin}: not valid JSON ({error}); correct the file, or give a text another ending."
        ) from error
    listed = body.get("messages") if isinstance(body, dict) else body
    if isinstance(listed, list):
        return messages_of(listed, origin)
    if ending != ".json":
        return None
    raise ConfigError(
        f"{origin}: found {format_value(body)}, expected messages with role and content; correct it."
    )


def messages_of(listed: Sequence[Any], origin: str) -> Mapping[str, str]:
    """Role to template; more than a system and a user message is refused."""
    messages: dict[str, str] = {}
    for number, message in enumerate(listed, start=1):
        where = f"{origin}: message {number}"
        said, content = _parts(message, where)
        role = ROLES.get(said)
        if role is None or role in messages:
            found = "a second one" if role in messages else "it"
            raise ConfigError(
                f"{where}: found role {said!r}, expected one system and one user message; put {found} into "
                "these."
            )
        messages[role] = content
    if "user" not in messages:
        raise ConfigError(f"{origin}: found no user message, expected one; add it.")
    return messages


def _parts(message: Any, where: str) -> tuple[str, str]:
    if isinstance(message, dict):
        role, content = message.get("role"), message.get("content")
    elif isinstance(message, list) and len(message) == 2:
        role, content = message
    else:
        role = content = None
    if isinstance(content, list) and all(isinstance(part, dict) and "text" in part for part in content):
        content = "\n".join(str(part["text"]) for part in content)
    if not isinstance(role, str) or not isinstance(content, str):
        raise ConfigError(
            f"{where}: found {format_value(message)}, expected role and content, both texts; correct it."
        )
    return role, content


ANSWER_MAP = 'a map from the judge\'s words to answers of the scale, such as {pass: "1", fail: "0"}'

Word = str | int | float | bool


def answer_map(given: Mapping[Word, Word] | str, scale: Scale, where: str) -> dict[str, str]:
    """Word to answer; a text is `word=answer,word=answer`."""
    pairs = parse_map(given, where, "WORD=ANSWER", "pass=1,fail=0") if isinstance(given, str) else given
    admissible = (*scale.answers, ABSTAIN)
    words: dict[str, str] = {}
    for word, answer in pairs.items():
        meaning = normalize(str(int(answer) if isinstance(answer, bool) else answer), scale)
        if meaning not in admissible:
            raise ConfigError(
                f"{where}: {word!r} stands for {format_value(answer)}, expected an answer of the scale "
                f"{scale_name(scale)!r} ({', '.join(admissible)}); correct it."
            )
        for each in SPELLINGS[word] if isinstance(word, bool) else (str(word),):
            name = normalize(strip_wrapping(each), scale)
            if not name:
                raise ConfigError(
                    f"{where}: found an empty word, expected one that a reply can hold; correct it."
                )
            if words.setdefault(name, meaning) != meaning:
                raise ConfigError(
                    f"{where}: {name!r} stands for {words[name]} and for {meaning}, expected one; correct it."
                )
    if not words:
        raise ConfigError(f"{where}: found an empty map, expected {ANSWER_MAP}; fill it, or leave it out.")
    return words


USUAL = ("base", "strict")
"""Protocols that a judge has whether or not a probe asks for them."""

TEXT_READERS = ("choice", "json", "logprob")
_READER_FORMS = f"{', '.join(TEXT_READERS)}, {{json: key}} or {{regex: pattern}}"
_ARGUMENTS = {"json": "key", "regex": "pattern"}


class ProtocolConfig(StrictModel):
    model_config = ConfigDict(allow_inf_nan=False)

    prompt: Annotated[str | list[Any] | None, Expected("a template, its file, or a list of messages")] = None
    system: str | None = None
    literal: Annotated[str | list[str] | None, Expected("names in braces that are text")] = None
    reader: Annotated[str | dict[str, str] | None, Expected(_READER_FORMS)] = None
    answers: Annotated[dict[Word, Word] | str | None, Expected(ANSWER_MAP)] = None


@dataclass
class PromptReport:
    """What reading the prompts of judges brought to light."""

    notes: list[str] = field(default_factory=list)
    """What the user should know, in sentences."""
    sources: dict[str, str] = field(default_factory=dict)
    """Fingerprint of a judge with a prompt of its own to the file of the prompt; empty for a text."""
    unread: set[str] = field(default_factory=set)
    """Fingerprints of judges whose owner does not say how their replies are read."""


@dataclass(frozen=True)
class ProtocolMaker:
    info: ProviderInfo
    options: Options
    scale: Scale
    folder: Path
    where: str
    transcripts: bool = False
    columns: DataColumns = field(default_factory=DataColumns)
    literals: frozenset[str] = frozenset()
    """Names in braces that are text in every prompt of the judge."""
    report: PromptReport = field(default_factory=lambda: PromptReport())

    def protocols(
        self, own: ProtocolConfig, others: Mapping[str, Any], arms: Collection[str]
    ) -> dict[str, Protocol]:
        """`base` as the judge's owner has it, then the provider's others, then the owner's."""
        provided = self._provided(arms)
        if "base" in others:
            raise ConfigError(
                f"{self.where}: protocols: 'base' is the judge's own prompt; give it as 'prompt'."
            )
        changes = {name: self._change(given, name) for name, given in others.items()}
        for config in (own, *(config for config, _ in changes.values())):
            fits = isinstance(self.scale, Pairwise) and provided["base"].reader.name == "json"
            if _is_named(config.prompt) and not fits:
                raise ConfigError(
                    f"{self.where}: prompt {config.prompt!r} asks about two texts and for an answer in JSON; "
                    "leave it out, or give a prompt of your own."
                )
        if own.prompt == "paper" and own.system is None:
            # Settings of judges that are not prompted stay.
            provided = {
                name: replace(provided[name], user=user, system=PAPER_SYSTEM)
                for name, user in PAPER_USER.items()
                if name in provided
            }
            own = own.model_copy(update={"prompt": None})
        elif own.prompt is not None or own.system is not None:
            provided = {"base": provided["base"]}
        protocols = {name: self._changed(protocol, own, self.where) for name, protocol in provided.items()}
        base = protocols["base"]
        for name, (config, settings) in changes.items():
            protocols[name] = settings.applied(self._changed(base, config, self._place(name)))
        for name, protocol in protocols.items():
            self._check_prompt(protocol, name)
        return protocols

    def _change(self, given: str | Mapping[str, Any], name: str) -> tuple[ProtocolConfig, Any]:
        """What a protocol changes, and its settings for the provider; a text alone is a prompt."""
        body = {"prompt": given} if isinstance(given, str) else given
        common, under = ProtocolConfig.model_fields, f"protocols.{name}"
        config = {key: value for key, value in body.items() if key in common}
        return (
            checked(ProtocolConfig, config, self.where, under=under),
            provider_options(self.info.settings, body, common, self.where, under),
        )

    def _provided(self, arms: Collection[str]) -> dict[str, Protocol]:
        """What the provider gives: of its tie instructions the usual ones and those that are asked for."""
        try:
            every = self.info.protocols(self.scale, self.options)
            if self.transcripts:  # the built-in prompt of single texts in words for runs of agents
                every = {
                    name: replace(protocol, user=TRANSCRIPT_USER, system=TRANSCRIPT_SYSTEM)
                    if protocol.user == POINTWISE_USER
                    else protocol
                    for name, protocol in every.items()
                }
        except ConfigError as error:
            raise ConfigError(f"{self.where}: {error}") from error
        graded = [*USUAL, *(name for name in GRADED if name in arms and name not in USUAL)]
        wanted = [*graded, *(name for name in every if name not in GRADED)]
        return {name: every[name] for name in wanted if name in every}

    def _changed(self, base: Protocol, change: ProtocolConfig, where: str) -> Protocol:
        user, system, reader = base.user, base.system, base.reader
        literals = self.literals | set(as_list(change.literal))
        if isinstance(change.prompt, str) and _is_named(change.prompt):
            user, system, reader = NAMED_USER[change.prompt], PAPER_SYSTEM, Spec("json")
        elif change.prompt == CONFIDENCE:
            user, reader = self._asking_confidence(base, where), Spec("json", {"key": json_key(self.scale)})
        elif change.prompt is not None:
            messages = self._messages(change.prompt, f"{where}: prompt", literals)
            user, system = messages["user"], messages.get("system")
            if reader.name == "json" and f'"{json_key(self.scale)}"' not in user + (system or ""):
                reader = Spec("choice", reader.args)  # a schema would make another reply than the prompt does
            if system is not None and change.system is not None:
                raise ConfigError(
                    f"{where}: found system beside a system message in the prompt, expected one; leave one."
                )
        if change.system is not None:
            text, origin = self._text(change.system, f"{where}: system")
            system = self._read(text, origin, literals)
        if change.reader is not None:
            answers = {key: value for key, value in base.reader.args.items() if key == "answers"}
            reader = _reader(change.reader, self.where)
            reader = Spec(reader.name, {**answers, **reader.args})
        if change.answers is not None:
            if not self.info.is_read:
                raise ConfigError(
                    f"{self.where}: key 'answers' changes nothing in a judge that is not prompted."
                )
            words = answer_map(change.answers, self.scale, f"{self.where}: answers")
            reader = Spec(reader.name, {**reader.args, "answers": words})
        if change.prompt is None or _is_named(change.prompt):
            user = response_format(reader).reword(user)
        return Protocol(user, system, reader, base.settings)

    def _asking_confidence(self, base: Protocol, where: str) -> str:
        """A server is given no schema, which would forbid the field."""
        asking = None if base.user is None else asking_confidence(asking_json(base.user))
        if asking is None:
            raise ConfigError(
                f"{where}: prompt 'confidence' asks a prompted judge of pairs or single texts, found another "
                "kind of judge; leave it out, or give a prompt of your own."
            )
        return asking

    def _messages(self, given: str | list[Any], where: str, literals: frozenset[str]) -> Mapping[str, str]:
        """Role to template; a prompt that is no list of messages is the user message."""
        if isinstance(given, str):
            text, origin = self._text(given, where)
            messages = (read_messages(text, given, origin) if names_file(given) else None) or {"user": text}
        else:
            messages, origin = messages_of(given, where), where
        if not messages["user"].strip():
            raise ConfigError(f"{origin}: found an empty text, expected a prompt; write one.")
        return {role: self._read(text, origin, literals) for role, text in messages.items()}

    def _text(self, given: str, where: str) -> tuple[str, str]:
        """A template and where it stands."""
        text = text_or_file(given, self.folder, self.where)
        return text, f"{where} {given}" if names_file(given) else where

    def _read(self, text: str, origin: str, literals: frozenset[str]) -> str:
        names = TemplateNames(self._variables, columns=self.columns, literals=literals)
        return read_template(text, names, origin, self.report.notes)

    @property
    def _variables(self) -> frozenset[str]:
        if isinstance(self.scale, Pairwise):
            return PAIRWISE_VARIABLES
        return BEST_OF_VARIABLES if isinstance(self.scale, BestOf) else POINTWISE_VARIABLES

    def _place(self, name: str) -> str:
        return self.where if name == "base" else f"{self.where}: protocol {name!r}"

    def _check_prompt(self, protocol: Protocol, name: str) -> None:
        where, allowed = self._place(name), self._variables
        shown = PAIRWISE_SHOWN if isinstance(self.scale, Pairwise) else POINTWISE_SHOWN
        texts = [text for text in (protocol.system, protocol.user) if text]
        named = frozenset[str]().union(*(PromptTemplate(text, where).check(allowed) for text in texts))
        hidden = sorted(shown - named)
        if texts and hidden and not (named & (TRANSCRIPT_SHOWN | BEST_OF_SHOWN)):
            raise ConfigError(
                f"{where}: the prompt does not show the judge {{{{ {hidden[0]} }}}}, and what it has not "
                "seen it can not judge; add it."
            )


def _is_named(prompt: object) -> bool:
    return isinstance(prompt, str) and prompt in NAMED_USER


def as_list(given: str | list[str] | None) -> list[str]:
    return [given] if isinstance(given, str) else given or []


def names_file(value: str) -> bool:
    """False of a template or text that stands there itself: it spans lines or holds a brace."""
    return "\n" not in value and "{" not in value


def text_or_file(value: str, folder: Path, where: str) -> str:
    if not names_file(value):
        return value
    path = folder / value
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{where}: {path}: {read_problem(path, error)}; expected a text file.") from error


def _reader(given: str | Mapping[str, str], where: str) -> Spec:
    if isinstance(given, str):
        if given not in TEXT_READERS:
            raise ConfigError(f"{where}: unknown reader {format_value(given)}; expected {_READER_FORMS}.")
        return Spec(given)
    if len(given) != 1 or not set(given) <= set(_ARGUMENTS):
        raise ConfigError(
            f"{where}: reader: found {format_value(given)}, expected {_READER_FORMS}; correct it."
        )
    [(name, argument)] = given.items()
    spec = Spec(name, {_ARGUMENTS[name]: argument})
    try:
        READERS.build(spec)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    return spec
