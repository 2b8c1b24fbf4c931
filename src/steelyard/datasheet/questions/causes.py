"""Why a judge is at fault, and what follows: members that programs branch on, words that people read.

The order of `Cause` is that of the rules: causes before what they bring, and of equal severity the first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from enum import Enum, IntEnum

from steelyard.datasheet.instrument_card import InstrumentCard


class Severity(IntEnum):
    BIASED = 1
    """Something beside quality draws the answers."""
    IMPRECISE = 2
    """They are too coarse, or differ from call to call."""


BIASED, IMPRECISE = Severity


class Cause(Enum):
    """A fault of a judge; the title is that of its heading in the guide on remedies."""

    MERIT = ("merit", "Merit", BIASED)
    POSITION = ("position", "Position", BIASED)
    NATURAL_PAIRS = ("natural_pairs", "Natural pairs", BIASED)
    ROTATION = ("rotation", "Rotation", BIASED)
    NEVER_RIGHT = ("never_right", "Accuracy", BIASED)
    EXPECTED = ("expected_answers", "Expected answers", BIASED)
    LENGTH = ("length", "Length", BIASED)
    CUES = ("cues", "Cues", BIASED)
    LENIENCY = ("leniency", "Leniency", BIASED)
    SPREAD = ("spread", "Spread", BIASED)
    SURFACE = ("surface", "Surface", BIASED)
    RUNS = ("runs", "Runs", IMPRECISE)
    ROBUSTNESS = ("robustness", "Robustness", BIASED)
    REPEATABILITY = ("repeatability", "Repeatability", IMPRECISE)
    STRATA = ("strata", "Strata", IMPRECISE)
    NO_TIES = ("no_ties", "No ties", BIASED)
    """A judge that never answers tie reacts to nothing."""
    AT_RANDOM = ("at_random", "Noise", IMPRECISE)
    EMPTY_TEXTS = ("empty_texts", "Dark current", BIASED)
    DARK_CURRENT = ("dark_current", "Dark current", BIASED)
    SENSITIVITY = ("sensitivity", "Sensitivity", IMPRECISE)
    ACCURACY = ("accuracy", "Accuracy", IMPRECISE)
    NOISE = ("noise", "Noise", BIASED)
    CONTRADICTION = ("contradiction", "Reasons", IMPRECISE)
    NO_SIGNAL = ("no_signal", "Confidence", IMPRECISE)
    OVERCONFIDENT = ("overconfident", "Confidence", IMPRECISE)
    FAILED = ("failed_calls", "Failures", IMPRECISE)
    UNREADABLE = ("unreadable_replies", "Failures", IMPRECISE)

    @property
    def title(self) -> str:
        return self.value[1]

    @property
    def severity(self) -> Severity:
        return self.value[2]

    @property
    def anchor(self) -> str:
        return self.title.lower().replace(" ", "-")

    @property
    def guide(self) -> str:
        """Where the remedies stand: page and heading."""
        return f"{GUIDE}#{self.anchor}"

    @property
    def rank(self) -> int:
        return _RANKS[self]


GUIDE = "docs/guides/fix-a-judge.md"
_RANKS = {cause: rank for rank, cause in enumerate(Cause)}


class Advice(Enum):
    """What follows from a conclusion, in one sentence or two."""

    # unfit
    USELESS = "Do not use it: change the model or the prompt, and measure again."
    REVERSED = (
        "Do not use it: see whether the scale, the labels or the answers are reversed; if not, change the "
        "model or the prompt, and measure again."
    )
    NO_CHOICE = (
        "Do not use it: it names neither text of most pairs; ask for a choice, or change the model or the "
        "prompt, and measure again."
    )
    BY_LENGTH = (
        "Do not use it: it goes by the length of the texts; say in the rubric that length does not count, or "
        "change the model, and measure again."
    )
    BY_LENGTH_STATED = (
        "Do not use it: it goes by the length of the texts, though it is told that length does not count; "
        "change the model or the prompt, and measure again."
    )
    BY_SLOT = (
        "Do not use it: it goes by the place of the texts; change the model or the prompt, and measure again."
    )
    MISSES_ANSWERS = (
        "Do not use it: it misses the answers that changed or written texts were accepted for; change the "
        "model or the prompt, and measure again."
    )
    # a fault
    BOTH_ORDERS = "Ask in both orders and count a disagreement as a tie."
    BOTH_ORDERS_OR_MAJORITY = (
        "Ask in both orders and count a disagreement as a tie, or take the majority of three calls."
    )
    AVERAGE = (
        "Ask in both orders and average: a text that wins in one order and ties in the other wins; a tie for "
        "every disagreement costs too much here."
    )
    HALF_VOTES = (
        "Ask in both orders and count each answer as half a vote, which frees shares over many pairs of the "
        "lean; as one verdict on a pair it costs too much here: for that change the prompt or the model."
    )
    ROTATE = "Ask in every rotation and take the response that is named most often."
    ORDER_NOT_SCORES = (
        "Use its order and not its scores, or say in the rubric what earns each score, with examples."
    )
    READ_LABELS = (
        "Read some of the changed or written texts with their labels; if the labels are right, say in the "
        "rubric what earns which answer, with examples, or take a stronger model."
    )
    HAVE_ACCEPTED = (
        "Have a person or a second model accept the texts that were written before you rely on it."
    )
    LABEL_RUNS = "Add labelled runs that fail as they are before you rely on it."
    LENGTH_IN_RUBRIC = (
        "Say in the rubric that length does not count, compare texts of like length, and measure again."
    )
    LENGTH_STATED = (
        "Compare texts of like length, or take a stronger model, and measure again: it is told already that "
        "length does not count."
    )
    CUES_IN_RUBRIC = (
        "Say in the rubric that what is named does not count, take it out of the texts before they are "
        "judged, and measure again."
    )
    CUES_STATED = (
        "Take what is named out of the texts before they are judged, or take a stronger model, and measure "
        "again: it is told already that this does not count."
    )
    EXAMPLES_IN_RUBRIC = (
        "Say in the rubric what earns which answer, with examples, or correct means and shares by its bias."
    )
    TIE_UNLESS_RUBRIC = (
        "Ask for a tie unless the rubric decides, and count a preference that is not shown twice as none."
    )
    NAME_EVIDENCE = (
        "Have it name, for each claim of the agent, the message that bears it out before it scores; give it "
        "less to read at once, or take a stronger model."
    )
    ONE_FORM = (
        "Bring texts to one form before they are judged, and say in the rubric that form does not count."
    )
    ONE_FORM_STATED = (
        "Bring texts to one form before they are judged, or take a stronger model: it is told already that "
        "form does not count."
    )
    STEADY = "Set the temperature to 0, or take the majority or the mean of three calls."
    COLDER_OR_STRONGER = "Set the temperature to 0, or take a stronger model."
    PEOPLE_IN_STRATUM = (
        "Have people judge the stratum that is named, or show the judge examples of it, and measure again."
    )
    ALLOW_TIES_OR_ORDERS = (
        "Say in the prompt that a tie is allowed, and show one; or ask in both orders and count a "
        "disagreement as a tie."
    )
    ALLOW_TIES = "Say in the prompt that a tie is allowed, and show one."
    TIES_STATED = "Take a model that answers tie where texts do not differ: its prompt allows a tie already."
    NO_EMPTY_TEXTS = (
        "Keep empty texts away from it, and say in the prompt how to answer where there is nothing to judge."
    )
    NOTHING_TO_JUDGE = "Say in the prompt how to answer where there is nothing to judge, with an example."
    LARGE_DIFFERENCES = "Use it for differences that it sees, or sharpen the rubric or take a stronger model."
    SHARPEN = "Sharpen the rubric, or take a stronger model; both show on the same rows."
    ANSWER_AFTER_REASON = (
        "Read some of these replies; have it give its reason first and the answer after it, in one form, or "
        "take another model."
    )
    OTHER_SIGNAL = (
        "Do not go by its confidence: take the agreement of repeats, of both orders or of a jury in its "
        "place, or ask another model."
    )
    RECALIBRATE = (
        "Do not read its confidence as a chance: recalibrate it on labelled items, or accept answers from a "
        "fitted threshold on, which takes any scale."
    )
    FIX_CALLS = "Find out why its calls fail, and have the failed ones asked again."
    READABLE = "Look at the replies that could not be read, and ask for the form that the reader reads."
    PLUGIN = "The plug-in whose limit it breaks says what that means."
    UNFINISHED = "Finish the run before you use it: a fault is shown, and not all calls were asked."
    # no fault found
    SMOKE = "A quick run finds gross faults only: measure at standard size before you rely on it."
    SMOKE_NO_LENGTH = (
        "A quick run finds gross faults only, and cannot see whether length counts: measure at standard size "
        "before you rely on it."
    )
    NOTHING_OPEN = "Nothing has to be changed."
    STILL_OPEN = "What is undecided may still hide a fault."
    # too little data
    NO_GROUND = "These data are too few for a decision."
    NOT_MEASURED = "These data cannot show whether it can judge."
    STILL_UNKNOWN = (
        "Do not use it yet: it has a fault, and these data do not show whether it can judge. "
        "Fix the fault, or measure more."
    )
    STILL_NOISY = (
        "Do not use it yet: its answers change from call to call, and these data do not show whether it can "
        "judge. Take the majority of three calls or set the temperature to 0, or measure more."
    )
    MOST_LOST = "Do not use it yet: most of its calls brought no verdict. Fix that, and measure again."
    NO_SERVER = "The server has to answer before the judge can be judged."
    NOT_CONCLUDED = "No verdict could be computed from these figures; report this fault."


_DENIED = (
    r"\b(?:(?:not|n[’']t|never)\b.*\b(?:count|matter|reward|prefer|favou?r|influence|affect|consider|weigh)"
    r"|ignor|disregard|regardless|irrespective|irrelevant|no (?:credit|weight|bonus|influence|information))"
)


class Statement(Enum):
    """Something that a prompt may say, by what names it; the value has the pattern of a whole sentence.

    A sentence says it where it names the thing and denies that it counts. What is not found so is advised.
    """

    LENGTH = ("length", rf"\b(?:length|long|longer|verbos\w*|padd\w*|word count)\b.*{_DENIED}")
    FORM = ("form", rf"\b(?:wording|style|form|format\w*|mark-?up|markdown|layout)\b.*{_DENIED}")
    TIES = ("ties", r"\b(?:tie|ties|draw|equally good)\b")
    INSTRUCTIONS = ("instructions", r"\b(?:no|not|never|ignore|disregard)\b.*\binstructions?\b")

    def is_in(self, sentences: Iterable[str]) -> bool:
        return any(re.search(self.value[1], sentence, re.I) for sentence in sentences)


_ANY_ORDER = re.compile(r"(?<=[.;!?])\s+|\n+")
OF_CUES: Mapping[str, Statement] = {
    **dict.fromkeys(("padding", "padding_25", "padding_100"), Statement.LENGTH),
    **dict.fromkeys(("bullets", "headings", "emoji"), Statement.FORM),
    "injection": Statement.INSTRUCTIONS,
}
"""What denies that a cue counts."""
STATED: Mapping[Advice, tuple[Statement, Advice]] = {
    Advice.BY_LENGTH: (Statement.LENGTH, Advice.BY_LENGTH_STATED),
    Advice.LENGTH_IN_RUBRIC: (Statement.LENGTH, Advice.LENGTH_STATED),
    Advice.ONE_FORM: (Statement.FORM, Advice.ONE_FORM_STATED),
    Advice.ALLOW_TIES_OR_ORDERS: (Statement.TIES, Advice.BOTH_ORDERS),
    Advice.ALLOW_TIES: (Statement.TIES, Advice.TIES_STATED),
}
"""Advice to say something, and what is advised where that is said."""


def statements(card: InstrumentCard | None) -> frozenset[Statement]:
    """What a judge is told; nothing is known of one that is not prompted and shows no template."""
    if card is None:
        return frozenset()
    parts = [card.settings.get("template")]
    if card.prompted:
        parts += [card.instruction, card.rubric]
        parts += [
            text for each in card.prompts if each.protocol == "base" for text in (each.system, each.user)
        ]
    sentences = [sentence for part in parts if part for sentence in _ANY_ORDER.split(part)]
    return frozenset(each for each in Statement if each.is_in(sentences))


def unless_stated(advice: Advice, said: Collection[Statement], cues: Collection[str] = ()) -> Advice:
    """The advice, or what is left of it where the judge is told so already; `cues` are those at fault."""
    if advice is Advice.CUES_IN_RUBRIC:
        told = cues and all(OF_CUES.get(cue) in said for cue in cues)
        return Advice.CUES_STATED if told else advice
    statement, instead = STATED.get(advice, (None, advice))
    return instead if statement in said else advice
