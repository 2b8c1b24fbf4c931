"""One presentation of a stimulus to a judge: the unit of cache, resume and cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from steelyard.core.content_hash import content_hash, hash_json
from steelyard.core.rng import seed_for
from steelyard.errors import PermanentError
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.scale import parse_scale
from steelyard.tasks.task import Task
from steelyard.tasks.transcripts.fit import Fitted, fitted
from steelyard.tasks.transcripts.transcript import unedited
from steelyard.trials.builtin_prompts import response_format
from steelyard.trials.judge import Judge
from steelyard.trials.presentation import Decoding, Message, Presentation, Slots
from steelyard.trials.prompt import PromptInputs, RenderedPrompt, render_prompt

ORDERS = ("uv", "vu")
"""Canonical content u in slot 1, or v in slot 1."""
CHARACTERS = 3.0
"""Characters of a token in a run of an agent at least: JSON and numbers take more tokens than prose."""
LARGEST_SEED = 2**31
"""Seeds of repeats lie below it: no server takes fewer bits."""


@dataclass(frozen=True)
class Trial:
    judge: Judge
    protocol: str
    stimulus: Stimulus
    task: Task
    order: str = "uv"
    """`uv` or `vu`; pointwise trials are always `uv`."""
    replicate: int = 0
    # `replace` copies no field with `init=False`: a trial with another judge or stimulus repeats no other.
    _question: Trial | None = field(default=None, init=False, compare=False, repr=False)
    """The trial that this one repeats: what both show alike is put together once."""

    def __hash__(self) -> int:
        return hash(self.key)

    @cached_property
    def effective_task(self) -> Task:
        """The question as it is put here: what the stimulus says of its own overrides the study's task."""
        shown = self.stimulus
        return _merge_task(self.task, self.judge.rubric, shown.instruction, shown.rubric, shown.scale)

    @property
    def slot_texts(self) -> tuple[str, ...]:
        return self.stimulus.texts if self.order == "uv" else self.stimulus.texts[::-1]

    @cached_property
    def members(self) -> tuple[Trial, ...]:
        """The trials whose verdicts make this one's; none where the judge is asked itself."""
        return tuple(
            Trial(member, self.protocol, self.stimulus, self.task, order, replicate)
            for member, order, replicate in members_of(self.judge, self.order, self.replicate)
        )

    @property
    def calls(self) -> tuple[Trial, ...]:
        """What is really asked: this trial, or the calls of its members."""
        return (self,) if self.judge.composition is None else self._members_calls

    @cached_property
    def _members_calls(self) -> tuple[Trial, ...]:
        return tuple(call for member in self.members for call in member.calls)

    @cached_property
    def shortened(self) -> Fitted | None:
        """The run as it fits what the judge can read; None where nothing is shortened, or nothing fits."""
        made = self._fitted
        return made if made is not None and made.cut else None

    @property
    def overflows(self) -> bool:
        """True where not even the ends of the run fit what the judge can read, or its edit is cut away."""
        return self._room is not None and (self._fitted is None or self._edit_cut)

    @cached_property
    def _edit_cut(self) -> bool:
        """True where the judge would read the run as it was before it was edited: no answer tells of that."""
        shown, run, found = self.shortened, self.stimulus.transcript, self.stimulus.changes
        if shown is None or run is None or self._room is None or not found:
            return False
        before = fitted(unedited(run, found), self._room)
        return before is not None and before.text_after_notice == shown.text_after_notice

    @cached_property
    def _fitted(self) -> Fitted | None:
        run, room = self.stimulus.transcript, self._room
        return None if run is None or room is None else fitted(run, room)

    @cached_property
    def _room(self) -> int | None:
        """Characters that are left for a run; None where it is no run, or the judge says no limit."""
        if self.judge.context is None or self.stimulus.transcript is None:
            return None
        tokens = self.judge.context - self.judge.decoding.max_tokens
        return int(tokens * CHARACTERS) - self._render(("",)).characters

    @cached_property
    def rendered(self) -> RenderedPrompt:
        """The rendered prompt; empty where the judge is not asked itself."""
        if self.judge.composition is not None:
            return RenderedPrompt(())
        return self._render_whole() if self._question is None else _shared_prompt(self)[0]

    def _render_whole(self) -> RenderedPrompt:
        if self.stimulus.transcript is None or self.shortened is None:
            return self._render(self.slot_texts)
        return self._render((self.shortened.text,))

    def _render(self, texts: tuple[str, ...]) -> RenderedPrompt:
        shown = self.stimulus
        templates = self.judge.templates(self.protocol)
        return render_prompt(
            templates, self.effective_task, PromptInputs(shown.request, texts, shown.reference or "")
        )

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

    @cached_property
    def prompt_hash(self) -> str:
        """Hash of the rendered prompt and decoding; of all of them where there are several."""
        if self.judge.composition is not None:
            return content_hash(sorted(call.prompt_hash for call in self.calls))
        return self.rendered.hash(self.decoding.canonical)

    @property
    def prompt_body(self) -> str:
        return self.rendered.body(self.decoding.canonical)

    @cached_property
    def unseeded_prompt_hash(self) -> str:
        if self.judge.composition is not None:
            return content_hash(sorted({call.unseeded_prompt_hash for call in self.calls}))
        return self.rendered.hash(self.judge.decoding.canonical)

    @cached_property
    def key(self) -> str:
        """Cache key and identity of the trial."""
        before, after = self.key_prefix
        return hash_json(f"{before}{self.replicate}{after}")

    @property
    def key_prefix(self) -> tuple[str, str]:
        """What stands before and after the repeat in the list whose content hash the key is.

        No part of it has to be escaped.
        """
        fingerprint = self.judge.fingerprint(self.protocol)
        return f'["{fingerprint}","{self.stimulus.hash}","{self.order}",', f',"{self.prompt_hash}"]'

    def without_prompt(self) -> Trial:
        """The same with its hashes alone: the prompt is rendered again for who asks for it."""
        prompt_hash = self.prompt_hash
        # Without a seed of its own a repeat has the prompt of the question.
        same = self.judge.composition is None and self.decoding is self.judge.decoding
        unseeded = prompt_hash if same else self.unseeded_prompt_hash
        copy = Trial(self.judge, self.protocol, self.stimulus, self.task, self.order, self.replicate)
        known = vars(copy)
        known["prompt_hash"], known["unseeded_prompt_hash"] = prompt_hash, unseeded
        if "key" in vars(self):
            known["key"] = self.key
        return copy

    def presentation(self) -> Presentation:
        """What the provider receives; a run that can not be read whole or shortened is refused."""
        if self.judge.context is not None and self.overflows:
            what = (
                "shows nothing of its edit shortened to them" if self._fitted else "is too long for its ends"
            )
            raise PermanentError(
                "context_overflow",
                f"judge {self.judge.name}: reads {self.judge.context:,} tokens, and run {self.item!r} {what}",
            )
        _, shared = _shared_prompt(self)
        return shared.of_trial(self.decoding, self.key.removeprefix("sha256:"))


def replicate_of(question: Trial, replicate: int, key: str | None = None) -> Trial:
    """A repeat of a question, with its key where that is known; a seed of its own makes another prompt."""
    repeat = Trial(
        question.judge, question.protocol, question.stimulus, question.task, question.order, replicate
    )
    known = vars(repeat)  # where cached properties look first
    known["_question"] = question
    known["effective_task"] = question.effective_task
    known["unseeded_prompt_hash"] = question.unseeded_prompt_hash
    if question.judge.decoding.seed is None:
        known["prompt_hash"] = question.prompt_hash
    if key is not None:
        known["key"] = key
    return repeat


SHARED_PROMPTS = 8192
"""Questions whose prompt is at hand for their repeats."""
_shared_prompts: dict[int, tuple[Trial, tuple[RenderedPrompt, Presentation]]] = {}
"""By the id of the question, which is held beside: no other can have it."""


def _shared_prompt(trial: Trial) -> tuple[RenderedPrompt, Presentation]:
    """What all repeats of a question show alike."""
    question = trial._question or trial
    known = _shared_prompts.get(id(question))
    if known is None:
        if len(_shared_prompts) >= SHARED_PROMPTS:
            _shared_prompts.clear()
        rendered = trial._render_whole()
        known = question, (rendered, _presentation(trial, rendered))
        _shared_prompts[id(question)] = known
    return known[1]


def _presentation(trial: Trial, rendered: RenderedPrompt) -> Presentation:
    protocol, shown = trial.judge.protocols[trial.protocol], trial.stimulus
    return Presentation(
        messages=rendered.messages,
        slots=Slots(
            shown.request, trial.slot_texts, shown.reference, shown.context, shown.metadata, shown.rubric
        ),
        answers=trial.effective_task.scale.answers,
        decoding=trial.judge.decoding,
        wants=response_format(protocol.reader).wants,
        settings=protocol.settings,
    )


@lru_cache(maxsize=1024)
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
