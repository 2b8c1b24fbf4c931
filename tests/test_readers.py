from __future__ import annotations

import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steelyard.core.registry import Spec
from steelyard.errors import ConfigError, UnknownNameError
from steelyard.tasks.task import Binary, Ordinal, Pairwise, Scale
from steelyard.trials.judge import Reply
from steelyard.verdicts import verdict as reasons
from steelyard.verdicts.readers import READERS
from steelyard.verdicts.verdict import REASONS, Abstained, Decided, Tie, Unreadable, Verdict, find_answers

PAIR, PAIR_NO_TIE, BINARY, FIVE, TEN = (
    Pairwise(),
    Pairwise(tie=False),
    Binary(),
    Ordinal(1, 5),
    Ordinal(1, 10),
)
OFF, NONE, TWO = Unreadable(reasons.OFF_SCALE), Unreadable(reasons.NO_ANSWER), Unreadable(reasons.AMBIGUOUS)
UNLIKELY = Unreadable(reasons.IMPROBABLE)
CUT, REFUSED = Unreadable(reasons.TRUNCATED), Unreadable(reasons.REFUSAL)


def read(name: str, text: str, scale: Scale = PAIR, finish: str = "stop", **args: object) -> Verdict:
    return READERS.build(Spec(name, args))(Reply(text, finish=finish), scale)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ('{"winner": "1"}', Decided("1")),
        ('  {"winner": "2"}\n', Decided("2")),
        ('{"winner": 2}', Decided("2")),
        ('{"winner": "tie"}', Tie()),
        ('{"winner": " TIE "}', Tie()),
        ('{"reason": "It covers more.", "winner": "1"}', Decided("1")),
        ('{"reason": null, "winner": "1"}', Decided("1")),
        ('{"reason": "a { brace and {\\"winner\\": \\"2\\"} quoted", "winner": "1"}', Decided("1")),
        ('```json\n{"winner": "1"}\n```', Decided("1")),
        ('```\n{"winner": "1"}\n```', Decided("1")),
        ('I prefer the first. {"winner": "1"} That is all.', Decided("1")),
        ('Given {x} and f() { return; } I say {"winner": "1"}', Decided("1")),
        ('It opens a brace { and never closes it. {"winner": "1"}', Decided("1")),
        ('{"winner": "1"} or again {"winner": 1}', Decided("1")),
        ('{"winner": "1", "winner": "1"}', Decided("1")),
        ('{"note": "no key"} {"winner": "1"}', Decided("1")),
        ('[{"winner": "1"}]', Decided("1")),
        ('<think>{"winner": "2"}? No.</think>\n{"winner": "1"}', Decided("1")),
        ('{"winner": "abstain"}', Abstained()),
        ('{"winner": null}', OFF),
        ('{"winner": null} {"winner": "1"}', TWO),
        ('{"winner": "1"} {"winner": "2"}', TWO),
        ('{"winner": "1"} {"winner": "tie"}', TWO),
        ('{"winner": "1"} {"winner": "banana"}', TWO),
        ('{"winner": "1", "winner": "2"}', TWO),
        ('{"winner": true}', OFF),
        ('{"winner": false}', OFF),
        ('{"winner": 1.0}', OFF),
        ('{"winner": "3"}', OFF),
        ('{"winner": "0"}', OFF),
        ('{"winner": "candidate 1"}', OFF),
        ('{"winner": ["1"]}', OFF),
        ('{"winner": {"winner": "1"}}', OFF),
        ('{"winner": NaN}', OFF),
        ('{"winner": -Infinity}', OFF),
        ('{"winner": "\\ud800"}', OFF),
        ('{"winner": "\u0661"}', OFF),
        ("1", NONE),
        ("The first is better.", NONE),
        ('{"score": 1}', NONE),
        ('{"Winner": "1"}', NONE),
        ("{'winner': '1'}", NONE),
        ('{"winner": "1"', NONE),
        ('{"winner": "1", "other": {"winner": "2"}', NONE),
        ('{"reason": "it says {"winner": "2"}", "winner": "1"}', NONE),
        ('{reason: it says {"winner": "2"}, winner: 1}', NONE),
        ("{" * 100_000, NONE),
        ("{" * 100_000 + '"winner"', NONE),
        ('{"a":' * 20_000 + '{"winner": 1}' + "}" * 20_000, NONE),
        ('{"winner": ' + "9" * 5_000 + "}", NONE),
        ("x" * 100_000 + '{"winner": "1"}', Decided("1")),
        ("", Unreadable(reasons.EMPTY)),
        (" \n\t", Unreadable(reasons.EMPTY)),
        ("<think>never finished", Unreadable(reasons.EMPTY)),
    ],
    ids=lambda value: repr(value)[:50],
)
def test_json(text: str, verdict: Verdict) -> None:
    assert read("json", text) == verdict


@pytest.mark.parametrize(
    ("text", "scale", "verdict"),
    [
        ('{"score": 3}', FIVE, Decided("3")),
        ('{"score": "5"}', FIVE, Decided("5")),
        ('{"score": 10}', TEN, Decided("10")),
        ('{"score": 1}', BINARY, Decided("1")),
        ('{"score": 0}', BINARY, Decided("0")),
        ('{"score": 6}', FIVE, OFF),
        ('{"score": 0}', FIVE, OFF),
        ('{"score": 3.5}', FIVE, OFF),
        ('{"score": true}', BINARY, Decided("1")),
        ('{"reason": "it is", "score": True}', BINARY, Decided("1")),
        ('{"score": False, "reason": "no"}', BINARY, Decided("0")),
        ('{"score": True}', FIVE, NONE),
        ('{"score": Maybe}', BINARY, NONE),
        ('{"score": false}', BINARY, Decided("0")),
        ('{"score": "True"}', BINARY, Decided("1")),
        ('{"score": "N"}', BINARY, Decided("0")),
        ('{"score": " Yes "}', BINARY, Decided("1")),
        ('{"score": "fail"}', BINARY, Decided("0")),
        ('{"score": "maybe"}', BINARY, OFF),
        ('{"score": 1.0}', BINARY, Decided("1")),
        ('{"score": "0.0"}', BINARY, Decided("0")),
        ('{"score": 0.5}', BINARY, OFF),
        ('{"score": true} {"score": 1}', BINARY, Decided("1")),
        ('{"score": true} {"score": "no"}', BINARY, Unreadable("ambiguous")),
        ('{"score": 3.0}', FIVE, Decided("3")),
        ('{"score": 10.0}', TEN, Decided("10")),
        ('{"score": true}', FIVE, OFF),
        ('{"score": true}', TEN, OFF),
        ('{"score": "yes"}', FIVE, OFF),
        ('{"score": "tie"}', FIVE, OFF),
        ('{"score": null}', FIVE, OFF),
        ('{"score": "abstain"}', FIVE, Abstained()),
        ('{"winner": 3}', FIVE, NONE),
        ('{"winner": "tie"}', PAIR_NO_TIE, OFF),
    ],
)
def test_json_keeps_to_the_scale(text: str, scale: Scale, verdict: Verdict) -> None:
    assert read("json", text, scale) == verdict


@pytest.mark.parametrize(
    ("text", "finish", "verdict"),
    [
        ('{"reason": "the first one', "length", CUT),
        ("", "length", CUT),
        ("<think>and so", "length", CUT),
        ('{"winner": "1"} and further', "length", Decided("1")),
        ("I cannot help with that.", "refusal", REFUSED),
        ('{"winner": "1"}', "refusal", REFUSED),
        ("", "filter", REFUSED),
    ],
)
def test_finish_is_heeded(text: str, finish: str, verdict: Verdict) -> None:
    assert read("json", text, finish=finish) == verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("1", Decided("1")),
        (" 2\n", Decided("2")),
        ('"1"', Decided("1")),
        ("'tie'", Tie()),
        ("“Tie.”", Tie()),
        ("TIE.", Tie()),
        ("`2`.", Decided("2")),
        ("abstain", Abstained()),
        ("1 2", OFF),
        ("Candidate 1", OFF),
        ("1, because it covers more", OFF),
        ("…", OFF),
        ("", Unreadable(reasons.EMPTY)),
        ("x" * 100_000, OFF),
    ],
)
def test_choice(text: str, verdict: Verdict) -> None:
    assert read("choice", text) == verdict


def test_a_cut_choice_that_might_have_gone_on_is_truncated() -> None:
    assert read("choice", "1", TEN, "length") == CUT
    assert read("choice", "2", TEN, "length") == Decided("2")
    assert read("choice", "1", TEN) == Decided("1")
    assert read("choice", "1", PAIR, "length") == Decided("1")
    assert read("regex", "score 1", TEN, "length", pattern=r"score (\d+)") == CUT


@pytest.mark.parametrize(
    ("text", "finish", "verdict"),
    [
        ("True.", "stop", Decided("1")),
        ("no", "stop", Decided("0")),
        ("`Y`", "stop", Decided("1")),
        ("FAIL", "stop", Decided("0")),
        ("Yes, it is", "stop", OFF),
        ("Yes", "length", Decided("1")),
        ("No", "length", CUT),
        ("N", "length", CUT),
    ],
)
def test_words_for_yes_and_no_on_a_binary_scale(text: str, finish: str, verdict: Verdict) -> None:
    assert read("choice", text, BINARY, finish) == verdict
    assert read("choice", text, FIVE, "stop") == OFF
    pattern = r"(?s)^(.+)$" if verdict == OFF else r"(\w+)"
    assert read("regex", text, BINARY, finish, pattern=pattern) == verdict


def test_logprobs_of_words_on_a_binary_scale() -> None:
    reader = READERS.build(Spec("logprob"))
    found = {"Y": -1.4, "N": -0.8, "y": -3.0, " No": -2.5}
    assert reader(Reply("N", logprobs=found), BINARY) == Decided("0")
    assert reader(Reply("N", logprobs=found), FIVE) == OFF


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("So [[1]] it is", Decided("1")),
        ("[[1]] then [[1]]", Decided("1")),
        ("[[1]] or [[2]]", TWO),
        ("[[Tie]]", Tie()),
        ("[[C]]", OFF),
        ("nothing", NONE),
    ],
)
def test_regex(text: str, verdict: Verdict) -> None:
    assert read("regex", text, pattern=r"\[\[(\w+)\]\]") == verdict


def test_regex_group_that_takes_no_part_is_no_answer() -> None:
    assert read("regex", "b", pattern="(a)|b") == NONE


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("(", "not a regular expression"),
        ("(a){99999999999}", "not a regular expression"),
        ("(" * 5000 + ")" * 5000, "not a regular expression"),
        ("a", "0 groups"),
        ("(a)(b)", "2 groups"),
    ],
)
def test_regex_refuses_a_bad_pattern(pattern: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        READERS.build(Spec("regex", {"pattern": pattern}))


@pytest.mark.parametrize(
    ("logprobs", "verdict"),
    [
        ({"1": -0.5, "2": -1.0, "tie": -3.0}, Decided("1")),
        ({" 2": -0.5, "1": -1.0}, Decided("2")),
        ({"Tie": -0.1, "1": -1.0}, Tie()),
        ({"1": -math.inf, "2": -0.1}, Decided("2")),
        ({"1": math.nan, "2": -0.1}, Decided("2")),
        ({"1": 1e300, "2": -0.1}, Decided("1")),
        ({"The": -0.1, "1": -5.0, "2": -6.0}, UNLIKELY),
        ({"1": -40.0, "2": -math.inf}, UNLIKELY),
        ({"The": math.log(0.5), "1": math.log(0.3), "2": math.log(0.2)}, Decided("1")),
        ({"The": math.log(0.5), "1": math.log(0.3), "2": math.log(0.19)}, UNLIKELY),
        ({"The": math.log(0.4), "1": math.log(0.25), " 1": math.log(0.26)}, Decided("1")),
        ({"1": math.log(0.3), " 1": math.log(0.2), "2": math.log(0.4)}, Decided("1")),
        ({"1": -0.7, "2": -0.7}, TWO),
        ({"The": -0.1}, OFF),
        ({}, Unreadable(reasons.NO_LOGPROBS)),
        (None, Unreadable(reasons.NO_LOGPROBS)),
    ],
)
def test_logprob(logprobs: dict[str, float] | None, verdict: Verdict) -> None:
    reader = READERS.build(Spec("logprob"))
    assert reader(Reply("whatever", logprobs=logprobs, finish="length"), PAIR) == verdict


def test_logprob_of_a_refusal_is_a_refusal() -> None:
    assert READERS.build(Spec("logprob"))(Reply("", {"1": -0.1}, finish="refusal"), PAIR) == REFUSED


@pytest.mark.parametrize(
    ("scores", "margin", "verdict"),
    [
        ((-10.0, -12.0), 0.0, Decided("1")),
        ((-12.0, -10.0), 0.0, Decided("2")),
        ((-10.0, -10.0), 0.0, Tie()),
        ((-10.0, -11.9), 2.0, Tie()),
        ((-10.0, -12.0), 2.0, Decided("1")),
        ((-math.inf, -math.inf), 1.0, Tie()),
        ((-math.inf, -10.0), 1.0, Decided("2")),
        ((math.nan, -10.0), 0.0, Unreadable(reasons.NO_SCORES)),
        ((-10.0,), 0.0, Unreadable(reasons.NO_SCORES)),
        (None, 0.0, Unreadable(reasons.NO_SCORES)),
    ],
)
def test_likelihood(scores: tuple[float, ...] | None, margin: float, verdict: Verdict) -> None:
    reader = READERS.build(Spec("likelihood", {"margin": margin}))
    assert reader(Reply("", scores=scores), PAIR) == verdict


@pytest.mark.parametrize("margin", [-1, math.nan, "2", True])
def test_likelihood_refuses_a_bad_margin(margin: object) -> None:
    with pytest.raises(ConfigError, match="expected a number of at least 0"):
        READERS.build(Spec("likelihood", {"margin": margin}))


def test_an_unknown_reader_is_named() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'json'"):
        READERS.build(Spec("jsn"))


hostile_text = st.one_of(
    st.text(),
    st.text('{}[]":,winertscoe 12\\n`', max_size=80),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda v: st.dictionaries(st.text(), v)
    ).map(lambda value: json.dumps({"winner": value})),
)


@given(
    text=hostile_text,
    scale=st.sampled_from([PAIR, PAIR_NO_TIE, BINARY, FIVE]),
    finish=st.sampled_from(["stop", "length", "refusal", "filter"]),
    spec=st.sampled_from(
        [Spec("json"), Spec("choice"), Spec("regex", {"pattern": r"(\w+)"}), Spec("logprob")]
    ),
)
@example("{" * 100_000, PAIR, "stop", Spec("json"))
def test_a_reader_never_raises_and_keeps_to_its_vocabulary(
    text: str, scale: Scale, finish: str, spec: Spec
) -> None:
    verdict = READERS.build(spec)(Reply(text, finish=finish), scale)
    if isinstance(verdict, Unreadable):
        assert verdict.reason in REASONS
    elif isinstance(verdict, Decided):
        assert verdict.value in scale.answers
    else:
        assert isinstance(verdict, Abstained) or "tie" in scale.answers


@given(
    st.text().filter(lambda text: "{" not in text),
    st.sampled_from(["1", "2", "tie"]),
    st.text(),
    st.booleans(),
)
def test_an_answer_in_prose_is_found(prose: str, winner: str, reason: str, after: bool) -> None:
    answer = json.dumps({"reason": reason, "winner": winner})
    text = answer + "\n" + prose if after else "So: " + prose.replace("}", "") + "\n" + answer
    assert read("json", text) == (Tie() if winner == "tie" else Decided(winner))


def test_a_reason_of_several_lines_hides_no_answer() -> None:
    assert find_answers('{"reason": "first\nsecond\tthird", "winner": "1"}', "winner") == ["1"]
