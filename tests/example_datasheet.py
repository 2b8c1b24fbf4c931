"""A datasheet built by hand: the published judges, one that failed, and the dumb baselines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import sqrt

from said import decision, fact
from steelyard.datasheet.conclusion import CARE, Conclusion
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.questions.causes import Advice
from steelyard.datasheet.questions.question import Decision
from steelyard.datasheet.questions.questions import decisions_of
from steelyard.metrics.estimate import Estimate, Interval

FAILING = "Mistral7B"
REASON = "every one of its 420 calls failed (server_error), so there is no verdict to count"
NO_FIT = "the model does not fit these answers (p ≤ 0.01), so it is not read"
NO_STRICT = "this judge has no strict protocol"
PAIRS = {1: 50, 2: 40, 3: 30, 4: 20, 5: 10}


def wilson(k: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    p, half = k / n, z * sqrt((k / n) * (1 - k / n) / n + z * z / (4 * n * n))
    middle, scale = p + z * z / (2 * n), 1 + z * z / n
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def rate(
    judge: str,
    probe: str,
    metric: str,
    group: Mapping[str, str | float],
    k: int,
    n: int,
    *,
    unit: str = "call",
    status: str | None = None,
    chance: float | None = None,
    failed: int = 0,
) -> Estimate:
    low, high = wilson(k, n)
    wide_low, wide_high = wilson(k, n, 2.262157)
    method = "goodman" if unit == "pair" else "wilson_cluster"
    return Estimate(
        judge=judge,
        probe=probe,
        metric=metric,
        group=group,
        unit=unit,
        value=k / n,
        numerator=k,
        denominator=n,
        intervals=(Interval(method, wide_low, wide_high), Interval("wilson", low, high)),
        n_calls=n if unit == "call" else 2 * n,
        n_units=n if unit == "pair" else n // 2,
        n_clusters=10,
        design_effect=1.1,
        excluded={"unreadable": 0, "failed": failed},
        bounds=(k / (n + failed), (k + failed) / (n + failed)),
        status=status,
        chance=chance,
    )


def undefined(
    judge: str, probe: str, metric: str, group: Mapping[str, str | float], note: str, *, unit: str = "call"
) -> Estimate:
    return Estimate(judge, probe, metric, group, unit, None, note=note, n_calls=0, excluded={"failed": 120})


def vacuum(judge: str, protocol: str, kinds: tuple[int, int, int]) -> Iterator[Estimate]:
    total = sum(kinds)
    status = "clear" if total == 0 else "flagged"
    yield rate(judge, "vacuum", "dark_current", {"protocol": protocol}, total, 120, status=status)
    for kind, k in zip(("empty", "blank", "identical"), kinds, strict=True):
        yield rate(judge, "vacuum", "dark_current", {"protocol": protocol, "kind": kind}, k, 40)
    for metric in ("unreadable_rate", "failed_rate"):
        yield rate(judge, "vacuum", metric, {"protocol": protocol}, 0, 120)


def decomposition(judge: str, protocol: str, cells: tuple[int, int, int, int, int]) -> Iterator[Estimate]:
    """Stable, positional slot 1, positional slot 2, one-sided, no preference: of 60 pairs."""
    stable, first, second, one_sided, none = cells
    assert sum(cells) == 60
    for kind in ("same_subset", "different_subset", "filler"):
        here: dict[str, str | float] = {"protocol": protocol, "delta": 0, "kind": kind}
        commits = 2 * (stable + first + second) + one_sided
        yield rate(judge, "ladder", "raw_false_preference", here, commits, 120)
        yield rate(judge, "ladder", "tie_rate", here, 120 - commits, 120)
        position = "flagged" if kind == "same_subset" and abs(first - second) > 5 else None
        yield rate(judge, "ladder", "stable_cross_sensitivity", here, stable, 60, unit="pair", chance=0.5)
        yield rate(
            judge, "ladder", "positional_false_preference", here, first + second, 60, unit="pair",
            status=position, chance=0.5,
        )  # fmt: skip
        for slot, k in ((1, first), (2, second)):
            split = {**here, "slot": slot}
            yield rate(judge, "ladder", "positional_false_preference", split, k, 60, unit="pair")
        yield rate(judge, "ladder", "one_sided_commit", here, one_sided, 60, unit="pair")
        for slot, k in ((1, one_sided - one_sided // 3), (2, one_sided // 3)):
            yield rate(judge, "ladder", "one_sided_commit", {**here, "slot": slot}, k, 60, unit="pair")
        yield rate(judge, "ladder", "other_conflict", here, 0, 120)
        yield rate(judge, "ladder", "no_preference", here, none, 60, unit="pair")
    filler: dict[str, str | float] = {"protocol": protocol, "delta": 0, "kind": "filler"}
    yield rate(judge, "ladder", "padded_preference", filler, commits // 2, 120)
    same: dict[str, str | float] = {"protocol": protocol, "delta": 0, "kind": "same_subset"}
    net = (first - second) / 60
    yield Estimate(
        judge, "ladder", "net_slot_preference", same, "call", net,
        intervals=(Interval("bootstrap_cluster", max(-1.0, net - 0.1), min(1.0, net + 0.1)),),
        n_calls=120, n_units=60, n_clusters=10, design_effect=1.2,
        status="flagged" if abs(net) > 0.1 else "inconclusive", minimum_detectable=0.21,
    )  # fmt: skip


def ladder(judge: str, protocol: str, correct: dict[int, tuple[int, int]]) -> Iterator[Estimate]:
    """Correct and wrong calls by step; the rest are ties."""
    for delta, (right, wrong) in correct.items():
        n, here = 2 * PAIRS[delta], {"protocol": protocol, "delta": delta}
        yield rate(judge, "ladder", "target_sensitivity", here, right, n)
        yield rate(judge, "ladder", "wrong_choice", here, wrong, n)
        yield rate(judge, "ladder", "miss_by_tie", here, n - right - wrong, n)
        yield rate(judge, "ladder", "tie_rate", here, n - right - wrong, n)
        if right + wrong:
            yield rate(judge, "ladder", "nontie_accuracy", here, right, right + wrong)
        for metric, scale in (("dprime", 1.0), ("dprime_2afc", sqrt(2))):
            yield Estimate(
                judge, "ladder", metric, here, "call", 3.3812 / scale if right == n else 0.55 / scale,
                intervals=(Interval("bootstrap_cluster", 1.92 / scale if right == n else 0.1, None),),
                n_calls=n, n_units=n // 2, n_clusters=10, censored="right" if right == n else None,
            )  # fmt: skip
        for level in range(6 - delta):
            group = {**here, "base_level": level}
            yield rate(judge, "ladder", "target_sensitivity", group, round(right * 20 / n), 20)
    for metric in ("unreadable_rate", "failed_rate"):
        yield rate(judge, "ladder", metric, {"protocol": protocol}, 0, 660, status="clear")


def threshold(
    judge: str, protocol: str, value: float, low: float | None, high: float | None, side: str | None
):
    return Estimate(
        judge, "ladder", "delta75", {"protocol": protocol}, "call", value, censored=side,
        intervals=(Interval("bootstrap_cluster", low, high),), n_calls=300, n_units=150, n_clusters=10,
    )  # fmt: skip


def shift(judge: str, group: Mapping[str, str | float], strict: int, base: int, n: int) -> Estimate:
    value = (strict - base) / n
    return Estimate(
        judge, "criterion", "criterion_shift", group, "call", value,
        intervals=(Interval("newcombe", max(-1.0, value - 0.1), min(1.0, value + 0.1)),),
        n_calls=2 * n, n_units=n // 2, n_clusters=10, design_effect=1.1,
    )  # fmt: skip


PARAMETERS = ("resolution", "position_bias", "tie_threshold", "surface_sensitivity", "lapse_rate")


def fitted(
    judge: str, metric: str, value: float, low: float | None, high: float | None, protocol: str = "base"
):
    """A figure of the joint fit; one that is open on a side stands at its other end."""
    side = "right" if high is None else "left" if low is None else None
    return Estimate(
        judge, "ladder", metric, {"protocol": protocol}, "pair", value, censored=side,
        intervals=(Interval("profile", low, high),), n_calls=420, n_units=210, n_clusters=10,
    )  # fmt: skip


def tested(judge: str, protocol: str, as_far: int) -> Iterator[Estimate]:
    here = {"protocol": protocol}
    yield Estimate(judge, "ladder", "goodness_of_fit", here, "pair", 31.8, n_units=210)
    yield Estimate(
        judge, "ladder", "fit_probability", here, "pair", as_far / 200, as_far, 200, n_units=210,
        status="flagged" if as_far <= 2 else None,
    )  # fmt: skip


def instruments() -> Iterator[Estimate]:
    """One judge that is not such an instrument, one that was not fitted, one under two protocols."""
    for metric in (*PARAMETERS, "limit_of_detection"):
        yield undefined("Llama8B", "ladder", metric, {"protocol": "base"}, NO_FIT)
    yield from tested("Llama8B", "base", 1)
    for protocol, moved in (("base", 1.1), ("strict", 3.4)):
        for metric, value, low, high in (
            ("resolution", 2.9, 2.2, 3.9),
            ("position_bias", 0.3, 0.05, 0.58),
            ("tie_threshold", moved, moved - 0.3, moved + 0.5),
            ("surface_sensitivity", 0.4, 0.0, 0.9),
            ("lapse_rate", 0.0, 0.0, 0.03),
            ("limit_of_detection", 1.1 if protocol == "base" else 2.2, 0.9, 2.6),
        ):
            yield fitted("Qwen32B", metric, value, low, high, protocol)
        yield from tested("Qwen32B", protocol, 44)
    yield fitted("Qwen14B", "resolution", 4.1, 4.1, None)
    yield fitted("Qwen14B", "limit_of_detection", 1.0, None, 1.0)
    yield Estimate(
        "Qwen32B", "ladder", "resolution_ratio", {"protocol": "strict"}, "pair", 1.02, status="clear",
        intervals=(Interval("profile", 0.8, 1.3), Interval("profile", 0.84, 1.22, 0.9)),
        n_calls=840, n_units=210, n_clusters=10,
    )  # fmt: skip


def failing() -> Iterator[Estimate]:
    for probe, metric, group in (
        ("vacuum", "dark_current", {"protocol": "base"}),
        ("ladder", "raw_false_preference", {"protocol": "base", "delta": 0, "kind": "same_subset"}),
        ("ladder", "stable_cross_sensitivity", {"protocol": "base", "delta": 0, "kind": "same_subset"}),
        ("ladder", "positional_false_preference", {"protocol": "base", "delta": 0, "kind": "same_subset"}),
        ("ladder", "target_sensitivity", {"protocol": "base", "delta": 1}),
        ("ladder", "delta75", {"protocol": "base"}),
    ):
        yield undefined(FAILING, probe, metric, group, REASON)
    yield undefined(FAILING, "criterion", "criterion_shift", {"protocol": "strict", "delta": 1}, NO_STRICT)
    for probe, n in (("vacuum", 120), ("ladder", 300)):
        yield rate(FAILING, probe, "failed_rate", {"protocol": "base"}, n, n, status="flagged")
        yield rate(FAILING, probe, "unreadable_rate", {"protocol": "base"}, 0, n)


def measured() -> Iterator[Estimate]:
    full = {d: (2 * n, 0) for d, n in PAIRS.items()}
    yield from vacuum("Llama8B", "base", (40, 40, 0))
    yield from decomposition("Llama8B", "base", (2, 55, 3, 0, 0))
    llama = {1: (61, 39), 2: (52, 28), 3: (43, 17), 4: (30, 10), 5: (20, 0)}
    yield from ladder("Llama8B", "base", llama)
    yield threshold("Llama8B", "base", 4.0, 2.7143, 4.0, None)
    yield from vacuum("Qwen14B", "base", (0, 0, 0))
    yield from decomposition("Qwen14B", "base", (27, 18, 14, 1, 0))
    yield from ladder("Qwen14B", "base", full)
    yield threshold("Qwen14B", "base", 1.0, None, 1.0, "left")
    yield from vacuum("Qwen32B", "base", (0, 0, 0))
    yield from decomposition("Qwen32B", "base", (0, 4, 1, 21, 34))
    yield from ladder("Qwen32B", "base", {**full, 1: (94, 0)})
    yield threshold("Qwen32B", "base", 1.0, None, 1.0, "left")
    yield from vacuum("Qwen32B", "strict", (0, 0, 0))
    yield from decomposition("Qwen32B", "strict", (0, 0, 0, 0, 60))
    yield from ladder("Qwen32B", "strict", {**full, 1: (50, 0), 2: (66, 0), 3: (58, 0)})
    yield threshold("Qwen32B", "strict", 1.77, 1.2, 2.4, None)
    for delta, strict, base, n in ((0, 120, 89, 120), (1, 50, 6, 100), (2, 14, 0, 80), (5, 0, 0, 20)):
        yield shift("Qwen32B", {"protocol": "strict", "delta": delta}, strict, base, n)
    yield shift("Qwen32B", {"protocol": "strict", "kind": "vacuum"}, 120, 120, 120)
    for judge, calls in (("Llama8B", 780), ("Qwen14B", 780), ("Qwen32B", 1560)):
        for metric in ("unreadable_rate", "failed_rate"):
            yield rate(judge, "run", metric, {}, 0, calls, status="clear")
    for judge in ("Llama8B", "Qwen14B"):
        yield undefined(judge, "criterion", "criterion_shift", {"protocol": "strict", "delta": 1}, NO_STRICT)
    yield from instruments()
    yield from failing()


def baselines() -> Iterator[Estimate]:
    half = {d: (n, n) for d, n in PAIRS.items()}
    nothing = dict.fromkeys(PAIRS, (0, 0))
    yield from vacuum("coin", "base", (40, 40, 40))
    yield from decomposition("coin", "base", (31, 15, 14, 0, 0))
    yield from ladder("coin", "base", {**half, 1: (47, 53)})
    yield threshold("coin", "base", 5.0, 5.0, None, "right")
    yield from vacuum("first", "base", (40, 40, 40))
    yield from decomposition("first", "base", (0, 60, 0, 0, 0))
    yield from ladder("first", "base", half)
    yield threshold("first", "base", 5.0, 5.0, None, "right")
    yield from vacuum("tie", "base", (0, 0, 0))
    yield from decomposition("tie", "base", (0, 0, 0, 0, 60))
    yield from ladder("tie", "base", nothing)
    yield threshold("tie", "base", 5.0, 5.0, None, "right")
    yield from vacuum("longest", "base", (0, 0, 0))
    yield from decomposition("longest", "base", (58, 0, 0, 0, 2))
    yield from ladder("longest", "base", {1: (57, 43), 2: (41, 39), 3: (33, 27), 4: (22, 18), 5: (12, 8)})
    yield threshold("longest", "base", 5.0, 5.0, None, "right")


def read(judge: str, **sentences: tuple[str, str]) -> Iterator[Decision]:
    for title, (word, sentence) in sentences.items():
        yield decision(judge, title.replace("_", " "), word, sentence)


FINDINGS = (
    *read(
        "Llama8B",
        Merit=("clear", "tells good from bad: chooses the better text in 0.69 [0.60, 0.77] of calls"),
        Dark_current=(
            "flagged",
            "prefers one of two texts that do not differ in 80 of 120 calls, 0.67 [0.56, 0.76]",
        ),
        Position=("flagged", "favours the first text between equals: net preference +0.87 [+0.77, +0.97]"),
        Sensitivity=("flagged", "sees a difference of one element in 61 of 100 calls, 0.61 [0.50, 0.71]"),
        Threshold=("measured", "is right in three calls of four from 4 [2.71, 4] elements on"),
    ),
    *read(
        "Qwen14B",
        Merit=("clear", "tells good from bad: chooses the better text in 1.00 [0.97, 1.00] of calls"),
        Dark_current=(
            "clear",
            "prefers one of two texts that do not differ in 0 of 120 calls, 0.00 [0.00, 0.04]",
        ),
        Position=("inconclusive", "too few data to say whether a slot is favoured: +0.07 [−0.03, +0.17]"),
        Sensitivity=("clear", "sees a difference of one element in 100 of 100 calls, 1.00 [0.95, 1.00]"),
        Threshold=("measured", "is right in three calls of four from ≤ 1 (0, 1] elements on"),
    ),
    *read(
        "Qwen32B",
        Merit=("clear", "tells good from bad: chooses the better text in 0.99 [0.95, 1.00] of calls"),
        Dark_current=(
            "clear",
            "prefers one of two texts that do not differ in 0 of 120 calls, 0.00 [0.00, 0.04]",
        ),
        Position=("inconclusive", "too few data to say whether a slot is favoured: +0.05 [−0.05, +0.15]"),
        Sensitivity=("clear", "sees a difference of one element in 94 of 100 calls, 0.94 [0.86, 0.98]"),
        Threshold=("measured", "is right in three calls of four from ≤ 1 (0, 1] elements on"),
        Criterion=(
            "measured",
            "the strict instruction moves the tie rate by +0.26 [+0.16, +0.36] between equals",
        ),
    ),
    *read(FAILING, Dark_current=("undefined", REASON), Failures=("flagged", "failed 120 of 120 calls")),
)


def example() -> Datasheet:
    """The sheet, whose decisions have the tests that its figures give them."""
    sheet = _example()
    computed = {(d.judge, d.title): d.tests for d in decisions_of(sheet.judges, sheet.estimates)}
    findings = (replace(d, tests=computed.get((d.judge, d.title), ())) for d in sheet.findings)
    return replace(sheet, findings=tuple(findings))


def _example() -> Datasheet:
    strict = {"base": "sha256:" + "c3" * 32, "strict": "sha256:" + "d4" * 32}
    return Datasheet(
        name="open-weight judges",
        seed=7,
        stimulus_set="sha256:" + "5f2d9a41" * 8,
        version="0.1.0",
        profile="standard",
        judges=(
            JudgeEntry("Llama8B", "vllm/llama-3.1-8b-instruct", False, {"base": "sha256:" + "a1" * 32}),
            JudgeEntry("Qwen14B", "vllm/qwen2.5-14b-instruct", False, {"base": "sha256:" + "b2" * 32}),
            JudgeEntry("Qwen32B", "vllm/qwen2.5-32b-instruct", False, strict),
            JudgeEntry(FAILING, "vllm/mistral-7b-instruct", False, {"base": "sha256:" + "e5" * 32}),
            *(
                JudgeEntry(name, f"planted/{name}", True, {"base": "sha256:" + "f6" * 32})
                for name in ("coin", "first", "tie", "longest")
            ),
        ),
        estimates=(*measured(), *baselines()),
        findings=FINDINGS,
        run={"started": "2026-03-02T09:14:05Z", "finished": "2026-03-02T09:31:44Z",
             "latency_ms": {"p50": 412, "p95": 980}},
    )  # fmt: skip


def renamed(datasheet: Datasheet, old: str, new: str) -> Datasheet:
    """The same datasheet with one judge under another name."""
    return replace(
        datasheet,
        judges=tuple(replace(j, name=new) if j.name == old else j for j in datasheet.judges),
        estimates=tuple(replace(e, judge=new) if e.judge == old else e for e in datasheet.estimates),
        findings=tuple(_renamed(r, new) if r.judge == old else r for r in datasheet.findings),
    )


def _renamed(finding: Decision, judge: str) -> Decision:
    tests = (replace(test, estimate=replace(test.estimate, judge=judge)) for test in finding.tests)
    return replace(finding, judge=judge, tests=tuple(tests))


def crowd(count: int) -> Datasheet:
    """Many judges with the same figures: the hardest case for labels."""
    one = example()
    names = [f"judge number {number}" for number in range(count)]
    copies = [renamed(one, "Qwen32B", name) for name in names]
    return replace(
        one,
        judges=tuple(
            j for sheet, name in zip(copies, names, strict=True) for j in sheet.judges if j.name == name
        )
        + tuple(j for j in one.judges if j.baseline),
        estimates=tuple(e for s, n in zip(copies, names, strict=True) for e in s.estimates if e.judge == n)
        + tuple(baselines()),
        findings=tuple(r for s, n in zip(copies, names, strict=True) for r in s.findings if r.judge == n),
    )


def without_estimates() -> Datasheet:
    """Judges that were never asked anything."""
    return replace(example(), estimates=(), findings=())


def pointwise() -> Datasheet:
    """A study without pairs: probes that the pairwise sections know nothing about."""
    rows = (
        rate("Qwen14B", "label_flip", "accuracy", {"protocol": "base"}, 18, 20, status="clear"),
        rate("Qwen14B", "format_invariance_1", "invariance", {"stratum": "chemistry"}, 19, 20),
        Estimate(
            "Qwen14B",
            "synthetic_ordinal",
            "pearson",
            {},
            "item",
            None,
            note="every score is the same: no variance",
        ),
        Estimate("Qwen14B", "synthetic_ordinal", "unheard_of", {}, "item", 3.25),
    )
    return replace(example(), estimates=rows, findings=())


def judged(sheet: Datasheet) -> Datasheet:
    """The sheet with a verdict on every judge, so that words stand by judge and question."""
    first = fact("Position", "favours the first text in 25 of 120 pairs")
    names = [judge.name for judge in sheet.judges if not judge.baseline]
    return replace(
        sheet, verdicts=tuple(Conclusion(name, CARE, (first,), Advice.BOTH_ORDERS) for name in names)
    )
