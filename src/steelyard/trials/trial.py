"""One presentation of a stimulus to a judge: the unit of cache, resume and cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from steelyard.core.content_hash import content_hash, hash_json
from steelyard.core.rng import seed_for
from steelyard.errors import PermanentError
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.scale import parse_scale
from steelyard.tasks.task import Task
from steelyard.tasks.transcripts.changes import unedited
from steelyard.tasks.transcripts.fit import Fitted, fitted
from steelyard.trials.answer_form import answer_form
from steelyard.trials.judge import Judge
from steelyard.trials.presentation import Decoding, Message, Presentation, Slots
from steelyard.trials.wording import Shown, Wording, worded

ORDERS = ("uv", "vu")
"""Canonical content u in slot 1, or v in slot 1."""
CHARACTERS = 3.0
"""Characters of a token in a run of an agent at least: JSON and numbers take more tokens than prose."""
_SEALED = (
    *("judge", "protocol", "stimulus", "task", "order", "replicate"),
    *("asked", "prompt_hash", "wording_hash"),
)
"""What stays of a trial whose words are put away."""
LARGEST_SEED = 2**31
"""Seeds of repeats lie below it: no server takes fewer bits."""


@dataclass(frozen=True)
class Trial:
    """Judge, protocol, stimulus, order, replicate."""

    judge: Judge
    protocol: str
    stimulus: Stimulus
    task: Task
    order: str = "uv"
    """`uv` or `vu`; pointwise trials are always `uv`."""
    replicate: int = 0

    @cached_property
    def asked(self) -> Task:
        """The question as it is put here: what the stimulus says of its own overrides the study's task."""
        shown = self.stimulus
        return _asked(self.task, self.judge.rubric, shown.instruction, shown.rubric, shown.scale)

    @cached_property
    def slot_texts(self) -> tuple[str, ...]:
        """The contents in the order shown."""
        return self._texts

    @property
    def _texts(self) -> tuple[str, ...]:
        return self.stimulus.texts if self.order == "uv" else self.stimulus.texts[::-1]

    @cached_property
    def members(self) -> tuple[Trial, ...]:
        """The trials whose verdicts make this one's; none where the judge is asked itself."""
        return tuple(
            replace(self, judge=member, order=order, replicate=replicate)
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
        return before is not None and before.kept == shown.kept

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
        return int(tokens * CHARACTERS) - self._worded(("",)).characters

    @cached_property
    def wording(self) -> Wording:
        """The rendered prompt; empty where the judge is not asked itself."""
        if self.judge.composition is not None:
            return Wording(())
        if self.stimulus.transcript is None or self.shortened is None:
            return self._worded(self.slot_texts)
        return self._worded((self.shortened.text,))

    def _worded(self, texts: tuple[str, ...]) -> Wording:
        """The prompt about these texts."""
        shown = self.stimulus
        templates = self.judge.templates(self.protocol)
        return worded(templates, self.asked, Shown(shown.request, texts, shown.reference or ""))

    @property
    def messages(self) -> tuple[Message, ...]:
        """The rendered prompt; none where the judge is not asked itself."""
        return self.wording.messages

    @property
    def characters(self) -> int:
        """Length of the prompt."""
        return self.wording.characters

    @cached_property
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
        """What a prompt begins with; repeats of a question share it."""
        return (self.stimulus.request, *self.slot_texts, self.protocol)

    @property
    def prefix(self) -> tuple[str, ...]:
        """Sorts trials so that those which share a prompt's beginning stand together."""
        return (*self.opening, self.key)

    @cached_property
    def prompt_hash(self) -> str:
        """Hash of the rendered prompt and decoding; of all of them where there are several."""
        if self.judge.composition is not None:
            return content_hash(sorted(call.prompt_hash for call in self.calls))
        return self.wording.hash(self.decoding.canonical)

    @property
    def prompt_body(self) -> str:
        """Canonical JSON of what is said to the model."""
        return self.wording.body(self.decoding.canonical)

    @cached_property
    def wording_hash(self) -> str:
        """The same, whatever the seed of the repeat: repeats of a question share it."""
        if self.judge.composition is not None:
            return content_hash(sorted({call.wording_hash for call in self.calls}))
        return self.wording.hash(self.judge.decoding.canonical)

    @cached_property
    def key(self) -> str:
        """Identity of the trial."""
        before, after = self.key_frame
        return hash_json(f"{before}{self.replicate}{after}")

    @property
    def key_frame(self) -> tuple[str, str]:
        """What stands before and after the repeat in the list whose content hash the key is.

        The spelling of its parts needs no care.
        """
        fingerprint = self.judge.fingerprint(self.protocol)
        return f'["{fingerprint}","{self.stimulus.hash}","{self.order}",', f',"{self.prompt_hash}"]'

    def repeat(self, replicate: int) -> Trial:
        """The same question once more, in the same words."""
        return repeated(self._question, replicate)

    @cached_property
    def _question(self) -> dict[str, Any]:
        return self._shared(self.slot_texts, self.wording)

    def opened(self) -> dict[str, Any]:
        """What `repeated` makes trials of; its words do not stay here."""
        if self.judge.composition is not None or self.stimulus.transcript is not None:
            return self.sealed()._question
        texts = self._texts
        return self._shared(texts, self._worded(texts))

    def _shared(self, texts: tuple[str, ...], wording: Wording) -> dict[str, Any]:
        """What does not depend on the repeat, by name; `cached_property` keeps its values there too."""
        question: dict[str, Any] = {
            "judge": self.judge,
            "protocol": self.protocol,
            "stimulus": self.stimulus,
            "task": self.task,
            "order": self.order,
            "asked": self.asked,
            "slot_texts": texts,
            "wording": wording,
        }
        decoding = self.judge.decoding
        if decoding.seed is None:
            question["decoding"] = decoding
            question |= {name: self.__dict__[name] for name in ("prompt_hash",) if name in self.__dict__}
            if self.judge.composition is None:
                question["_presented"] = self._shown(texts, wording, decoding)
        return question

    def sealed(self) -> Trial:
        """The same with its hashes alone: the words are put together again for who asks for them."""
        bare = object.__new__(Trial)
        bare.__dict__.update({name: getattr(self, name) for name in _SEALED})
        return bare

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
        return self._presented.of_trial(self.key.removeprefix("sha256:"))

    @cached_property
    def _presented(self) -> Presentation:
        return self._shown(self.slot_texts, self.wording, self.decoding)

    def _shown(self, texts: tuple[str, ...], wording: Wording, decoding: Decoding) -> Presentation:
        """What repeats of the question show alike."""
        protocol = self.judge.protocols[self.protocol]
        return Presentation(
            messages=wording.messages,
            slots=Slots(self.stimulus.request, texts),
            answers=self.asked.scale.answers,
            decoding=decoding,
            wants=answer_form(protocol.reader).wants,
            settings=protocol.settings,
        )


def repeated(question: dict[str, Any], replicate: int, key: str | None = None) -> Trial:
    """A repeat of an opened question; its key, where that is known."""
    trial = object.__new__(Trial)  # by its constructor it would take several times as long
    trial.__dict__.update(question, replicate=replicate)
    if key is not None:
        trial.__dict__["key"] = key
    return trial


@lru_cache(maxsize=1024)
def _asked(
    task: Task, judge_rubric: str | None, instruction: str | None, rubric: str | None, scale: str | None
) -> Task:
    return Task(
        instruction=task.instruction if instruction is None else instruction,
        rubric=rubric or judge_rubric or task.rubric,
        scale=task.scale if scale is None else parse_scale(scale),
    )


def members_of(judge: Judge, order: str, replicate: int) -> Iterator[tuple[Judge, str, int]]:
    """Whom a judge that is made of others asks in its place: the member, the order and the repeat."""
    made = judge.composition
    if made is None:
        return
    orders = (order, *(other for other in ORDERS if other != order))
    for member in made.members:
        for repeat in range(made.repeats):
            for shown in orders if made.both_orders else orders[:1]:
                yield member, shown, replicate * made.repeats + repeat


def calls_behind(judge: Judge, order: str, replicate: int) -> Iterator[tuple[Judge, str, int]]:
    """The calls behind a verdict: the judge that is really asked, the order and the repeat."""
    if judge.composition is None:
        yield judge, order, replicate
    for member in members_of(judge, order, replicate):
        yield from calls_behind(*member)
