"""Does something beside quality draw the answers: length, and the worth of other cues?"""

from __future__ import annotations

from math import floor

import numpy as np

from steelyard.core.text import pluralize
from steelyard.datasheet.clause import (
    Clause,
    ClauseFigure,
    Form,
    Name,
    Part,
    Phrase,
    figure,
    join,
    say,
    times,
)
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.example_selection import WRONG
from steelyard.datasheet.glossary import cue_carrier, cue_name, metric_named, text_cue_name
from steelyard.datasheet.numbers import decimal, defined, steps_apart
from steelyard.datasheet.questions.causes import Advice, Cause
from steelyard.datasheet.questions.more_data import more_calls
from steelyard.datasheet.questions.question import (
    PAIRS,
    TEXTS,
    Answer,
    Counts,
    ExampleFilter,
    Fault,
    NotMeasured,
    Question,
    Test,
    Way,
    by_status,
    of_flagged,
    unmeasured,
    worst,
)
from steelyard.datasheet.questions.robustness import constant_answer
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, MARGIN
from steelyard.metrics.instrument.areas import AREA_WORTH
from steelyard.metrics.instrument.crossing import CUE_SHIFT, POSITION, TRADEOFF
from steelyard.metrics.instrument.level_worth import PASS_RATE
from steelyard.metrics.instrument.worth_estimates import BEATS_PADDED, DECIDES_AT, LENGTH_WORTH, WORTH
from steelyard.metrics.merit import LADDER
from steelyard.metrics.pairs.ladder import PADDED_PREFERENCE
from steelyard.metrics.pairs.length import FILLER, LENGTH_LEAN, LONGER_CHOSEN
from steelyard.metrics.proportions import MERIT
from steelyard.metrics.scores.leniency import LENGTH_GAP
from steelyard.stimuli.cues import LENGTH_PROBE
from steelyard.stimuli.cues import PADDED as PADDED_KIND
from steelyard.stimuli.original import NATURAL, NATURAL_PROBE, ORIGINAL

_PADDED_PAIRS: dict[str, str | float] = {"protocol": "base", "delta": 0, "kind": FILLER}
PADDED = ("padding", "padding_25", "padding_100")


def length(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """What each kind of text that was shown says of length; nothing where none can.

    A padded text that wins against a better one comes before one that wins between equals.
    """
    kinds = [
        (against_quality(figures), _against),
        (figures.of_probe(LADDER, LENGTH_LEAN.id, **_PADDED_PAIRS), _padded),
        (figures.of_probe(NATURAL_PROBE, LENGTH_LEAN.id, protocol=protocol), _natural),
        (figures.of_probe(ORIGINAL, LENGTH_GAP.id, protocol=protocol), _single),
    ]
    known = [(estimate, tell) for estimate, tell in kinds if defined(estimate)]
    if not known:
        return unmeasured(*(estimate for estimate, _ in kinds))
    if nothing := constant_answer(figures, "so no length could move it"):
        return nothing
    known.sort(key=lambda kind: kind[0].status != FLAGGED)
    told = [(*tell(figures, estimate), _measure(figures, estimate)) for estimate, tell in known]
    (lead, counts, measure), *others = told
    clause = Clause(
        lead,
        counts + measure,
        join("", (say("; {}{}{}", *parts) for parts in others)),
        about_judge=known[0][0].status in (FLAGGED, CLEAR),
    )
    tests = tuple(_length_test(estimate) for estimate, _ in known)
    return Answer(worst(estimate.status for estimate, _ in known), clause, tests)


def _length_test(estimate: Estimate) -> Test:
    return Test.of(estimate, "beats padded, two steps apart" if estimate.metric == BEATS_PADDED.id else "")


def against_quality(figures: JudgeEstimates) -> Estimate | None:
    """The figure that says what length is worth against quality: the worth where that is a fault, else how
    often the better text wins; None where it says nothing of length.

    A judge that is shown not to tell good from bad loses there whatever the length, unless padding draws it
    between equals as well.
    """
    wins = _beats_padded(figures, DECIDES_AT)
    lean = figures.of_probe(LADDER, LENGTH_LEAN.id, **_PADDED_PAIRS)
    merit = figures.of_probe(LADDER, MERIT.id, protocol="base")
    drawn = lean is not None and lean.status == FLAGGED
    if wins is None or (merit is not None and merit.status == FLAGGED and not drawn):
        return None
    worth = _length_worth(figures)
    return worth if wins.status != FLAGGED and defined(worth) and worth.status == FLAGGED else wins


def _beats_padded(figures: JudgeEstimates, steps: int) -> Estimate | None:
    return figures.of_probe(LENGTH_PROBE, BEATS_PADDED.id, protocol="base", delta=steps)


def _length_worth(figures: JudgeEstimates) -> Estimate | None:
    return figures.of_probe(LENGTH_PROBE, LENGTH_WORTH.id, protocol="base", cue=PADDED_KIND)


def _against(figures: JudgeEstimates, estimate: Estimate) -> tuple[Phrase, Phrase]:
    """Who wins, a better text or one with twice as many words; the worth is told where it is known."""
    worth = _length_worth(figures)
    if estimate.metric == LENGTH_WORTH.id:
        less = " fewer words" if (estimate.value or 0.0) < 0 else " length"
        lead = say(f"takes{less} for quality")
    else:
        lead = say(
            by_status(
                estimate,
                "prefers a padded text to one that is two steps better",
                "prefers a better text to a padded one",
                "too few data to say whether a padded text beats one that is two steps better",
            )
        )
    shares = ((steps, _beats_padded(figures, steps)) for steps in (1, DECIDES_AT))
    known = [say(f"{{}} {steps_apart(steps)}", figure(each)) for steps, each in shares if defined(each)]
    counts = say(": the better one wins in {}", join(" and ", known))
    if defined(worth):
        counts += say("; twice as many words are worth {} steps", ClauseFigure(worth, Form.WORTH))
    return lead, counts


def _measure(figures: JudgeEstimates, estimate: Estimate) -> Phrase:
    if estimate.probe == LENGTH_PROBE:
        return say(more_calls(estimate))
    noun = "difference" if estimate.metric == LENGTH_GAP.id else "lean"
    more = more_calls(estimate, of_agents=figures.of_agents)
    return say(f", {noun} {{}}, margin {MARGIN:g}{more}", figure(estimate))


def _signed(estimate: Estimate, up: str, down: str, clear: str, undecided: str) -> Phrase:
    return say(by_status(estimate, up if (estimate.value or 0.0) >= 0 else down, clear, undecided))


def _padded(figures: JudgeEstimates, lean: Estimate) -> tuple[Phrase, Phrase]:
    wins = _beats_padded(figures, DECIDES_AT)
    equals = " where texts are equally good" if wins is not None and wins.status == CLEAR else ""
    lead = _signed(
        lean,
        f"prefers the text that is padded{equals}",
        f"prefers the text that is not padded{equals}",
        "is not swayed by padding",
        "too few data to say whether padding sways it",
    )
    share = figures.of_probe(LADDER, PADDED_PREFERENCE.id, **_PADDED_PAIRS)
    chosen = say(": padded in {} between equals", times(share, "decided call")) if defined(share) else ()
    return lead, chosen


def _natural(figures: JudgeEstimates, lean: Estimate) -> tuple[Phrase, Phrase]:
    lead = _signed(
        lean,
        "errs towards the longer of two texts",
        "errs towards the shorter of two texts",
        "errs towards neither the longer nor the shorter of two texts",
        "too few data to say whether the longer of two texts wins too often",
    )
    chosen = figures.of_probe(NATURAL_PROBE, LONGER_CHOSEN.id, protocol="base")
    if not defined(chosen):
        return lead, ()
    people = "" if chosen.chance is None else f", people in {decimal(chosen.chance)}"
    share = ClauseFigure(chosen, Form.VALUE)
    return lead, say(": names the longer in {}, {}{}", times(chosen, "decided call"), share, people)


def _single(figures: JudgeEstimates, gap: Estimate) -> tuple[Phrase, Phrase]:
    del figures
    lead = _signed(
        gap,
        "scores longer texts higher than shorter ones",
        "scores longer texts lower than shorter ones",
        "scores longer and shorter texts alike",
        "too few data to say whether longer texts score higher",
    )
    return lead, say(" with the same label")


def worths(figures: JudgeEstimates) -> list[Estimate]:
    """The worth of every cue, the largest first; those without a value come last."""
    every = [e for e in figures.every.of(figures.judge, WORTH.id) if e.group.get("cue") != POSITION]
    return sorted(every, key=lambda e: (not defined(e), -abs(e.value or 0.0), str(e.group.get("cue"))))


def _shifts(figures: JudgeEstimates) -> list[Estimate]:
    """What cues do on data where no worth says it, the largest shift first."""
    every = [e for e in figures.known(CUE_SHIFT.id) if e.status is not None]
    return sorted(every, key=lambda e: (-abs(e.value or 0.0), str(e.group.get("cue"))))


def _in_areas(figures: JudgeEstimates) -> list[Estimate]:
    """Cues that are a fault in some area, and none over all areas."""
    every = [e for e in figures.every.of(figures.judge, AREA_WORTH.id) if e.status == FLAGGED]
    whole = {e.group["cue"] for e in worths(figures) if e.status == FLAGGED}
    return [each for each in every if each.group["cue"] not in whole]


def cues(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """What outweighs quality: the worth or the shift of each cue, flagged ones first."""
    del protocol
    every = worths(figures)
    known = [*_in_areas(figures), *(each for each in every if defined(each)), *_shifts(figures)]
    if not known:
        return unmeasured(*every)
    known.sort(key=lambda each: each.status != FLAGGED)
    flagged = [each for each in known if each.status == FLAGGED]
    tests = tuple(map(_cue_test, known))
    told = [_sentence(each) for each in known]
    status = worst(each.status for each in known)
    if not flagged:
        return Answer(status, Clause(join("; ", told), about_judge=False), tests)
    names: list[Phrase] = [(_cue(each), *_area(each)) for each in flagged]
    lead = say("is swayed by {}", join(" and ", [join(", ", names[:-1]), names[-1]]))
    more = join("", (say("; {}", each) for each in told[len(flagged) :]))
    return Answer(status, Clause(lead, say(": {}", join("; ", told[: len(flagged)])), more), tests)


def _cue(estimate: Estimate) -> Part:
    cue = str(estimate.group.get("cue"))
    single = estimate.metric == CUE_SHIFT.id and estimate.unit == "item"
    return Name(text_cue_name(cue) if single or estimate.reading == PASS_RATE else cue_name(cue))


def _area(estimate: Estimate) -> Phrase:
    """` in law`, of a figure of one area; nothing of others."""
    return say(" in {}", Name(str(estimate.group["stratum"]))) if estimate.metric == AREA_WORTH.id else ()


def _cue_test(estimate: Estimate) -> Test:
    name = f"{metric_named(estimate.metric).short}: {cue_name(estimate.group['cue'])}"
    in_area = estimate.metric == AREA_WORTH.id
    return Test.of(estimate, f"{name}, {estimate.group['stratum']}" if in_area else name)


def _sentence(estimate: Estimate) -> Phrase:
    """`padding is worth 1.4 [1.1, 1.9] steps: a padded answer beats …`, or how it moves the answers."""
    cue = _cue(estimate)
    if estimate.metric == AREA_WORTH.id:
        worth = ClauseFigure(estimate, Form.WORTH)
        return say(f"{{}} is worth {{}} {step_noun(estimate)}s{{}}", cue, worth, _area(estimate))
    if estimate.metric == WORTH.id:
        worth = ClauseFigure(estimate, Form.WORTH)
        said = say(f"{{}} is worth {{}} {step_noun(estimate)}s: {_meaning(estimate)}", cue, worth)
        said += _areas(estimate) if "areas_p" in estimate.details else ()
        crossing = estimate.details.get("crossing")
        return said if crossing is None else said + say(f" ({disagreement(crossing)})")
    if estimate.reading == PASS_RATE:
        return say("{} moves the pass rate by {}", cue, figure(estimate))
    if estimate.unit == "item":
        return say("{} moves the score by {} of the scale", cue, figure(estimate))
    return say("{} moves the preference by {} on your pairs", cue, figure(estimate))


def _areas(estimate: Estimate) -> Phrase:
    """What is said of a worth that is not the same in all areas: where it is higher or lower, or seems so."""
    details = estimate.details
    words = ("more in {}", "less in {}") if details["areas_shown"] else ("most in {}", "least in {}")
    sides = [
        say(word, join(", ", [(Name(str(name)),) for name in details[key]]))
        for word, key in zip(words, ("areas_higher", "areas_lower"), strict=True)
        if details[key]
    ]
    lead = f", on average: areas differ (p = {details['areas_p']:.2g}), and it is worth "
    return say(f"{lead}{{}}", join(", ", sides))


def goes_by_length(figures: JudgeEstimates) -> Cause | None:
    """The cause under which length decides: a padded text beats one that is two steps better, with the whole
    interval; None where it does not."""
    wins = against_quality(figures)
    if wins is not None and wins.metric == BEATS_PADDED.id and wins.status == FLAGGED:
        return Cause.LENGTH
    steps = (e for e in worths(figures) if e.unit == "pair")  # a level of a scale may be a tenth of it
    padded = (e for e in steps if str(e.group.get("cue")) in PADDED and e.status == FLAGGED)
    limits = (estimate.interval for estimate in padded)
    outweighs = any(each is not None and each.low is not None and each.low >= DECIDES_AT for each in limits)
    return Cause.CUES if outweighs else None


def disagreement(crossing: float) -> str:
    """What is said of a worth that the crossing point contradicts."""
    minus = "−" if crossing < 0 and round(crossing, 2) else ""
    return f"the two ways to measure it disagree: {minus}{abs(crossing):.2f} without a model"


def step_noun(estimate: Estimate) -> str:
    """What the worth is counted in: quality steps of pairs, levels of single texts."""
    return "level" if estimate.unit == "item" else "step"


def _meaning(estimate: Estimate) -> str:
    """What the whole interval bears out."""
    limits = estimate.interval
    low = limits.low if limits else None
    high = limits.high if limits else None
    if estimate.status == CLEAR:
        return f"less than half a {step_noun(estimate)} either way"
    if high is not None and high < 0:
        return "it harms the answer that has it"
    if low is None or low <= 0:
        return "too few data to say whether it counts"
    steps, noun = floor(low), step_noun(estimate)
    better = f"a {noun}" if steps == 1 else pluralize(steps, noun)
    beaten = f"one that is {better} better" if steps else "an equal one"
    beats = "outscores" if estimate.unit == "item" else "beats"
    return f"{cue_carrier(estimate.group.get('cue'))} {beats} {beaten}"


LENGTH = Question(
    "Length",
    "goes by length",
    length,
    Counts.FAULT,
    (LENGTH_LEAN.id, LENGTH_GAP.id, BEATS_PADDED.id, LENGTH_WORTH.id),
    (Fault(Cause.LENGTH, Advice.LENGTH_IN_RUBRIC, (Cause.LENIENCY, Cause.ROBUSTNESS, Cause.ACCURACY)),),
    ExampleFilter(WRONG, lambda shown: np.isin(shown.kind, (PADDED_KIND, FILLER, NATURAL)) | shown.original),
    probes=(LENGTH_PROBE,),
    ways=(
        Way("--profile standard", PAIRS, own_data=False, unless=LENGTH_LEAN.id),
        Way(
            "columns words_1 and words_2, or text_1 and text_2", PAIRS, recorded=True, unless=LONGER_CHOSEN.id
        ),
        Way("column words, or text", TEXTS, recorded=True),
    ),
)
CUES = Question(
    "Cues",
    "is swayed by a cue",
    cues,
    Counts.FAULT,
    (WORTH.id, CUE_SHIFT.id),
    (Fault(Cause.CUES, Advice.CUES_IN_RUBRIC),),
    ExampleFilter(
        WRONG,
        lambda shown: (shown.delta > 0) | ((shown.probe == TRADEOFF) & ~shown.paired),
        narrow=of_flagged("kind", lambda e: e.group["cue"], WORTH.id, CUE_SHIFT.id),
    ),
    ways=(Way("-p tradeoff"),),
    probes=(TRADEOFF,),
)
