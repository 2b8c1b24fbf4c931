"""The row of merit on the first screen: interval, limit and word agree, whatever test decided it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Steelyard
from example_datasheet import example
from pairs import pair
from scores import calls
from steelyard.datasheet.conclude import concluded
from steelyard.datasheet.estimate_index import MeritTest
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.questions.causes import Advice
from steelyard.datasheet.questions.question import Test
from steelyard.datasheet.sections.first_screen import Row, key_figures
from steelyard.datasheet.sections.summary import summarise
from steelyard.metrics.estimate import DECIDES, Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.merit import merit_estimates, merit_test_status
from steelyard.metrics.proportions import MERIT
from steelyard.stimuli.original import NATURAL_PROBE
from steelyard.stimuli.stimulus import RECORDED
from steelyard.verdicts.observations import Observation, Observations

ANSWERS = ("1", "2", "tie", "unreadable")
WORDS = {"clear": "fine", "flagged": "too low", "inconclusive": "undecided"}


def row(estimates: Sequence[Estimate]) -> Row | None:
    sheet = replace(
        example(), judges=(JudgeEntry("j", "planted/probit", False, {}),), estimates=tuple(estimates)
    )
    return next(iter(key_figures(summarise(concluded(sheet)), "j")), None)


def check_row(observations: list[Observation], *rules: list[Observation]) -> str:
    """The word of the row, once it agrees with its interval and limit, and with the figure's own word."""
    baselines = {f"rule {n}": Observations.of(seen) for n, seen in enumerate(rules)}
    estimates = merit_estimates("j", Observations.of(observations), baselines, 7)
    shown = row(estimates)
    whole = next(each for each in estimates if each.is_overall)
    if shown is None:
        assert whole.value is None
        return "not measured"
    interval, (limit, _) = shown.estimate.interval, shown.allowed
    assert interval is not None
    assert interval.low is not None
    assert interval.high is not None
    expected = "fine" if interval.low > limit else "too low" if interval.high < limit else "undecided"
    assert shown.word == expected == WORDS[whole.status or ""]
    assert shown.limit.endswith(f"{limit:.2f}")
    return shown.word


def test_a_row_refutes_no_merit_that_its_published_interval_shows() -> None:
    """Lost calls taken for chance leave a merit open at most: their wider interval is not read twice."""
    both = (Interval("wilson", 0.53, 0.7), Interval(DECIDES, 0.49, 0.57))
    context = EstimateContext("j", NATURAL_PROBE, {"protocol": "base"}, 7)
    merit = context.estimate(MERIT, Sample(90, 45, 45), value=0.55, intervals=both)
    row = Test.of_merit(MeritTest.of(merit), "")
    assert (row.estimate.status, row.limit) == (merit_test_status(merit), "at least 0.50")


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(ANSWERS), st.sampled_from(ANSWERS)), min_size=4, max_size=60),
    st.sampled_from([("1", "2"), ("2", "1"), ("1", "1"), ("tie", "tie")]),
    st.integers(1, 12),
)
def test_a_row_of_the_ladder_agrees_with_itself(
    answers: list[tuple[str, str]], usual: tuple[str, str], every: int
) -> None:
    mixed = [both if n % every == 0 else usual for n, both in enumerate(answers)]
    seen, longest = (
        [
            call
            for n, both in enumerate(each)
            for call in pair(f"p{n}", both, "u", delta=1 + n % 5, judge=name)
        ]
        for name, each in (("j", mixed), ("b", [("1", "2") if n % 2 else ("tie", "tie") for n in range(60)]))
    )
    check_row(seen, longest)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(ANSWERS), st.sampled_from(ANSWERS)), min_size=4, max_size=60),
    st.sampled_from([("1", "2"), ("2", "1"), ("1", "1"), ("tie", "tie")]),
    st.integers(1, 12),
    st.text("uv=?", min_size=60, max_size=60),
)
def test_a_row_of_natural_pairs_agrees_with_itself(
    answers: list[tuple[str, str]], usual: tuple[str, str], every: int, longer: str
) -> None:
    mixed = [both if n % every == 0 else usual for n, both in enumerate(answers)]
    check_row(natural(mixed, longer))


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([0, 1, "unreadable", "abstain"]), min_size=4, max_size=80),
    st.integers(1, 12),
    st.sampled_from(["binary", "1-5"]),
)
def test_a_row_of_labelled_texts_agrees_with_itself(answers: list[int | str], every: int, scale: str) -> None:
    labels = [n % 2 if scale == "binary" else 1 + n % 5 for n in range(len(answers))]
    low = 0 if scale == "binary" else 1
    mixed = [
        label if n % every else answer + low if isinstance(answer, int) else answer
        for n, (answer, label) in enumerate(zip(answers, labels, strict=True))
    ]
    check_row(calls(mixed, labels, scale=scale))


def ladder(answers: Sequence[tuple[str, str]], judge: str = "j") -> list[Observation]:
    return [
        call
        for n, both in enumerate(answers)
        for call in pair(f"p{n}", both, "u", delta=1 + n % 5, judge=judge)
    ]


LENGTHS = {"u": (9, 4), "v": (4, 9), "=": (9, 9), "?": None}


def natural(answers: Sequence[tuple[str, str]], longer: str) -> list[Observation]:
    """Pairs of which people prefer u; the longer text of each is u or v, neither, or not known."""
    return [
        call
        for n, (both, sign) in enumerate(zip(answers, longer, strict=False))
        for words in (LENGTHS[sign],)
        for call in pair(
            f"n{n:03}", both, "u", probe="position", kind="natural", words=words, author=RECORDED
        )
    ]


RIGHT, WRONG = ("1", "2"), ("2", "1")


def test_pairs_that_the_longer_text_wins_weigh_like_those_that_the_shorter_wins() -> None:
    """The longer wins 64 of 80; right on 60 of these and on 10 of the others: (60/64 + 10/16) / 2."""
    judge = [RIGHT] * 60 + [WRONG] * 4 + [RIGHT] * 10 + [WRONG] * 6
    beside = beside_length(judge, "u" * 64 + "v" * 16)
    assert beside.value == pytest.approx((60 / 64 + 10 / 16) / 2)
    assert (beside.n_calls, beside.n_units) == (160, 80)


def test_pairs_of_equal_length_have_the_weight_of_their_share() -> None:
    """20 of 100 pairs of equal length, 15 right: .2 · .75 + .8 · (60/64 + 10/16) / 2."""
    judge = [RIGHT] * 60 + [WRONG] * 4 + [RIGHT] * 10 + [WRONG] * 6 + [RIGHT] * 15 + [WRONG] * 5
    beside = beside_length(judge, "u" * 64 + "v" * 16 + "=" * 20)
    assert beside.value == pytest.approx(0.2 * 0.75 + 0.8 * (60 / 64 + 10 / 16) / 2)
    assert beside.n_calls == 200


def beside_length(judge: list[tuple[str, str]], longer: str) -> Estimate:
    (found,) = [
        each
        for each in merit_estimates("j", Observations.of(natural(judge, longer)), {}, 7)
        if each.group.get("weighed_against") == "longest"
    ]
    return found


def won(share: float, pairs: int) -> str:
    """The longer text of pairs of which it wins so many."""
    return "".join("u" if n < share * pairs else "v" for n in range(pairs))


@pytest.mark.slow
@pytest.mark.parametrize("longer", [0.6, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("right", [0.8, 0.9, 0.95])
def test_a_good_judge_is_not_refuted_by_pairs_of_which_people_like_the_longer_text(
    longer: float, right: float
) -> None:
    """Right as often whichever text is longer; naming the longest is right more often than it is."""
    judge = [RIGHT if n % 20 < right * 20 else WRONG for n in range(400)]
    assert check_row(natural(judge, won(longer, 400))) == "fine"


@pytest.mark.slow
@pytest.mark.parametrize("longer", [0.5, 0.6, 0.8, 0.9])
@pytest.mark.parametrize("noise", [0, 10, 5])
def test_a_judge_that_counts_words_is_refuted_however_often_people_agree(longer: float, noise: int) -> None:
    longest, turned = won(longer, 400), {"u": WRONG, "v": RIGHT}
    follows = {"u": RIGHT, "v": WRONG}
    judge = [turned[each] if noise and n % noise == 0 else follows[each] for n, each in enumerate(longest)]
    assert check_row(natural(judge, longest)) == "too low"


def test_where_people_always_like_the_longer_text_merit_is_not_measured() -> None:
    assert check_row(natural([RIGHT] * 200, "u" * 200)) == "not measured"
    assert check_row(natural([RIGHT, WRONG] * 100, "u" * 200)) == "too low"  # at chance all the same


@pytest.mark.parametrize(
    ("allowed", "word"), [((0.5, float("inf")), "too low"), ((float("-inf"), 0.1), "too high")]
)
def test_a_flag_says_the_side_of_the_limit_and_not_that_of_the_value(
    allowed: tuple[float, float], word: str
) -> None:
    ends = (Interval("wilson_cluster", 0.60, 0.71),)
    flagged = Estimate(
        "j", "ladder", "merit", {"protocol": "base"}, "call", 0.65, intervals=ends, status="flagged"
    )
    state = Test(flagged, allowed, "tells good from bad").state
    assert state is not None
    assert state.value == word


JUDGE = """
def right(request, first, second):
    # The better text says so; one pair in eight is taken the wrong way round, whichever text is longer.
    better = "1" if "good" in first else "2"
    return better if int(request.split()[1]) % 8 else {"1": "2", "2": "1"}[better]


def words(request, first, second):
    return "1" if len(first) > len(second) else "2"
"""


def test_of_pairs_won_by_the_longer_text_a_good_judge_is_told_from_one_that_counts_words(
    steelyard: Steelyard, tmp_path: Path
) -> None:
    """300 pairs, the longer text preferred in 92 %: counting words is right more often than the judge."""
    lines = ["n,q,a,b,l"]
    for n in range(300):
        longer, first = n % 25 < 23, n % 2 == 0
        better, worse = (("good " * 9, "poor " * 5) if longer else ("good " * 5, "poor " * 9))[:2]
        texts = (better, worse) if first else (worse, better)
        lines.append(f"{n},case {n},{texts[0]},{texts[1]},{'1' if first else '2'}")
    (tmp_path / "pairs.csv").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "mine.py").write_text(JUDGE, encoding="utf-8")
    done = steelyard(
        *("measure", *(f"-jpython/{tmp_path / 'mine.py'}:{name}" for name in ("right", "words"))),
        *("--data", tmp_path / "pairs.csv", "--scale", "pairwise"),
        *("--columns", "request=q,response_1=a,response_2=b,label=l,id=n", "--out", tmp_path / "run"),
    )
    assert done.returncode == 0, done.stderr
    verdicts = {
        each["judge"].rpartition(":")[2]: each["verdict"]
        for each in json.loads((tmp_path / "run" / "datasheet.json").read_text(encoding="utf-8"))["verdicts"]
    }
    assert verdicts == {"right": "no_fault_found", "words": "unfit"}
    gates = [
        steelyard(
            "gate", tmp_path / "run", "--policy", "smoke", "-j", f"python/{tmp_path / 'mine.py'}:{name}"
        ).returncode
        for name in ("right", "words")
    ]
    assert gates == [0, 3]


def test_lost_calls_counted_as_chance_refute_nothing_that_the_others_show() -> None:
    """Above chance on the calls at hand, .49 with the lost ones as chance, and below .70 either way."""
    ends = (Interval("wilson_cluster", 0.51, 0.66), Interval("decides", 0.49, 0.68))
    lossy = Estimate("j", "ladder", "merit", {"protocol": "base"}, "call", 0.59, intervals=ends)
    assert merit_test_status(lossy) == "inconclusive"
    assert merit_test_status(replace(lossy, intervals=ends[1:])) == "flagged"


def test_a_baseline_that_is_as_good_leaves_merit_open_and_is_the_row() -> None:
    right = ladder([RIGHT] * 25)
    assert check_row(right) == "fine"
    assert check_row(right, ladder([RIGHT] * 25, "b")) == "undecided"
    baselines = {"longest": Observations.of(ladder([RIGHT] * 25, "b"))}
    shown = row(merit_estimates("j", Observations.of(right), baselines, 7))
    assert shown is not None
    assert shown.name == "tells good from bad over the baseline longest"
    assert (shown.estimate.value, shown.limit) == (0.0, "at least 0.00")


def test_at_the_larger_steps_each_limit_has_the_whole_error() -> None:
    """27 of 30 pairs right at three steps and more: two-sided the lower limit is below .75, one-sided not."""
    seen = [call for n in range(30) for call in pair(f"p{n}", WRONG if n < 3 else RIGHT, "u", delta=3)]
    (large,) = [e for e in merit_estimates("j", Observations.of(seen), {}, 7) if "steps" in e.group]
    usual, decides = large.intervals
    assert usual.low is not None
    assert decides.low is not None
    assert usual.low < 0.75 < decides.low
    assert (usual.confidence, decides.confidence) == (0.95, 0.9)
    assert check_row(seen) == "fine"


def test_pairs_of_equal_length_show_merit_where_the_longer_text_wins_all_others() -> None:
    longer = "=" * 90 + "u" * 10
    assert check_row(natural([RIGHT] * 100, longer)) == "fine"
    beside = beside_length([RIGHT] * 80 + [WRONG] * 10 + [RIGHT] * 10, longer)
    assert (beside.value, beside.n_calls) == (pytest.approx(80 / 90), 180)


def test_a_refuted_merit_asks_for_the_calls_that_refute_it() -> None:
    """A count of words on 80 pairs, 72 won by the longer text: ½ whatever the length, and not sure yet."""
    longest = natural([RIGHT] * 72 + [WRONG] * 8, "u" * 72 + "v" * 8)
    found = merit_estimates("j", Observations.of(longest), {}, 7)[0]
    assert found.status == "inconclusive"
    assert found.calls_needed is not None
    assert found.calls_needed > found.n_calls


def test_the_gate_prints_the_test_that_decided_and_takes_merit_of_the_prompt_base_alone(
    steelyard: Steelyard, tmp_path: Path
) -> None:
    """Steps one right and larger ones by slot; then the same calls, all under another prompt."""
    lines = [
        {
            "judge": "j",
            "probe": "ladder",
            "protocol": protocol,
            "task": f"t{n}",
            "pair": f"t{n}",
            "delta": delta,
        }
        | {"kind": "prefix", "better": "u", "first": first, "answer": answer, "replicate": 0}
        for protocol in ("base", "strict")
        for n in range(60)
        for delta in (1 + n % 5,)
        for first in ("u", "v")
        for answer in ("1" if first == "u" or (delta > 2 and protocol == "base") else "2",)
    ]
    for name, protocols, code in (("both", ("base", "strict"), 3), ("strict", ("strict",), 4)):
        kept = [json.dumps(each) for each in lines if each["protocol"] in protocols]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(kept), encoding="utf-8")
        assert steelyard("import", tmp_path / f"{name}.jsonl", "--out", tmp_path / name).returncode == 0
        done = steelyard("gate", tmp_path / name, "--policy", "smoke", "--json")
        assert done.returncode == code
        merit = [each for each in json.loads(done.stdout)["checks"] if each["metric"] == "merit"]
        if name == "both":
            assert [each["figure"] for each in merit] == ["Quality ladder, base · steps 3 and more"]
            assert merit[0]["high"] < 0.75
        else:
            assert [each["result"] for each in merit] == ["INCONCLUSIVE"]


def test_recorded_pairs_without_texts_do_not_clear_a_judge_of_counting_words(
    steelyard: Steelyard, tmp_path: Path
) -> None:
    lines = [
        {"judge": "j", "probe": "position", "protocol": "base", "task": f"t{n}", "pair": f"t{n}"}
        | {"kind": "natural", "better": "u", "first": first, "answer": "1" if first == "u" else "2"}
        for n in range(200)
        for first in ("u", "v")
    ]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    done = steelyard("import", tmp_path / "pairs.jsonl", "--out", tmp_path / "run")
    (verdict,) = json.loads((tmp_path / "run" / "datasheet.json").read_text(encoding="utf-8"))["verdicts"]
    assert (verdict["verdict"], verdict["remedy"]) == ("no_fault_found", Advice.STILL_OPEN.value)
    assert verdict["remedy"] in done.stdout
    sheet = (tmp_path / "run" / "datasheet.md").read_text(encoding="utf-8")
    assert "hese data cannot show whether it goes by length" in sheet
