"""What a probe is: one question about a judge, the stimuli that put it, the figures that answer it.

A suite is a name that stands for several probes; a study holds the probes, never the name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from steelyard.core.registry import Registry, Spec
from steelyard.errors import ConfigError, UnknownNameError
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.metric import Metric
from steelyard.stimuli.brief import Brief
from steelyard.stimuli.ladder import Kind, Pair, allocate, order_checklists
from steelyard.stimuli.original import original_of
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.checklist import Checklist, catalogue
from steelyard.tasks.task import CHECKLIST_TASK, BestOf, Item, Ordinal, Pairwise, Scale, Task
from steelyard.trials.trial import ORDERS
from steelyard.verdicts.observations import Observation, Observations

PAIRWISE, POINTWISE, BEST_OF = "pairwise", "pointwise", "best_of"
"""Forms of judgement: two texts compared, one text scored, the best of several named."""

EDITS, REPEATS = "edits", "repeats"
"""Sections that several probes share: items changed, and the same asked again."""

CHECKLISTS = {"quick": 6, "standard": None, "full": None}
"""Checklists per profile for a probe that builds one pair on each; None is all of them."""


@dataclass(frozen=True)
class Design:
    """What a probe may build from."""

    seed: int
    profile: str = "standard"
    """`quick`, `standard` or `full`."""
    replicates: int = 1
    task: Task = CHECKLIST_TASK
    items: tuple[Item, ...] = ()
    """What is judged; none in a study on the built-in catalogue of pairs."""
    authored: Mapping[str, tuple[Stimulus, ...]] = field(default_factory=dict)
    """Probe to the stimuli that were written for it."""
    own_checklists: tuple[Checklist, ...] = ()
    """Checklists of the user's, in the place of the built-in ones."""

    @property
    def form(self) -> str:
        """Form of judgement of the study."""
        return form_of(self.task)

    @property
    def originals(self) -> tuple[Stimulus, ...]:
        """Every item as it is."""
        return tuple(original_of(item, self.task) for item in self.items)

    @property
    def catalogue(self) -> tuple[Checklist, ...]:
        """A checklist of each subject, in an order drawn with the seed."""
        return _ordered_catalogue(self.own_checklists, self.seed)

    @property
    def depth(self) -> int:
        """Elements of a checklist, and so the steps of the ladder."""
        return self.catalogue[0].depth

    @property
    def has_half_steps(self) -> bool:
        """Every element has a weak form."""
        return all(element.weak for checklist in self.catalogue for element in checklist.elements)

    @property
    def checklists(self) -> tuple[Checklist, ...]:
        """The first checklists of the catalogue, as many as the profile has for one pair on each."""
        return self.catalogue[: CHECKLISTS[self.profile]]

    def allocate(self, kinds: tuple[Kind[Pair], ...], start: int = 0) -> tuple[tuple[Checklist, Pair], ...]:
        """The pairs of the profile, each with its checklist: all checklists once before any a second time.

        `start` is the checklist that comes first, so that small designs of several probes do not meet.
        """
        checklists = self.catalogue
        pairs = allocate(kinds, self.profile, len(checklists), start % len(checklists))
        return tuple((checklists[number], pair) for number, pair in pairs)


@cache
def _ordered_catalogue(own: tuple[Checklist, ...], seed: int) -> tuple[Checklist, ...]:
    return order_checklists(own or catalogue(), seed)


class Showing(NamedTuple):
    """One way of showing a stimulus: with a judge it becomes a trial."""

    stimulus: Stimulus
    protocol: str
    order: str
    replicate: int


class Probe(Protocol):
    """One question. Register a class with these members under the entry-point group `steelyard.probes`.

    A class may also have: `title`, its context in reports; `section`, `EDITS` or `REPEATS` where its figures
    stand beside those of other probes; for edits `keeps_label`, False where the verdict should change;
    `questions`, what a verdict asks of its figures; `whole`, True where a short report keeps its other
    figures too; `task_edit`, `rubric` or `scale` where it changes that part of the prompt: a judge with a
    prompt of its own may not see it.
    """

    name: str
    question: str
    metrics: tuple[Metric, ...]
    """What it reports, in reading order."""
    forms: tuple[str, ...]
    """Forms of judgement it fits: `pairwise`, `pointwise` or `best_of`; a class without it fits pairs."""

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        """What to show to a judge that has these protocols."""

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        """The figures, from all observations of one judge."""


@runtime_checkable
class AuthoredProbe(Probe, Protocol):
    """A probe whose stimuli somebody has to write before it can show them."""

    def briefs(self, design: Design) -> Iterable[Brief]:
        """What is to be written; the stimuli come back as `design.authored[name]`."""


PROBES: Registry[Probe] = Registry(
    "probe",
    {
        "vacuum": "steelyard.probes.catalogue:Vacuum",
        "ladder": "steelyard.probes.catalogue:Ladder",
        "criterion": "steelyard.probes.catalogue:Criterion",
        "length": "steelyard.probes.tradeoff:Length",
        "tradeoff": "steelyard.probes.tradeoff:Tradeoff",
        "position": "steelyard.probes.unchanged_items:Position",
        "best_of": "steelyard.probes.unchanged_items:BestOfProbe",
        "label_flip": "steelyard.probes.authored:LabelFlip",
        "format_invariance_1": "steelyard.probes.edits:FormatInvariance1",
        "format_invariance_2": "steelyard.probes.edits:FormatInvariance2",
        "format_invariance_3": "steelyard.probes.edits:FormatInvariance3",
        "semantic_paraphrase": "steelyard.probes.authored:SemanticParaphrase",
        "verbosity_bias_long": "steelyard.probes.authored:VerbosityBiasLong",
        "verbosity_bias_short": "steelyard.probes.authored:VerbosityBiasShort",
        "verbosity_padding": "steelyard.probes.authored:VerbosityPadding",
        "typos": "steelyard.probes.edits:Typos",
        "markdown": "steelyard.probes.edits:Markdown",
        "rubric_order": "steelyard.probes.edits:RubricOrder",
        "score_range": "steelyard.probes.edits:ScoreRange",
        "authority": "steelyard.probes.edits:Authority",
        "bandwagon": "steelyard.probes.edits:Bandwagon",
        "injection": "steelyard.probes.edits:Injection",
        "synthetic_ordinal": "steelyard.probes.authored:SyntheticOrdinal",
        "stochastic_stability": "steelyard.probes.unchanged_items:StochasticStability",
        "answer_ambiguity": "steelyard.probes.authored:AnswerAmbiguity",
        "reasoning_rewrite": "steelyard.probes.agent_edits:ReasoningRewrite",
        "step_order": "steelyard.probes.agent_edits:StepOrder",
        "injected_instruction": "steelyard.probes.agent_edits:InjectedInstruction",
        "forged_result": "steelyard.probes.agent_edits:ForgedResult",
        "invented_call": "steelyard.probes.agent_edits:InventedCall",
        "truncated_tail": "steelyard.probes.agent_edits:TruncatedTail",
        "evidence_deletion": "steelyard.probes.agent_edits:EvidenceDeletion",
        "agent_perturbation": "steelyard.probes.authored:AgentPerturbation",
        "agent_positives": "steelyard.probes.authored:AgentPositives",
        "agent_levels": "steelyard.probes.authored:AgentLevels",
        "self_preference": "steelyard.probes.unchanged_items:SelfPreference",
    },
)


def both_orders(stimuli: Iterable[Stimulus], protocol: str, replicates: int) -> Iterable[Showing]:
    """Every pair in both orders, each as often as the design says."""
    for stimulus in stimuli:
        for replicate in range(replicates):
            for order in ORDERS:
                yield Showing(stimulus, protocol, order, replicate)


def catalogue_showings(stimuli: Iterable[Stimulus], design: Design, protocol: str) -> Iterable[Showing]:
    """Pairs of the built-in catalogue; beside data, whose question is another, they bring their own."""
    if design.items:
        instruction, rubric = CHECKLIST_TASK.instruction, CHECKLIST_TASK.rubric
        stimuli = (replace(stimulus, instruction=instruction, rubric=rubric) for stimulus in stimuli)
    return both_orders(stimuli, protocol, design.replicates)


def pointwise(stimuli: Iterable[Stimulus], protocol: str, replicates: int) -> Iterable[Showing]:
    """Every single text, each as often as the design says."""
    for stimulus in stimuli:
        for replicate in range(replicates):
            yield Showing(stimulus, protocol, ORDERS[0], replicate)


def form_of(task: Task) -> str:
    """Form of judgement of a question."""
    if isinstance(task.scale, BestOf):
        return BEST_OF
    return PAIRWISE if isinstance(task.scale, Pairwise) else POINTWISE


def forms_of(probe: Probe) -> tuple[str, ...]:
    """Forms that a probe fits."""
    return getattr(probe, "forms", (PAIRWISE,))


def needs_of(probe: Probe) -> str:
    """What a probe needs of the items, in words, where it has a member `needs`; empty where any will do."""
    return getattr(probe, "needs", "")


def reads_runs(probe: Probe) -> bool:
    """True for a probe of transcripts of agents, which has a member `transcripts`."""
    return getattr(probe, "transcripts", False)


def arms_of(probe: Probe) -> tuple[str, ...]:
    """Protocols beside base that a probe shows, where it has a member `arms`; a judge may lack them."""
    return getattr(probe, "arms", ())


def shows_unchanged(probe: Probe) -> bool:
    """True for a probe of the items as they are, which has a member `unchanged`; others need an edit."""
    return getattr(probe, "unchanged", False)


def covers(spec: Spec, held: Spec) -> bool:
    """True where the first probe shows all that the second does: they are equal, or it has further arms."""
    if spec == held or spec.name != held.name:
        return spec == held
    arms = arms_of(PROBES.build(held))
    return bool(arms) and set(arms) <= set(arms_of(PROBES.build(spec)))


def select(observations: Iterable[Observation], probe: str, protocol: str) -> Observations:
    """The observations of one probe's stimuli under one protocol."""
    return Observations.of(observations).filter(probe, protocol)


ProbeEntry: TypeAlias = str | dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Suite:
    """A name that stands for several probes."""

    name: str
    question: str
    probes: tuple[str, ...]
    ordinal: tuple[str, ...] = ()
    """Further probes where an ordinal scale is among those measured."""
    built_in: tuple[str, ...] = ()
    """Further probes on what ships inside, where somebody has written for them."""

    def members(self, scales: Collection[Scale], packed: bool = False) -> tuple[str, ...]:
        """The probes that these scales admit; on the built-in pack, padding stands in for explanation."""
        graded = any(isinstance(scale, Ordinal) for scale in scales)
        every = self.probes + (self.ordinal if graded else ()) + (self.built_in if packed else ())
        return tuple(dict.fromkeys(_ON_PACK.get(name, name) for name in every)) if packed else every


_ON_PACK = {"verbosity_bias_long": "verbosity_padding"}
"""Probes whose texts the built-in pack does not hold, and the nearest whose texts it does."""

_RELIABILITY = (
    *("label_flip", "format_invariance_1", "format_invariance_2", "format_invariance_3"),
    *("semantic_paraphrase", "verbosity_bias_long", "verbosity_bias_short", "stochastic_stability"),
)

_BEYOND = (
    *("verbosity_padding", "answer_ambiguity", "typos", "markdown", "rubric_order", "authority"),
    *("bandwagon", "injection", "vacuum"),
)

_AGENTIC = (
    *("reasoning_rewrite", "step_order", "injected_instruction", "forged_result", "invented_call"),
    *("truncated_tail", "evidence_deletion", "stochastic_stability"),
)

SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            "reliability",
            "Does the verdict on single texts follow the rubric, and nothing else?",
            _RELIABILITY,
            ("synthetic_ordinal",),
        ),
        Suite(
            "reliability_full",
            "The same, at the border of the rubric and under typing errors, claims and injections as well?",
            (*_RELIABILITY, *_BEYOND),
            ("synthetic_ordinal", "score_range"),
        ),
        Suite(
            "agentic",
            "Does the verdict on an agent's run follow what the agent did?",
            _AGENTIC,
            built_in=("agent_perturbation", "agent_positives"),
        ),
        Suite(
            "agentic_full",
            "The same, on runs that models edit to fail, to pass and to earn each score as well?",
            (*_AGENTIC, "agent_perturbation", "agent_positives"),
            ("agent_levels",),
        ),
    )
}


def expand_suites(
    given: Iterable[ProbeEntry], scales: Collection[Scale], *, packed: bool = False
) -> Iterator[ProbeEntry]:
    """Every suite replaced by its probes; a probe that is named beside a suite stays where it is named.

    `packed` says that the items are those of the built-in pack.
    """
    listed = list(given)
    named = probe_names(listed)
    for one in listed:
        suite = SUITES.get(_name(one))
        if suite is None:
            name, known = _name(one), PROBES.names()
            close = [] if name in known else get_close_matches(name, [*SUITES, *known], n=1)
            if close and close[0] in SUITES:
                raise UnknownNameError(f"unknown probe {name!r}: did you mean the suite {close[0]!r}?")
            yield one
        elif not isinstance(one, str):
            raise ConfigError(
                f"probes: {suite.name!r} is a suite and takes no options; name the probe that has the option."
            )
        else:
            fresh = [probe for probe in suite.members(scales, packed) if probe not in named]
            named |= set(fresh)
            yield from fresh


def probe_names(given: Iterable[ProbeEntry]) -> set[str]:
    """Names of probes and suites, without their options."""
    return {_name(one) for one in given}


def asks_for_scores(given: Iterable[ProbeEntry], build: Callable[[Spec], Probe] = PROBES.build) -> bool:
    """True where a probe or suite is named that pairs cannot answer; `build` makes a probe of its name."""
    return any(PAIRWISE not in forms_of(probe) for probe in _members(given, build))


def asks_for_runs(given: Iterable[ProbeEntry], build: Callable[[Spec], Probe] = PROBES.build) -> bool:
    """Whether any of these probes reads runs of agents."""
    return any(map(reads_runs, _members(given, build)))


def _members(given: Iterable[ProbeEntry], build: Callable[[Spec], Probe]) -> Iterator[Probe]:
    """Every probe that is named, or that a named suite holds; unknown names are left out."""
    for name in map(_name, given):
        for each in SUITES[name].probes if name in SUITES else (name,):
            if each in PROBES.names():
                yield build(Spec(each))


def _name(given: ProbeEntry) -> str:
    return given if isinstance(given, str) else next(iter(given), "")
