"""Probes of built-in texts: zero point, ladder of known quality, and what another tie instruction moves.

Does the judge see something where there is nothing? How small a difference in quality does it see, and what
does it prefer between equals? What does a stricter instruction change in both?
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from steelyard.core.text import join_notes, plural, pluralize
from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.metric import LARGE
from steelyard.metrics.pairs import ladder as ladder_figures
from steelyard.metrics.pairs import signal_detection
from steelyard.metrics.pairs.columns import Pairs, collect
from steelyard.metrics.pairs.equals import vacuum_estimates
from steelyard.metrics.pairs.signal_detection import CRITERION_SHIFT, SENSITIVITY_SHIFT
from steelyard.metrics.proportions import DARK_CURRENT, FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.scores.probe import MEAN_SCORE, score_vacuum_estimates
from steelyard.probes import probe
from steelyard.probes.probe import PAIRWISE, POINTWISE, Design, Showing
from steelyard.stimuli import ladder
from steelyard.stimuli.ladder import Kind
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.sources.items import draw_items
from steelyard.tasks.task import Item
from steelyard.trials.builtin_prompts import GRADED
from steelyard.verdicts.observations import Observations

EMPTY_PAIRS = (
    Kind((("empty", 0),), (2, 20, 48)),
    Kind((("blank", 0), ("blank", 1)), (2, 20, 48)),
    Kind((("identical", 0), ("identical", 1)), (2, 20, 48)),
)
EMPTY_ITEMS = {"quick": 4, "standard": 12, "full": 24}
EMPTY_TEXTS = {"quick": 1, "standard": 2, "full": 8}
"""Responses per kind and request, at most; each request takes the next ones."""


class Vacuum:
    name = "vacuum"
    title = "Vacuum"
    question = "Does the judge report a preference where there is nothing to prefer?"
    metrics = (DARK_CURRENT, MEAN_SCORE, UNREADABLE_RATE, FAILED_RATE)
    forms = (PAIRWISE, POINTWISE)

    def showings(self, design: Design, _: Collection[str]) -> Iterable[Showing]:
        return vacuum_arm(design, "base")

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        return vacuum_arm_estimates(EstimateContext.for_protocol(judge, "vacuum", "base", seed), observations)


def vacuum_arm(design: Design, protocol: str) -> Iterable[Showing]:
    if design.form == POINTWISE:
        yield from probe.pointwise(empty_responses(design), protocol, design.replicates)
        return
    yield from probe.catalogue_showings(empty_pairs(design), design, protocol)


def empty_responses(design: Design) -> Iterable[Stimulus]:
    for number, item in enumerate(requests(design)):
        for kind, texts in ladder.TEXTS.items():
            count = min(len(texts), EMPTY_TEXTS[design.profile])
            for turn in range(count):
                yield ladder.vacuum_response(item, design.task, kind, (number * count + turn) % len(texts))


def requests(design: Design) -> tuple[Item, ...]:
    distinct = {(item.request, item.rubric): item for item in reversed(design.items)}
    return draw_items(tuple(reversed(distinct.values())), EMPTY_ITEMS[design.profile], design.seed)


def empty_pairs(design: Design) -> Iterable[Stimulus]:
    for checklist, (kind, which) in design.allocate(EMPTY_PAIRS):
        yield ladder.vacuum_pair(checklist, kind, which, design.seed)


def vacuum_arm_estimates(context: EstimateContext, observations: Observations) -> list[Estimate]:
    """The figures of one arm; the note counts distinct prompts, since equal prompts repeat themselves."""
    chosen = observations.filter("vacuum", context.protocol)
    if chosen.pointwise:
        return score_vacuum_estimates(context, chosen)
    rows = vacuum_estimates(context, collect(chosen))
    return [_with_prompts(row, chosen) for row in rows]


def _with_prompts(row: Estimate, observations: Observations) -> Estimate:
    if row.metric != DARK_CURRENT.id or row.value is None:
        return row
    kind = row.group.get("kind")
    prompts = (observations if kind is None else observations.filter(kinds=(str(kind),))).prompts_seen
    if "" in prompts:
        return row
    show = plural(row.n_calls, "shows", "show")
    phrase = f"{pluralize(row.n_calls, 'call')} {show} {pluralize(len(prompts), 'distinct prompt')}"
    return replace(row, note=join_notes([row.note, phrase]))


@cache
def step_kinds(depth: int, half_steps: bool = True) -> tuple[Kind[tuple[float, float]], ...]:
    """Prefix pairs by their levels.

    Of a step as many pairs as ten checklists have in standard, and two dozen in full. Quick has what two
    questions take: whether a judge without an error at one step lies above the limit with its whole interval,
    and whether steps of three and more are seen.
    """
    quick = {1: QUICK_SINGLE, 2: 0, **_spread(QUICK_LARGE, range(LARGE, depth + 1))}
    whole = []
    for step in range(1, depth + 1):
        levels: tuple[tuple[float, float], ...] = tuple((low, low + step) for low in range(depth + 1 - step))
        whole.append(Kind(levels, (quick[step], 10 * len(levels), 24 * len(levels))))
    halves = tuple((half / 2, half / 2 + 0.5) for half in range(2 * depth))
    return (*whole, *([Kind(halves, (0, 0, 24 * len(halves)))] if half_steps else []))


def _spread(total: int, steps: Sequence[int]) -> dict[int, int]:
    share, rest = divmod(total, len(steps))
    return {step: share + (place < rest) for place, step in enumerate(steps)}


QUICK_SINGLE, QUICK_LARGE = 12, 10
"""Pairs of the quick profile at one step, and at three and more together."""


@cache
def control_kinds(depth: int) -> tuple[Kind[tuple[str, int]], ...]:
    """Controls by kind and quality.

    11 filler pairs clear a judge that always answers tie of a lean to length; 28 clear all but one in a
    hundred of those that name a text at random in one call of ten, and six in ten of those that do in three.
    What length is worth against quality is asked by the probe `length`.
    """
    return (
        Kind((("filler", 1), ("filler", 3)), (0, 28, 56)),
        Kind(tuple(("different_subset", quality) for quality in range(1, depth)), (0, 8, 48)),
    )


_BUILDERS = {"filler": ladder.filler_pair, "different_subset": ladder.different_subset_pair}
_STEPS_START, _SAME_START, _CONTROLS_START = 6, 28, 36
"""Quick puts vacuum on the six checklists before, so that all its pairs have checklists of their own."""


class Ladder:
    name = "ladder"
    title = "Quality ladder"
    question = (
        "How small a quality difference does the judge see, and what does it prefer when there is none?"
    )
    metrics = ladder_figures.METRICS
    forms = (PAIRWISE,)

    def showings(self, design: Design, _: Collection[str]) -> Iterable[Showing]:
        yield from ladder_arm(design, "base")
        yield from probe.catalogue_showings(controls(design), design, "base")

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        return ladder_arm_estimates(EstimateContext.for_protocol(judge, "ladder", "base", seed), observations)


def ladder_arm(design: Design, protocol: str) -> Iterable[Showing]:
    yield from probe.catalogue_showings(same_quality(design), design, protocol)
    yield from probe.catalogue_showings(ladder_steps(design), design, protocol)


def same_quality(design: Design) -> Iterable[Stimulus]:
    kinds = (Kind(tuple(range(design.depth + 1)), (8, 60, 144)),)
    for checklist, quality in design.allocate(kinds, _SAME_START):
        yield ladder.same_subset_pair(checklist, quality, design.seed)


def ladder_steps(design: Design) -> Iterable[Stimulus]:
    kinds = step_kinds(design.depth, design.has_half_steps)
    for checklist, (low, high) in design.allocate(kinds, _STEPS_START):
        yield ladder.prefix_pair(checklist, low, high, design.seed)


def controls(design: Design) -> Iterable[Stimulus]:
    for checklist, (kind, quality) in design.allocate(control_kinds(design.depth), _CONTROLS_START):
        yield _BUILDERS[kind](checklist, quality, design.seed)


def ladder_arm_estimates(context: EstimateContext, observations: Observations) -> list[Estimate]:
    return ladder_figures.ladder_estimates(context, collect(observations.filter("ladder", context.protocol)))


ARMS = {2: GRADED[1:3], 3: GRADED[:3], 4: GRADED}


class Criterion:
    name = "criterion"
    title = "Criterion"
    question = "Does a stricter tie instruction move the judge's criterion, and at what cost in sensitivity?"
    metrics = (CRITERION_SHIFT, SENSITIVITY_SHIFT)
    forms = (PAIRWISE,)

    def __init__(
        self, protocol: str | None = None, levels: int | None = None, protocols: Sequence[str] | None = None
    ) -> None:
        """One protocol beside base, a number of built-in instructions, or the names of several protocols."""
        if sum(option is not None for option in (protocol, levels, protocols)) > 1:
            raise ConfigError("probe 'criterion': give one of the options protocol, levels and protocols.")
        if levels is not None:
            if isinstance(levels, bool) or not isinstance(levels, int) or levels not in ARMS:
                raise ConfigError(
                    f"probe 'criterion': levels is {levels!r}, expected 2, 3 or 4; "
                    "give prompts of your own under 'protocols' for more."
                )
            self.arms = tuple(name for name in ARMS[levels] if name != "base")
        elif protocols is not None:
            self.arms = _several(protocols)
        else:
            self.arms = (_one("strict" if protocol is None else protocol, "protocol"),)

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        """Every arm in full, so that each difference is paired; nothing for a judge that has base alone."""
        arms = [arm for arm in self.arms if arm in protocols]
        for protocol in ("base", *arms) if arms else ():
            yield from vacuum_arm(design, protocol)
            yield from ladder_arm(design, protocol)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        base, figures = _arm_pairs(observations, "base"), list[Estimate]()
        for arm in self.arms:
            context = EstimateContext.for_protocol(judge, self.name, arm, seed)
            seen = observations.filter(protocol=arm)
            if not seen:
                places: list[Mapping[str, str | float]] = [{"kind": "vacuum"}, {"delta": 0}, {"delta": 1}]
                why = f"the judge has no {arm} protocol"
                figures += [context.for_subgroup(**place).undefined(CRITERION_SHIFT, why) for place in places]
                continue
            pairs = _arm_pairs(seen, arm)
            figures += vacuum_arm_estimates(replace(context, probe="vacuum"), seen)
            figures += ladder_arm_estimates(replace(context, probe="ladder"), seen)
            figures += signal_detection.criterion_estimates(context, base[0], pairs[0], base[1], pairs[1])
            figures += signal_detection.sensitivity_shifts(context, base[1], pairs[1])
        return figures


def _arm_pairs(observations: Observations, protocol: str) -> tuple[Pairs, Pairs]:
    """Vacuum and ladder of one arm, controls left out: other arms do not show them."""
    ladder_rows = observations.filter("ladder", protocol, ("same_subset", "prefix"))
    return collect(observations.filter("vacuum", protocol)), collect(ladder_rows)


def _several(protocols: object) -> tuple[str, ...]:
    if not isinstance(protocols, (list, tuple)) or not protocols:
        raise ConfigError(
            f"probe 'criterion': protocols is {protocols!r}, expected a list of names other than base."
        )
    named = tuple(_one(name, "protocols") for name in protocols)
    if len(set(named)) < len(named):
        raise ConfigError("probe 'criterion': protocols names one of them twice; leave one out.")
    return named


def _one(protocol: object, option: str) -> str:
    if not isinstance(protocol, str) or protocol == "base":
        raise ConfigError(f"probe 'criterion': {option} is {protocol!r}, expected a name other than base.")
    return protocol
