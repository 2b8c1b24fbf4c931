"""Names of cues in sentences and tables."""

from __future__ import annotations

from steelyard.metrics.instrument.crossing import POSITION
from steelyard.stimuli.cues import PADDED

_NAMES = {
    "padding": ("padding", "a padded answer"),
    "padding_25": ("padding by a quarter", "a padded answer"),
    "padding_100": ("padding by as many words again", "a padded answer"),
    PADDED: ("twice as many words", "a padded answer"),
    "bullets": ("the use of bullets", "an answer in bullets"),
    "headings": ("the use of headings", "an answer with headings"),
    "emoji": ("a green tick before every sentence", "an answer with ticks"),
    "authority": ("a claim of authority", "an answer that claims authority"),
    "majority": ("a claim of popular approval", "an answer that claims approval"),
    "confidence": ("stated confidence", "an answer that states confidence"),
    "self_praise": ("self-praise", "an answer that praises itself"),
    "author": ("a claimed author", "an answer under a known name"),
    "injection": ("an instruction to the judge", "an answer that instructs the judge"),
    "typos": ("clean spelling", "a cleanly spelled answer"),
    POSITION: ("the first slot", "the answer in slot 1"),
}
"""Each built-in cue in words, and the answer that has it."""


def cue_name(cue: object) -> str:
    name = str(cue)
    return _NAMES[name][0] if name in _NAMES else name.replace("_", " ")


def text_cue_name(cue: object) -> str:
    """The cue as a single text carries it: typing errors themselves, and not clean spelling."""
    return "a share of mistyped words" if cue == "typos" else cue_name(cue)


def cue_carrier(cue: object) -> str:
    """The answer that has the cue."""
    name = str(cue)
    return _NAMES[name][1] if name in _NAMES else "an answer with it"
