"""How much more data would decide, in words: what is missing are clusters or rows, seldom calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache

from steelyard.core.registry import Spec
from steelyard.core.text import pluralize, round_up
from steelyard.metrics.comparison.against_baselines import ACCURACY_GAIN, ERROR_GAIN
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import INCONCLUSIVE, MISSING_DECIDE, WHOLE_RUN
from steelyard.metrics.pairs.length import LENGTH_LEAN
from steelyard.metrics.pairs.natural import ACCURACY_BOTH
from steelyard.metrics.pairs.slot import slot_imbalance_note
from steelyard.metrics.proportions import ACCURACY, KAPPA, MERIT
from steelyard.metrics.run.agent_runs import PROBE as RUNS
from steelyard.metrics.scores.against_labels import (
    BALANCED_ACCURACY,
    BIAS,
    CCC,
    GWET_AC1,
    MAE,
    PEARSON,
    QWK,
    SPEARMAN,
)
from steelyard.metrics.scores.leniency import LENGTH_GAP, LENIENCY
from steelyard.metrics.scores.shares import FALSE_NEGATIVE_RATE, FALSE_POSITIVE_RATE, WITHIN_ONE
from steelyard.probes.probe import PROBES, Design
from steelyard.stimuli.cues import LENGTH_PROBE
from steelyard.tasks.checklist import Checklist, subjects

CHANCE = "would decide in four runs of five, if the value stays"
BEYOND_FULL = (
    "no profile would decide it in four runs of five: write checklists of your own, or bring your data"
)
"""Where more clusters are missing than the catalogue has."""
BEYOND_FILE = "no profile would decide it in four runs of five: add checklists on about {} more to the file"
OWN_CALLS, OWN_SUBJECTS = "profile_calls", "subjects"
"""Details of a figure on checklists of the user's: calls of its kind in each profile, and their subjects."""
ON_LIMIT = "it lies on the limit, so no number of calls would decide"
AT_LIMIT = "it sits at the limit, so that more rows than anybody labels would be needed to decide"
FAR = 100_000
"""Calls that nobody makes to tell a figure from its limit."""
MOST_ROWS = 5_000
"""Rows beyond which nobody labels on to tell a figure from its limit."""
MORE_DATA_SOURCES = "a larger profile, or {} of your own"


def more_calls(estimate: Estimate | None, *, of_agents: bool = False, brief: bool = False) -> str:
    """How much more data of the same design would decide an inconclusive figure; nothing for others."""
    if estimate is None or estimate.status != INCONCLUSIVE:
        return ""
    if doubt := slot_imbalance_note(estimate):
        return f"; {doubt}"
    if estimate.missing_decides:
        return f"; {MISSING_DECIDE}"
    if estimate.calls_missing is None:
        return f"; {ON_LIMIT}"
    return f"; {more_data(estimate, estimate.calls_missing, of_agents=of_agents, brief=brief)}"


def more_data(estimate: Estimate, calls: int, *, of_agents: bool = False, brief: bool = False) -> str:
    """`about 36 more labelled rows (72 calls) would decide …`; of the catalogue, the profile that would.

    Rates over the whole run are of calls, whatever they show. A user's data in one cluster lack rows. Where
    runs `of_agents` were judged, a row is a run. In `brief`, without where they come from and their price.
    """

    def told(what: str, bought: str) -> str:
        return f"about {what} would decide" if brief else f"about {what} ({bought}) {CHANCE}"

    clusters, made = estimate.n_clusters, estimate.n_calls
    if calls > max(FAR, 100 * made):
        return ON_LIMIT
    single = clusters < 2
    price = pluralize(round_up(calls), "call")
    if not made or estimate.probe == WHOLE_RUN or (single and estimate.probe in BUILT_IN):
        return told(pluralize(round_up(calls), "more call"), MORE_DATA_SOURCES.format("rows"))
    if _built_in(estimate):
        return _in_profiles(estimate, made + calls)
    count = round_up(-(-calls * (estimate.n_units if single else clusters) // made))
    if of_agents or estimate.probe == RUNS:
        bought = f"{MORE_DATA_SOURCES.format('runs')}; {price}"
        return told(f"{pluralize(count, 'more run')} of agents", bought)
    if count > MOST_ROWS:
        return AT_LIMIT
    return told(pluralize(count, f"more {_noun(estimate)}"), price)


def _built_in(estimate: Estimate) -> bool:
    """Pairs of the catalogue, or of the user's checklists: they are bought by the profile."""
    return OWN_CALLS in estimate.details or (
        estimate.probe in BUILT_IN and estimate.n_clusters <= len(subjects())
    )


def with_own_checklists(estimates: Iterable[Estimate], own: tuple[Checklist, ...]) -> Iterator[Estimate]:
    """The estimates, undecided ones on the user's checklists with the calls that profiles make of these."""
    for estimate in estimates:
        if estimate.probe in BUILT_IN and estimate.status == INCONCLUSIVE:
            calls = profile_calls(estimate.probe, _condition(estimate.group), own)
            known = {OWN_CALLS: dict(calls), OWN_SUBJECTS: len({one.subject for one in own})}
            estimate = replace(estimate, details={**estimate.details, **known})
        yield estimate


def _in_profiles(estimate: Estimate, wanted: int) -> str:
    """The smallest profile with so many calls of this kind; the checklists give no more than they can."""
    made, repeats = estimate.n_calls, max(1, round(estimate.n_calls / max(1, 2 * estimate.n_units)))
    own = estimate.details.get(OWN_CALLS)
    sizes = own or profile_calls(estimate.probe, _condition(estimate.group))
    for profile, calls in sizes.items():
        if made < calls * repeats >= wanted:
            there = pluralize(calls * repeats, "call")
            return f"profile {profile} ({there} of this kind, here {made:,}) {CHANCE}"
    if own and (most := repeats * max(own.values())):
        known = estimate.details[OWN_SUBJECTS]
        return BEYOND_FILE.format(pluralize(round_up(max(1, -(-known * (wanted - most) // most))), "subject"))
    return BEYOND_FULL


def profile_with(probe: str, group: Mapping[str, str | float], pairs: float) -> str | None:
    """The smallest profile with so many pairs of a kind, each in both orders; None where none has."""
    sizes = profile_calls(probe, _condition(group))
    return next((profile for profile, calls in sizes.items() if calls >= 2 * pairs), None)


def _condition(group: Mapping[str, str | float]) -> tuple[tuple[str, str | float], ...]:
    return tuple((key, group[key]) for key in ("kind", "delta") if key in group)


@cache
def profile_calls(
    probe: str, condition: tuple[tuple[str, str | float], ...] = (), own: tuple[Checklist, ...] = ()
) -> Mapping[str, int]:
    """Profile to the calls that a built-in probe of pairs makes under a condition, without repeats.

    They are made of the built-in checklists, or of the user's `own`.
    """
    kind = "ladder" if probe == "criterion" else probe
    found = {}
    for profile in ("standard", "full"):
        shown = PROBES.build(Spec(kind)).showings(Design(0, profile, own_checklists=own), {"base"})
        mine = (showing.stimulus for showing in shown)
        found[profile] = sum(all(getattr(one, key) == value for key, value in condition) for one in mine)
    return found


def _noun(estimate: Estimate) -> str:
    """A cluster where it holds several pairs or items, or is built in; else a row of the user's data."""
    several = estimate.n_units > estimate.n_clusters > 1
    if estimate.probe in BUILT_IN or several:
        return "cluster"
    return "labelled row" if estimate.metric in LABELLED else "row"


BUILT_IN = ("vacuum", "ladder", "criterion", LENGTH_PROBE)
"""Probes whose pairs are made of the catalogue's clusters, one or several of each."""
LABELLED = (
    *(MERIT.id, ACCURACY.id, ACCURACY_BOTH.id, BALANCED_ACCURACY.id),
    *(FALSE_POSITIVE_RATE.id, FALSE_NEGATIVE_RATE.id),
    *(WITHIN_ONE.id, KAPPA.id, GWET_AC1.id, MAE.id, BIAS.id, CCC.id, PEARSON.id, SPEARMAN.id, QWK.id),
    *(ACCURACY_GAIN.id, ERROR_GAIN.id, LENIENCY.id, LENGTH_GAP.id, LENGTH_LEAN.id),
)
"""Metrics that need rows with a reference."""
