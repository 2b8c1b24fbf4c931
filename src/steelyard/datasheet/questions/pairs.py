"""Does the judge react where nothing differs, and does it favour a slot?"""

from __future__ import annotations

from steelyard.datasheet.clause import Clause, ClauseFigure, Form, Phrase, figure, join, say, times
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.example_selection import FLIP, POSITIONAL, WRONG
from steelyard.datasheet.glossary import KINDS
from steelyard.datasheet.numbers import abstentions, defined
from steelyard.datasheet.questions.causes import Advice, Cause
from steelyard.datasheet.questions.merit import missed_by_tie
from steelyard.datasheet.questions.more_data import more_calls
from steelyard.datasheet.questions.question import (
    MEASURED,
    PAIRS,
    UNDEFINED,
    Answer,
    Counts,
    ExampleFilter,
    Fault,
    NotMeasured,
    Question,
    Test,
    Way,
    by_status,
    limit_of,
    unmeasured,
)
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import BY_CHANCE, FLAGGED
from steelyard.metrics.pairs.decomposition import POSITIONAL_FALSE_PREFERENCE, STABLE_CROSS_SENSITIVITY
from steelyard.metrics.pairs.equals import ONE_VERDICT, RAW_FALSE_PREFERENCE
from steelyard.metrics.pairs.flips import FLIP_EXCESS, REPEAT_FLIP_RATE, SWAP_FLIP_RATE
from steelyard.metrics.pairs.natural import FLIP_FIRST, FLIP_SECOND, ORDER_CONSISTENCY
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE
from steelyard.metrics.proportions import DARK_CURRENT as CURRENT
from steelyard.metrics.remedies.mitigations import AVERAGE, JURY, MAJORITY, ORDERS, PROTOCOL
from steelyard.stimuli.original import NATURAL, NATURAL_PROBE

IDENTICAL = "identical"
"""The kind of vacuum that only judges of pairs are shown."""
EMPTY_KINDS = ("empty", "blank")
VACUUM_KINDS = (*EMPTY_KINDS, IDENTICAL, "off_topic", "dont_know", "master_key")
"""The last three are responses without content, which only judges of single texts are shown."""


def zero_point(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    pooled = figures.find(CURRENT.id, protocol=protocol)
    if not defined(pooled):
        return unmeasured(pooled)
    kinds = [figures.find(CURRENT.id, protocol=protocol, kind=kind) for kind in VACUUM_KINDS]
    split = join(
        ", ",
        (
            say(f"{KINDS[str(e.group['kind'])]} {{}}", ClauseFigure(e, Form.RATIO))
            for e in kinds
            if defined(e)
        ),
    )
    paired = figures.find(CURRENT.id, protocol=protocol, kind=IDENTICAL) is not None
    does = (
        "prefers one of two texts that do not differ in {}"
        if paired
        else "gives texts without content more than the lowest score in {}"
    )
    clause = Clause(
        say(does, times(pooled, "call")),
        say(", {}", figure(pooled)),
        say(" ({}); limit {}{}{}", split, f"{limit_of(CURRENT):g}", abstentions(pooled), more_calls(pooled)),
    )
    return Answer(pooled.status or UNDEFINED, clause, (Test.of(pooled),))


def surface(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    del protocol
    stable = figures.between_equals(STABLE_CROSS_SENSITIVITY.id)
    if not defined(stable):
        return unmeasured(stable)
    if stable.reading == ONE_VERDICT:
        clause = Clause(
            say("names one of two equally good wordings for {}", times(stable, "pair")),
            say(", {}", figure(stable)),
            say(f"; {ONE_VERDICT}, so these calls do not tell taste from noise"),
        )
        return Answer(MEASURED, clause, (Test.without_limit(stable),))
    chance = "" if stable.chance is None else f", {stable.chance:.2f} expected of independent calls"
    by_chance = stable.reading == BY_CHANCE
    clause = Clause(
        say("prefers one of two equally good wordings, in both orders, for {}", times(stable, "pair")),
        say(", {}", figure(stable)),
        say(chance, *())
        + say("; too near to that to be told from noise" if by_chance else more_calls(stable)),
    )
    return Answer(stable.status or UNDEFINED, clause, () if by_chance else (Test.of(stable),), by_chance)


def never_ties(figures: JudgeEstimates) -> bool:
    """True where a judge of pairs names a winner in every call, also where the texts do not differ."""
    current = figures.find(CURRENT.id, protocol="base", kind=IDENTICAL)
    equal = figures.between_equals(RAW_FALSE_PREFERENCE.id)
    if not defined(current) or not defined(equal):
        return False
    return current.value == equal.value == 1.0 and not any(e.numerator for e in missed_by_tie(figures))


def prefers_at_random(figures: JudgeEstimates) -> bool:
    """True where preferences between equals are common, and keep to neither a slot nor a wording."""
    equal = figures.between_equals(RAW_FALSE_PREFERENCE.id)
    stable = figures.between_equals(STABLE_CROSS_SENSITIVITY.id)
    if not defined(equal) or equal.interval is None:
        return False
    common = (equal.interval.low or 0.0) > limit_of(CURRENT)
    by_wording = stable is not None and stable.status == FLAGGED
    return common and not by_wording and not off_zero(figures.between_equals(NET_SLOT_PREFERENCE.id))


def off_zero(estimate: Estimate | None) -> bool:
    limits = None if estimate is None else estimate.interval
    return limits is not None and ((limits.low or 0.0) > 0 or (limits.high or 0.0) < 0)


def only_empty_texts(figures: JudgeEstimates) -> bool:
    """True where a judge reacts to empty and blank texts alone."""
    kinds = {
        str(estimate.group["kind"]): estimate.numerator or 0
        for estimate in figures.known(CURRENT.id, "base")
        if "kind" in estimate.group
    }
    nothing = sum(count for kind, count in kinds.items() if kind in EMPTY_KINDS)
    return nothing > 0 and nothing == sum(kinds.values())


def _without_ties(figures: JudgeEstimates) -> Clause | None:
    current = figures.find(CURRENT.id, protocol="base")
    if not defined(current):
        return None
    figures_ = say(": names a winner in {} on texts that do not differ", times(current, "call"))
    return Clause(say("never answers tie"), figures_)


def _at_random(figures: JudgeEstimates) -> Clause | None:
    equal = figures.between_equals(RAW_FALSE_PREFERENCE.id)
    if not defined(equal):
        return None
    return Clause(
        say("answers at random where texts are equally good"),
        say(
            ": names a winner in {}, {}, and keeps to neither a slot nor a wording",
            times(equal, "call"),
            figure(equal),
        ),
    )


_BROUGHT = (Cause.NOISE, Cause.SENSITIVITY, Cause.SURFACE)

DARK_CURRENT = Question(
    "Dark current",
    CURRENT.short,
    zero_point,
    Counts.FAULT,
    (CURRENT.id,),
    (
        Fault(
            *(Cause.NO_TIES, Advice.ALLOW_TIES_OR_ORDERS, _BROUGHT, never_ties, _without_ties),
            instead=Advice.ALLOW_TIES,
            remedies=(ORDERS, PROTOCOL),
        ),
        Fault(
            *(Cause.AT_RANDOM, Advice.BOTH_ORDERS_OR_MAJORITY, _BROUGHT, prefers_at_random, _at_random),
            instead=Advice.STEADY,
            remedies=(MAJORITY, ORDERS),
        ),
        Fault(Cause.EMPTY_TEXTS, Advice.NO_EMPTY_TEXTS, when=only_empty_texts),
        Fault(Cause.DARK_CURRENT, Advice.NOTHING_TO_JUDGE),
    ),
    ExampleFilter(WRONG, lambda shown: shown.probe == "vacuum"),
    (ORDERS, PROTOCOL, MAJORITY),
    probes=("vacuum",),
    ways=(Way("-p vacuum", own_data=False),),
)
SURFACE = Question(
    "Surface",
    STABLE_CROSS_SENSITIVITY.short,
    surface,
    Counts.FAULT,
    (STABLE_CROSS_SENSITIVITY.id,),
    (Fault(Cause.SURFACE, Advice.TIE_UNLESS_RUBRIC, (Cause.SENSITIVITY, Cause.REPEATABILITY)),),
    ExampleFilter(WRONG, lambda shown: shown.delta == 0, unlike=POSITIONAL),
    (PROTOCOL, JURY),
)


def position(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    del protocol
    net = figures.between_equals(NET_SLOT_PREFERENCE.id)
    share = figures.between_equals(POSITIONAL_FALSE_PREFERENCE.id)
    if not defined(net):
        return unmeasured(net)
    opening = by_status(
        net,
        f"{favours(net)} between equals",
        "treats the two slots alike within the margin",
        "too few data to say whether a slot is favoured",
        "slots compared",
    )
    mixed = ", and prefers some wordings whatever the slot" if net.reading == "mixed" else ""
    same: Phrase = ()
    if defined(share):
        same = say("; same slot in both orders for {}, {}", times(share, "pair"), figure(share))
    clause = Clause(
        say(opening + mixed),
        say(": net slot-1 preference {}", figure(net)),
        same + say(more_calls(net)),
        about_judge=net.status == FLAGGED,
    )
    return Answer(net.status or UNDEFINED, clause, (Test.of(net),))


def favours(net: Estimate) -> str:
    return f"favours the {'first' if (net.value or 0.0) > 0 else 'second'} text"


def noise(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """Whether order adds to noise; which slot gains by it is the position test's to say."""
    excess = figures.between_equals(FLIP_EXCESS.id) or figures.find(FLIP_EXCESS.id, protocol=protocol)
    if excess is None:
        return None
    here = dict(excess.group)
    repeat, swap = (figures.find(metric, **here) for metric in (REPEAT_FLIP_RATE.id, SWAP_FLIP_RATE.id))
    never = "asking again never changed the winner, so replicates tell nothing of noise"
    opening = by_status(
        excess,
        "reversing a pair changes the winner more often than asking again does",
        "reversing a pair changes the winner no more often than asking again, within the margin",
        "too few data to say whether order adds to noise",
        never if repeat is not None and repeat.value == 0 else "asked again and reversed",
    )
    named = (("repeat flips", repeat), ("swap flips", swap), ("excess", excess))
    counted = join(", ", (say(f"{name} {{}}", figure(e)) for name, e in named if e is not None))
    clause = Clause(
        say(opening),
        say(": {}", counted),
        say(f"{more_calls(excess)}; “{NET_SLOT_PREFERENCE.short}” says whether one slot gains"),
        about_judge=False,
    )
    tests = (Test.of(excess),) if excess.status else (Test.without_limit(excess),)
    return Answer(excess.status or MEASURED, clause, tests)


ON_NATURAL_PAIRS = f"{NET_SLOT_PREFERENCE.short} on natural pairs"


def natural(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    stays = figures.find(ORDER_CONSISTENCY.id, protocol=protocol)
    net = figures.find(NET_SLOT_PREFERENCE.id, protocol=protocol)
    if not defined(stays) or net is None:
        return unmeasured(stays)
    flips = [figures.find(metric, protocol=protocol) for metric in (FLIP_FIRST.id, FLIP_SECOND.id)]
    directions = ", ".join(
        f"to slot {n} in {e.numerator}" for n, e in enumerate(flips, start=1) if e is not None
    )
    more = say("; flips {}{}{}", directions, abstentions(stays), more_calls(net))
    if net.status == FLAGGED:
        clause = Clause(
            say(favours(net)),
            say(": net slot-1 preference {}", figure(net)),
            say(
                "; names the same text in both orders for only {}, {}",
                times(stays, "natural pair"),
                figure(stays),
            )
            + more,
        )
    else:
        clause = Clause(
            say("names the same text in both orders for {}", times(stays, "natural pair")),
            say(", {}; net slot-1 preference {}", figure(stays), figure(net)),
            more,
        )
    tests = (Test.of(net, ON_NATURAL_PAIRS) if net.status else Test.without_limit(net, ON_NATURAL_PAIRS),)
    return Answer(net.status or MEASURED, clause, tests)


POSITION = Question(
    "Position",
    NET_SLOT_PREFERENCE.short,
    position,
    Counts.FAULT,
    (NET_SLOT_PREFERENCE.id, POSITIONAL_FALSE_PREFERENCE.id),
    (
        Fault(
            Cause.POSITION,
            Advice.BOTH_ORDERS,
            (
                *(Cause.NATURAL_PAIRS, Cause.DARK_CURRENT, Cause.NOISE, Cause.SENSITIVITY),
                *(Cause.ACCURACY, Cause.REPEATABILITY),
            ),
            instead=Advice.HALF_VOTES,
            others=((AVERAGE, Advice.AVERAGE),),
        ),
    ),
    ExampleFilter(POSITIONAL, lambda shown: shown.delta == 0),
    (ORDERS, AVERAGE),
)
NOISE = Question(
    "Noise",
    FLIP_EXCESS.short,
    noise,
    Counts.FAULT,
    (FLIP_EXCESS.id, SWAP_FLIP_RATE.id),
    (Fault(Cause.NOISE, Advice.BOTH_ORDERS),),
    ExampleFilter(FLIP, lambda shown: shown.paired),
    (MAJORITY, ORDERS),
)
NATURAL_PAIRS = Question(
    "Natural pairs",
    ON_NATURAL_PAIRS,
    natural,
    Counts.FAULT,
    (NET_SLOT_PREFERENCE.id, ORDER_CONSISTENCY.id),
    (
        Fault(
            *(Cause.NATURAL_PAIRS, Advice.BOTH_ORDERS, (Cause.NOISE, Cause.ACCURACY)),
            instead=Advice.HALF_VOTES,
            others=((AVERAGE, Advice.AVERAGE),),
        ),
    ),
    ExampleFilter(POSITIONAL, lambda shown: shown.kind == NATURAL),
    (ORDERS, AVERAGE),
    protocols=ORDER_CONSISTENCY,
    probes=(NATURAL_PROBE,),
    ways=(Way("each pair in both orders, column first", PAIRS, recorded=True),),
)
