"""What metrics, conditions, interval methods and status words mean, their symbols; names of cues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from steelyard.estimation.designs import METRICS as ESTIMATED
from steelyard.metrics.instrument.crossing import POSITION
from steelyard.metrics.metric import Metric, undeclared
from steelyard.probes.probe_metadata import NON_PROBE_METRICS, probe_metrics, title_of
from steelyard.stimuli.cues import PADDED

INTERVALS: dict[str, str] = {
    "wilson": "Wilson score interval on single calls; it claims nothing about clusters.",
    "wilson_cluster": (
        "Wilson score interval on the effective sample size that clusters leave, with Student's t on "
        "one degree of freedom less than there are clusters."
    ),
    "wilson_units": "Wilson score interval on distinct pairs or items of one cluster; repeats count once.",
    "wilson_tasks": "Wilson score interval with the number of clusters as the sample size: the strict bound.",
    "goodman": (
        "Goodman simultaneous intervals over the cells of the decomposition, on distinct pairs; it claims "
        "nothing about clusters."
    ),
    "goodman_cluster": (
        "Goodman simultaneous intervals over the cells of the decomposition, on the effective sample size "
        "that clusters leave, with Student's t on one degree of freedom less than there are clusters."
    ),
    "jackknife_cluster": (
        "Student's t on the spread of the values that leave out one cluster each; on Fisher's z or a "
        "logarithm where the figure has an end."
    ),
    "bootstrap_cluster": "Percentiles of a bootstrap that draws whole clusters.",
    "bootstrap_cluster_paired": (
        "Percentiles of a bootstrap that draws whole clusters, both conditions at once."
    ),
    "random_mixture": (
        "Clusters show no spread: as if as many random verdicts as the data allow were mixed in; to the "
        "other side, right ones."
    ),
    "lean_cluster": (
        "On either side the wider of two: Student's t on the values that leave out one cluster each, and "
        "variance recovery from the Wilson limits of the errors to each side."
    ),
    "newcombe": "Newcombe's interval for a difference of two proportions, built from their Wilson intervals.",
    "newcombe_cluster": "Newcombe's interval built from clustered intervals.",
    "t_cluster": "Student's t on the spread between clusters.",
    "wilson_mean": "From the largest share of other values that fits, where every cluster has the same mean.",
    "wilson_cluster_difference": "Difference of the limits of both shares, where clusters show no spread.",
    "wilson_steps": "Read off the limits of each step of quality, where clusters drawn again show no spread.",
    "wilson_shares": "Computed from the Wilson limits of both orders.",
    "mover_cluster": (
        "Variance recovery from the Wilson limits of both orders or of both labels, clustered, with the "
        "correlation that they show over clusters; exact limits on clusters where these do not differ."
    ),
    "fieller_cluster": "Fieller's limits of a ratio, jackknife over clusters; open where the rise may be 0.",
    "mover_profiles": "Variance recovery from the profile limits of both worths.",
    "decides": (
        "The limits that the finding is read from: calls without a verdict at their worst and best, of merit "
        "as chance; wider for few events, a single cluster or a family of tests; cut or stretched where an "
        "exact test decides."
    ),
    "delong_cluster": (
        "DeLong's interval of an AUROC by what each cluster adds, on Fisher's z, with Student's t on one "
        "degree of freedom less than there are clusters with the rarer outcome."
    ),
    "by_construction": "Follows from how the judge is made; nothing is estimated.",
    "clopper_pearson": "Exact binomial interval.",
    "clopper_pearson_cluster": "Exact binomial interval on the effective size that clusters leave.",
    "tango": "Tango's score interval for a difference of two shares on the same units.",
    "tango_cluster": (
        "Tango's score interval for a difference on the same units, on the effective size that "
        "clusters leave, with Student's t on one degree of freedom less than there are clusters."
    ),
    "profile_cluster": (
        "Profile likelihood of the joint fit: values at which the other parameters can still make up the "
        "loss that Student's t allows, and more where clusters differ by more than independent pairs would."
    ),
    "profile": (
        "Profile likelihood of the joint fit: values at which the other parameters can still make up the "
        "loss; pairs count as independent."
    ),
    "sandwich_cluster": (
        "Sandwich of the joint fit over clusters, with Student's t on one degree of freedom less than there "
        "are clusters."
    ),
}

KINDS: dict[str, str] = {
    "empty": "empty",
    "blank": "blank",
    "identical": "identical texts",
    "off_topic": "off topic",
    "dont_know": "“I don't know”",
    "master_key": "one-token key",
    "vacuum": "vacuum",
    "same_subset": "same content, other words",
    "different_subset": "same amount, other content",
    "filler": "same content, padded",
    "natural": "natural pairs",
    "original": "unchanged items",
    "perturbed": "edited items",
}

WHOLES: dict[str, str] = {
    "run": "All calls",
    "original": "unchanged items",
    "runs": "Runs of agents",
    "cost": "Cost",
    "volatility": "Volatility over probes",
    "pooled": "All probes together",
    "jury": "Juries",
    "confidence": "Confidence",
}
"""Titles of what stands in the place of a probe where a figure is of several."""

FINDINGS: dict[str, str] = {
    "fine": "the whole interval lies within the limit",
    "too high": "the whole interval lies above the limit",
    "too low": "the whole interval lies below the limit",
    "undecided": "the interval reaches over the limit; more calls would decide",
    "not measured": "the figure cannot be formed, or nobody asked; the reason is given",
}
"""The five states that people read."""
STATUS_WORDS = {"flagged": "beyond its limit", "inconclusive": "undecided"}
"""What is said beside a figure in a table for the status in JSON; that it is fine needs no word."""


def metric_named(name: str) -> Metric:
    """The declaration of a metric; one that nobody declares is named by its id."""
    return declared().get(name) or undeclared(name)


@cache
def declared() -> Mapping[str, Metric]:
    """Every metric by its id: of the built-in probes, of the whole run, of `estimate`, of plug-ins."""
    return {metric.id: metric for metric in (*probe_metrics(), *NON_PROBE_METRICS, *ESTIMATED)}


def probe_title(probe: str) -> str:
    """The heading of a probe; one that is not installed is named by its id."""
    return WHOLES.get(probe) or title_of(probe)


def probe_label(probe: str) -> str:
    """The probe's name inside a sentence or a table; a proper name keeps its capital."""
    title = probe_title(probe)
    return title if title in _PROPER else title[:1].lower() + title[1:]


_PROPER = ("Markdown",)


def metric_meanings(metrics: Iterable[str]) -> list[Metric]:
    return [metric for metric in map(metric_named, dict.fromkeys(metrics)) if metric.meaning]


def interval_meanings(methods: Iterable[str]) -> list[tuple[str, str]]:
    return [(name, INTERVALS.get(name, "see the note of the figure.")) for name in dict.fromkeys(methods)]


STATE_CLASSES = {
    "fine": "clear",
    "too high": "flagged",
    "too low": "flagged",
    "undecided": "inconclusive",
    "not measured": "undefined",
    **{word: word for word in ("clear", "flagged", "inconclusive", "undefined")},
}
"""State to the status word that colours and symbols go by."""
_SYMBOLS = {"clear": "✓", "flagged": "!", "inconclusive": "?", "undefined": "–"}
SYMBOLS = {state: _SYMBOLS[word] for state, word in STATE_CLASSES.items()}
MARKS = {word: SYMBOLS[word] for word in ("flagged", "inconclusive")}
"""Of the words that are told beside a figure; that it is clear needs no mark."""


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
    name = str(cue)
    return _NAMES[name][1] if name in _NAMES else "an answer with it"
