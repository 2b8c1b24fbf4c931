"""One question to a model and its cache key; a trial, a stimulus shown to a judge, is the unit of cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from steelyard.core.content_hash import canonical_json, content_hash, hash_json, seed_for
from steelyard.errors import PermanentError
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.task import Task, parse_scale
from steelyard.tasks.transcripts.preprocess import Fitted, fitted
from steelyard.tasks.transcripts.transcript import Transcript, TurnChange, unedited
from steelyard.trials.builtin_prompts import response_format
from steelyard.trials.judge import Decoding, Judge, Presentation, Slots
from steelyard.trials.prompt import Message, PromptInputs, RenderedPrompt, render_prompt

ORDERS = ("uv", "vu")
"""Canonical content u in slot 1, or v in slot 1."""
CHARACTERS = 3.0
"""Characters of a token in a run of an agent at least: JSON and numbers take more tokens than prose."""
LARGEST_SEED = 2**31
"""Seeds of repeats lie below it: no server takes fewer bits."""
TASKS, PROMPTS, FITS = 1024, 8192, 256
"""Tasks, rendered prompts and shortened runs that a plan has at hand."""


Value = TypeVar("Value")


class _Lazy(cached_property[Value]):
    """A cached property without a lock, which Python 3.11 takes at the first read of each instance."""

    if not TYPE_CHECKING:

        def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value


@dataclass(frozen=True)
class Fit:
    """How much of a run of an agent a judge can read."""

    shown: Fitted | None
    """None where not even its ends fit."""
    hides_edit: bool
    """The judge would read the run as it was before it was edited: no answer tells of that."""

    @classmethod
    def of(cls, run: Transcript, edits: Sequence[TurnChange] | None, room: int) -> Fit:
        shown = fitted(run, room)
        if shown is None or not shown.cut or not edits:
            return cls(shown, hides_edit=False)
        before = fitted(unedited(run, edits), room)
        return cls(shown, before is not None and before.text_after_notice == shown.text_after_notice)


class PromptCache:
    """What questions of one plan show, for repeats and for judges that are asked alike; released with it."""

    def __init__(self) -> None:
        self.merge_task = lru_cache(maxsize=TASKS)(_merge_task)
        self.render = lru_cache(maxsize=PROMPTS)(render_prompt)
        self.present = lru_cache(maxsize=PROMPTS)(_present)
        self._fits: dict[tuple[str, int], Fit] = {}

    def fit(self, stimulus: Stimulus, run: Transcript, room: int) -> Fit:
        place = stimulus.hash, room
        if place not in self._fits:
            if len(self._fits) >= FITS:
                self._fits.clear()
            self._fits[place] = Fit.of(run, stimulus.changes, room)
        return self._fits[place]


@dataclass(frozen=True)
class Trial:
    judge: Judge
    protocol: str
    stimulus: Stimulus
    task: Task
    order: str = "uv"
    """`uv` or `vu`; pointwise trials are always `uv`."""
    replicate: int = 0
    _known_key: str = field(init=False, compare=False, repr=False)
    question: Trial | None = field(default=None, compare=False, repr=False)
    """The trial that this one repeats: hashes of what both show alike are made once."""
    prompts: PromptCache = field(default_factory=PromptCache, compare=False, repr=False)
    known_key: InitVar[str] = ""
    """The key where it is at hand, as in the columns of a plan: it need not be hashed anew. No field, since
    `replace` makes a trial with another key."""

    def __post_init__(self, known_key: str) -> None:
        object.__setattr__(self, "_known_key", known_key)
        first = self.question
        if first is not None and not (
            first.judge is self.judge
            and first.protocol == self.protocol
            and first.stimulus is self.stimulus
            and first.task is self.task
            and first.order == self.order
        ):
            raise ValueError("a repeat has judge, protocol, stimulus, task and order of its question")

    def __hash__(self) -> int:
        return hash(self.key)

    def repeat(self, replicate: int, key: str = "") -> Trial:
        """The same question once more; a seed of its own makes another prompt."""
        first = self.question or self
        if first.replicate == replicate:
            return first
        same = self.judge, self.protocol, self.stimulus, self.task, self.order
        return Trial(*same, replicate, first, self.prompts, key)

    @_Lazy
    def effective_task(self) -> Task:
        """The question as it is put here: what the stimulus says of its own overrides the study's task."""
        if self.question is not None:
            return self.question.effective_task
        shown = self.stimulus
        return self.prompts.merge_task(
            self.task, self.judge.rubric, shown.instruction, shown.rubric, shown.scale
        )

    @property
    def slot_texts(self) -> tuple[str, ...]:
        return self.stimulus.texts if self.order == "uv" else self.stimulus.texts[::-1]

    @cached_property
    def members(self) -> tuple[Trial, ...]:
        """The trials whose verdicts make this one's; none where the judge is asked itself."""
        return tuple(
            Trial(member, self.protocol, self.stimulus, self.task, order, replicate, prompts=self.prompts)
            for member, order, replicate in members_of(self.judge, self.order, self.replicate)
        )

    @property
    def calls(self) -> tuple[Trial, ...]:
        """What is really asked: this trial, or the calls of its members."""
        if self.judge.composition is None:
            return (self,)
        return tuple(call for member in self.members for call in member.calls)

    @property
    def shortened(self) -> Fitted | None:
        """The run as it fits what the judge can read; None where nothing is shortened, or nothing fits."""
        fit = self._fit
        return fit.shown if fit is not None and fit.shown is not None and fit.shown.cut else None

    @property
    def overflows(self) -> bool:
        """True where not even the ends of the run fit what the judge can read, or its edit is cut away."""
        fit = self._fit
        return fit is not None and (fit.shown is None or fit.hides_edit)

    @property
    def _fit(self) -> Fit | None:
        """None where it is no run, or the judge says no limit."""
        judge, run = self.judge, self.stimulus.transcript
        if judge.context is None or run is None:
            return None
        tokens = judge.context - judge.decoding.max_tokens
        room = int(tokens * CHARACTERS) - self._render(("",)).characters
        return self.prompts.fit(self.stimulus, run, room)

    @property
    def rendered(self) -> RenderedPrompt:
        """The rendered prompt; empty where the judge is not asked itself."""
        if self.judge.composition is not None:
            return RenderedPrompt(())
        return self._render(self.slot_texts if self.shortened is None else (self.shortened.text,))

    def _render(self, texts: tuple[str, ...]) -> RenderedPrompt:
        shown, templates = self.stimulus, self.judge.templates(self.protocol)
        own = (shown.reference or "", shown.context or "", shown.metadata or "")
        inputs = PromptInputs(shown.request, texts, *own)
        return self.prompts.render(templates, self.effective_task, inputs)

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.rendered.messages

    @property
    def characters(self) -> int:
        return self.rendered.characters

    @property
    def decoding(self) -> Decoding:
        """How to sample; with a seed of its own for each repeat, or a server would give one answer to all."""
        stated = self.judge.decoding
        if stated.seed is None or not self.replicate:
            return stated
        return replace(stated, seed=seed_for(stated.seed, "replicate", self.replicate) % LARGEST_SEED)

    @property
    def item(self) -> str:
        """What is asked about; calls on one item may fail alike."""
        return self.stimulus.unit

    @property
    def opening(self) -> tuple[str, ...]:
        return (self.stimulus.request, *self.slot_texts, self.protocol)

    @property
    def prefix(self) -> tuple[str, ...]:
        return (*self.opening, self.key)

    @_Lazy
    def prompt_hash(self) -> str:
        """Hash of the rendered prompt and decoding; of all of them where there are several."""
        if self.question is not None and self.judge.decoding.seed is None:
            return self.question.prompt_hash
        if self.judge.composition is not None:
            return content_hash(sorted(call.prompt_hash for call in self.calls))
        return self.rendered.hash(self.decoding.canonical)

    @property
    def prompt_body(self) -> str:
        return self.rendered.body(self.decoding.canonical)

    @cached_property
    def unseeded_prompt_hash(self) -> str:
        if self.question is not None:
            return self.question.unseeded_prompt_hash
        if self.judge.composition is not None:
            return content_hash(sorted({call.unseeded_prompt_hash for call in self.calls}))
        stated = self.judge.decoding
        return self.prompt_hash if self.decoding is stated else self.rendered.hash(stated.canonical)

    @_Lazy
    def key(self) -> str:
        """Cache key of the call, and identity of the trial."""
        if self._known_key:
            return self._known_key
        before, after = self.key_prefix
        return hash_json(f"{before}{self.replicate}{after}")

    @property
    def key_prefix(self) -> tuple[str, str]:
        """What stands before and after the repeat in the list whose content hash the key is.

        No part of it has to be escaped.
        """
        fingerprint = self.judge.fingerprint(self.protocol)
        return f'["{fingerprint}","{self.stimulus.hash}","{self.order}",', f',"{self.prompt_hash}"]'

    def presentation(self) -> Presentation:
        """What the provider receives; `replace` would take several times as long."""
        shared, trial = self.prompts.present(self.question or self), self.key.removeprefix("sha256:")
        return Presentation(
            shared.messages, shared.slots, shared.answers, self.decoding, shared.wants, shared.settings, trial
        )


def _present(question: Trial) -> Presentation:
    """What all repeats show alike; a run that can not be read whole or shortened is refused."""
    judge, shown = question.judge, question.stimulus
    if question.overflows:
        cut = question.shortened is not None
        what = "shows nothing of its edit shortened to them" if cut else "is too long for its ends"
        raise PermanentError(
            "context_overflow",
            f"judge {judge.name}: reads {judge.context:,} tokens, and run {question.item!r} {what}",
        )
    protocol = judge.protocols[question.protocol]
    return Presentation(
        question.messages,
        Slots(
            shown.request, question.slot_texts, shown.reference, shown.context, shown.metadata, shown.rubric
        ),
        question.effective_task.scale.answers,
        judge.decoding,
        response_format(protocol.reader).wants,
        protocol.settings,
    )


def _merge_task(
    task: Task, judge_rubric: str | None, instruction: str | None, rubric: str | None, scale: str | None
) -> Task:
    return Task(
        instruction=task.instruction if instruction is None else instruction,
        rubric=rubric or judge_rubric or task.rubric,
        scale=task.scale if scale is None else parse_scale(scale),
    )


def members_of(judge: Judge, order: str, replicate: int) -> Iterator[tuple[Judge, str, int]]:
    made = judge.composition
    if made is None:
        return
    orders = (order, *(other for other in ORDERS if other != order))
    for member in made.members:
        for repeat in range(made.repeats):
            for shown in orders if made.both_orders else orders[:1]:
                yield member, shown, replicate * made.repeats + repeat


def calls_behind(judge: Judge, order: str, replicate: int) -> Iterator[tuple[Judge, str, int]]:
    if judge.composition is None:
        yield judge, order, replicate
    for member in members_of(judge, order, replicate):
        yield from calls_behind(*member)


AUTHOR = "author"
VALIDATOR = "validator"
EMBEDDER = "embedder"
PLANNER, EDITOR, SUMMARIZER, VERIFIER = EDITING_ROLES = ("planner", "editor", "summarizer", "verifier")
"""Edit runs of agents: say what to edit, edit a message, sum up the rest, grade what came of it."""


@dataclass(frozen=True)
class Exchange:
    """A question to a model that writes or checks stimuli: the twin of a trial, outside the measurement."""

    role: str
    """`author`, `validator`, `embedder`, or one of `EDITING_ROLES`."""
    judge: Judge
    protocol: str
    brief: str
    """Name of the stimulus that is wanted; never in the prompt."""
    messages: tuple[Message, ...]
    decoding: Decoding
    slots: Slots
    attempt: int = 0
    answers: tuple[str, ...] = ()
    wants: str = "text"
    """`json` where the answer has a schema, `embedding` where it is a vector."""

    @cached_property
    def prompt_hash(self) -> str:
        return hash_json(self.prompt_body)

    @property
    def prompt_body(self) -> str:
        return canonical_json({"messages": self.messages, "decoding": self.decoding})

    @cached_property
    def key(self) -> str:
        return exchange_key(self.role, self.judge.fingerprint(self.protocol), self.prompt_hash, self.attempt)

    @property
    def characters(self) -> int:
        return sum(len(message.content) for message in self.messages)

    @property
    def item(self) -> str:
        """What is asked about; calls on one item may fail alike."""
        return self.brief

    @property
    def prefix(self) -> tuple[str, ...]:
        return tuple(message.content for message in self.messages)

    def presentation(self) -> Presentation:
        return Presentation(
            messages=self.messages,
            slots=self.slots,
            answers=self.answers,
            decoding=self.decoding,
            wants=self.wants,
            trial=self.key.removeprefix("sha256:"),
        )


Call: TypeAlias = Trial | Exchange


def exchange_key(role: str, fingerprint: str, prompt: str, attempt: int) -> str:
    return content_hash([role, fingerprint, prompt, attempt])
