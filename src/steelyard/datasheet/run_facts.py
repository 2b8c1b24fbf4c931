"""What reports say of the run itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.core.text import plural, pluralize
from steelyard.datasheet.conclusion import JSON_WORDS, NO_FAULT
from steelyard.tasks.task import missing_labels

EARLY_STOP = "intervals of what was looked at on the way are too narrow"
"""What an end that the figures themselves brought does to them."""


REFERENCE = (
    "verdicts of judge ",
    " on the originals: accuracy is agreement with it, and its own on the originals says nothing",
)


def describe_reference(judge: str) -> str:
    before, after = REFERENCE
    return f"{before}{judge}{after}"


def call_count(asked: int, planned: int) -> str:
    return f"{asked:,} of {pluralize(planned, 'call')}"


def partial_words(asked: int, planned: int) -> str:
    return f"Partial: {call_count(asked, planned)}"


@dataclass(frozen=True)
class OwnChecklists:
    """Checklists of the user's that pairs are made of."""

    file: str
    count: int
    elements: int
    """Elements of each, and so steps of the ladder."""
    hash: str

    def __str__(self) -> str:
        each = f"{pluralize(self.count, 'checklist')} of {self.elements} elements"
        return f"{each} from {self.file} ({self.hash[7:15]}), in the place of the built-in ones"


@dataclass(frozen=True)
class AskedCalls:
    asked: int
    """Calls that ended in a reply, or failed for good."""
    planned: int


@dataclass(frozen=True)
class Shortened:
    calls: int
    """Calls on a run of which something was cut."""
    of: int
    """Calls on runs of agents."""
    characters: int
    messages: int


@dataclass(frozen=True)
class Repeated:
    """Calls that were sent and whose reply was lost: by a kill, a timeout or a lost worker."""

    calls: int = 0
    dollars: float = 0.0
    """What the vendor may charge for the first time; part of the dollars of the run."""


@dataclass(frozen=True)
class Writing:
    calls: int = 0
    """Calls of authors and validators."""
    dollars: float | None = 0.0
    """What they cost; None where a price is not known."""


SPELLED = {spelling: word for word, spelling in JSON_WORDS.items()}
DECIDED, LARGEST, UNASKED, FAILING = "decided", "largest", "unasked", "failing"
"""Why no larger profile was measured."""
ENDS = {
    DECIDED: "the word is decided",
    LARGEST: "the largest profile is measured",
    UNASKED: "no probe here asks whether the judge tells good from bad",
    FAILING: "most calls of a judge fail",
}


@dataclass(frozen=True)
class ProfileLook:
    """What was known at one profile of `measure --until verdict`."""

    profile: str
    calls: int
    """Calls of judges that have a reply, those of smaller profiles included."""
    words: Mapping[str, str]
    """Judge to its word, as `datasheet.json` spells it."""
    open: Mapping[str, tuple[str, ...]]
    """Judges whose word was not decided, with the titles of what was open."""
    end: str | None = None
    """Why no larger profile was measured; None where one was, or is still to be."""

    @property
    def open_sentence(self) -> str:
        """What the limits of one look in three leave open, over all judges; empty where nothing is."""
        named = dict.fromkeys(title.lower() for each in self.open.values() for title in each)
        return f"open at the stricter limits of one look in three: {', '.join(named)}" if named else ""

    def __str__(self) -> str:
        words = {judge: SPELLED.get(word, word) for judge, word in self.words.items()}
        words |= {judge: f"{words[judge]} so far" for judge in self.open if words.get(judge) == NO_FAULT}
        alike = list(dict.fromkeys(words.values()))
        each = alike if len(alike) == 1 else [f"{judge} {word}" for judge, word in words.items()]
        return f"{self.profile}, {pluralize(self.calls, 'call')}: {', '.join(each)}"


OWN, BUILT_IN, CODE, UNPROMPTED = "own", "built-in", "code", "none"
"""Whose prompt a judge is asked with, where it is no file of the user's."""
_PROMPTS = {
    OWN: "a prompt of your own",
    BUILT_IN: "Steelyard's own prompt",
    CODE: "the judge's own prompt",
    UNPROMPTED: "no prompt",
}


@dataclass(frozen=True)
class Materials:
    """Whose prompts and whose texts were measured."""

    prompts: tuple[str, ...] = ()
    """File of the user's, or `own`, `built-in`, `code`, `none`; those of several judges, each once."""
    data: str | None = None
    """File of the user's texts; None for built-in ones."""
    recorded: bool = False
    """Verdicts that were given elsewhere: no judge was asked."""

    def sentence(self, rows: int, checklists: str) -> str:
        if self.recorded:
            return "Recorded verdicts; no judge was asked."
        if not self.prompts:
            return ""
        texts = f"{pluralize(rows, 'row')} of {self.data}" if rows else self.data
        texts = texts or ("pairs of your checklists" if checklists else "built-in texts")
        prompted = [prompt for prompt in self.prompts if prompt != UNPROMPTED] or [UNPROMPTED]
        asked = " and ".join(_PROMPTS.get(prompt, prompt) for prompt in prompted)
        options = ["--prompt FILE"] if BUILT_IN in self.prompts else []
        options += [] if self.data or checklists else ["--data FILE"]
        own = f"; your own: {' '.join(options)}" if options else ""
        return f"Asked with {asked} on {texts}{own}."


@dataclass(frozen=True)
class RunFacts:
    """What reports say of the run itself; by default every call was asked, as it was meant."""

    partial: bool = False
    asked: int = 0
    planned: int = 0
    handed_in: int = 0
    """Calls that wait for their reply in batches."""
    decided: str | None = None
    """Rule of `--until` after which the others were not asked; None where something else ended the run."""
    unfinished: Mapping[str, AskedCalls] = field(default_factory=dict)
    uncounted: Mapping[str, int] = field(default_factory=dict)
    """Judge to its calls whose tokens no server counted, so that their dollars are estimated."""
    refused: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Judge to the sampling fields that its server would not take, with the calls made without."""
    shortened: Mapping[str, Shortened] = field(default_factory=dict)
    """Judge to what was cut from runs of agents to fit what it can read."""
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Judge to what else a reader must know of its calls, in sentences without a full stop."""
    calls: int = 0
    """Calls of judges that have a reply."""
    dollars: float | None = 0.0
    """What they cost; None where a price is not known."""
    repeated: Repeated | None = None
    """Calls that a kill cut off and that may be billed twice; None where there were none."""
    batched_calls: int = 0
    """Calls among them that came back in batches."""
    authoring: Writing | None = None
    """What was paid before them for texts; None where nobody wrote any."""
    rows: int = 0
    """Rows of the user's data that were shown; 0 where there are none."""
    unlabelled: int = 0
    checklists: OwnChecklists | None = None
    """Checklists of the user's; None for the built-in ones, and where no pair is made of any."""
    looks: tuple[ProfileLook, ...] = ()
    """Profiles of `--until verdict` in turn, as far as all their calls were made; none of other runs."""
    materials: Materials | None = None
    """Whose prompts and texts were measured; None in files that do not say it."""
    finished: str | None = None
    """When the last reply came; None where calls are open, or nobody knows."""

    @property
    def own_checklists(self) -> str:
        """What the pairs are made of, where that is not the built-in catalogue; else empty."""
        return "" if self.checklists is None else str(self.checklists)

    @property
    def materials_sentence(self) -> str:
        """Whose prompts and texts were measured, and how to bring one's own; empty where nobody knows."""
        return "" if self.materials is None else self.materials.sentence(self.rows, self.own_checklists)

    @property
    def missing_labels(self) -> str:
        return missing_labels(self.unlabelled, self.rows)

    @property
    def looks_sentence(self) -> str:
        """The looks of `--until verdict` and why it stopped, in sentences; empty for other runs."""
        if not self.looks:
            return ""
        end = self.looks[-1].end
        still = self.looks[-1].open_sentence
        why = "" if end is None else f" Stopped: {'; '.join(filter(None, (ENDS[end], still)))}."
        return f"{'; '.join(map(str, self.looks))}.{why}"

    @property
    def ended(self) -> str:
        """When the run ended, to the minute, in the time of the files: `2026-11-16 06:04 UTC`; else empty."""
        return "" if self.finished is None else f"{self.finished[:16].replace('T', ' ')} UTC"

    @property
    def others(self) -> str:
        if not self.handed_in:
            return "the others were never asked"
        wait = plural(self.handed_in, "waits", "wait")
        told = f"{self.handed_in:,} {wait} in submitted batches"
        return told if self.asked + self.handed_in >= self.planned else f"{told}, the others were never asked"
