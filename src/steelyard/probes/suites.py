"""Names that stand for several probes; a study holds the probes, never the name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeAlias

from steelyard.core.registry import Spec
from steelyard.errors import ConfigError, UnknownNameError
from steelyard.probes.probe import PAIRWISE, PROBES, Probe, forms_of, reads_runs
from steelyard.tasks.scale import Ordinal, Scale

ProbeEntry: TypeAlias = str | dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Suite:
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
    return {_name(one) for one in given}


def asks_for_scores(given: Iterable[ProbeEntry], build: Callable[[Spec], Probe] = PROBES.build) -> bool:
    """True where a probe or suite is named that pairs cannot answer; `build` makes a probe of its name."""
    names = [name for one in given for name in _members(_name(one))]
    return any(name in PROBES.names() and PAIRWISE not in forms_of(build(Spec(name))) for name in names)


def asks_for_runs(given: Iterable[ProbeEntry], build: Callable[[Spec], Probe] = PROBES.build) -> bool:
    names = [name for one in given for name in _members(_name(one))]
    return any(name in PROBES.names() and reads_runs(build(Spec(name))) for name in names)


def _members(name: str) -> tuple[str, ...]:
    return SUITES[name].probes if name in SUITES else (name,)


def _name(given: ProbeEntry) -> str:
    return given if isinstance(given, str) else next(iter(given), "")
