"""A judge's own words for the answers: what is read as what, and what is never guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.registry import Spec
from steelyard.errors import ConfigError
from steelyard.study.judge_config import parse_judge
from steelyard.tasks.task import Binary, Ordinal, Pairwise, Scale
from steelyard.trials.builtin_prompts import response_format
from steelyard.trials.judge import Judge, Reply
from steelyard.verdicts.advice import advice, quote_reply, verdict_words
from steelyard.verdicts.readers import READERS
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable, Verdict, strip_wrapping

BINARY, FIVE, PAIR = Binary(), Ordinal(1, 5), Pairwise()
OFF = Unreadable("not on the scale")
YES, NO = Decided("1"), Decided("0")
GRADES = {"pass": "1", "fail": "0"}
LETTERS = {"A": "1", "B": "2", "C": "tie"}


def read(text: str, scale: Scale, reader: str = "choice", finish: str = "stop", **args: Any) -> Verdict:
    return READERS.build(Spec(reader, args))(Reply(text, finish=finish), scale)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("**PASS**", YES),
        ("Score: 1", YES),
        ("**Score:** 0", NO),
        ("Final answer: **FAIL**.", NO),
        ("Verdict = yes", YES),
        ("The score: 1.0", YES),
        ("[[0]]", NO),
        ("(Y)", YES),
        ("`false`", NO),
        ("not pass", OFF),
        ("Score: not 1", OFF),
        ("no pass", OFF),
        ("not a fail", OFF),
        ("PASS/FAIL", OFF),
        ("pass or fail", OFF),
        ("1 of 2", OFF),
        ("1/1", OFF),
        ("-1", OFF),
        ("Score:", OFF),
        ("Scored 1", OFF),
        ("unpass", OFF),
        ("yes?", OFF),
        ("1, not 0", OFF),
    ],
)
def test_what_stands_around_an_answer_is_left_out_and_nothing_is_guessed(text: str, verdict: Verdict) -> None:
    assert read(text, BINARY) == verdict


@pytest.mark.parametrize("word", ["pass", "true", "yes", "1", "Y"])
@pytest.mark.parametrize(
    "negated", ["not {}", "{} not", "isn't {}", "no {}", "non-{}", "never {}", "{}, or no"]
)
def test_a_negated_word_is_unreadable_under_every_reader(word: str, negated: str) -> None:
    said = negated.format(word)
    assert read(said, BINARY) == OFF
    assert read(f'{{"score": "{said}"}}', BINARY, "json") == OFF
    assert read(f"So: {said}", BINARY, "regex", pattern=r"So: (.+)") == OFF
    assert read(said, BINARY, answers=GRADES) == OFF


@pytest.mark.parametrize(
    ("text", "answers", "scale", "verdict"),
    [
        ("Pass", GRADES, BINARY, YES),
        ("**fail**", GRADES, BINARY, NO),
        ("1", GRADES, BINARY, YES),
        ("yes", GRADES, BINARY, OFF),
        ("yes", {"yes": "0", "no": "1"}, BINARY, NO),
        ("Y", {"yes": "0", "no": "1"}, BINARY, OFF),
        ("5", {"1": "0", "5": "1"}, BINARY, YES),
        ("0", {"1": "0", "5": "1"}, BINARY, OFF),
        ("not harmful", {"harmful": "1", "not harmful": "0"}, BINARY, NO),
        ("Unsure", {"good": "1", "bad": "0", "unsure": "abstain"}, BINARY, Abstained()),
        ("abstain", GRADES, BINARY, Abstained()),
        ("[[A]]", LETTERS, PAIR, Decided("1")),
        ("c", LETTERS, PAIR, Tie()),
        ("C", LETTERS, Pairwise(tie=False), OFF),
        ("tie", LETTERS, PAIR, Tie()),
        ("excellent", {"poor": "1", "excellent": "5"}, FIVE, Decided("5")),
        ("3.0", {"poor": "1", "excellent": "5"}, FIVE, Decided("3")),
    ],
)
def test_a_map_says_what_words_mean(
    text: str, answers: dict[str, str], scale: Scale, verdict: Verdict
) -> None:
    assert read(text, scale, answers=answers) == verdict
    assert read(f'{{"verdict": "{text}"}}', scale, "json", key="verdict", answers=answers) == verdict


def test_a_cut_word_that_another_begins_with_is_truncated() -> None:
    words = {"pass": "1", "pass with faults": "0"}
    assert read("pass", BINARY, finish="length", answers=words) == Unreadable("truncated")
    assert read("pass", BINARY, answers=words) == YES


def test_log_probabilities_are_read_by_the_map() -> None:
    reader = READERS.build(Spec("logprob", {"answers": LETTERS}))
    assert reader(Reply("B", logprobs={"A": -2.0, " B": -0.2, "The": -0.1}), PAIR) == Decided("2")


def test_a_token_that_begins_another_answer_is_no_answer() -> None:
    """A tokenizer that splits digits has no token for 10: its 1 is either."""
    reader, ten = READERS.build(Spec("logprob")), Ordinal(1, 10)
    assert reader(Reply("1", logprobs={"1": -0.1, "9": -3.0}), ten) == Unreadable("ambiguous")
    assert reader(Reply("1", logprobs={"1": -0.1, "10": -3.0}), ten) == Decided("1")
    assert reader(Reply("10", logprobs={"1": -3.0, " 10": -0.1}), ten) == Decided("10")
    assert reader(Reply("9", logprobs={"1": -3.0, "9": -0.1}), ten) == Decided("9")


@pytest.mark.slow
@pytest.mark.parametrize("text", ["\n" * 4_000_000, "score: " + ". " * 2_000_000 + "x", "[[" * 2_000_000])
def test_a_reply_gone_wild_is_weighed_in_passing(text: str) -> None:
    assert len(advice(Spec("json"), PAIR, [Reply(text)] * 8)) < 600


@given(st.text(max_size=40))
def test_peeling_an_answer_ends_and_adds_nothing(text: str) -> None:
    inner = strip_wrapping(text)
    assert inner in text
    assert strip_wrapping(inner) == strip_wrapping(strip_wrapping(inner))


def judge(text: str, scale: Scale = BINARY) -> Judge:
    return parse_judge(yaml.safe_load(text) if "{" in text else text, Path(), scale)


PROMPT = "prompt: '{{ response }} pass or fail?'"


@pytest.mark.parametrize(
    "text",
    [
        f'{{model: openai/x, {PROMPT}, reader: choice, answers: {{pass: "1", fail: "0"}}}}',
        f"{{model: openai/x, {PROMPT}, reader: choice, answers: {{PASS: 1, Fail: 0}}}}",
        f"{{model: openai/x, {PROMPT}, reader: choice, answers: {{pass: true, fail: false}}}}",
        f"{{model: openai/x, {PROMPT}, reader: choice, answers: 'pass=1, fail=0'}}",
        f"{{model: 'openai/x?reader=choice&answers=pass=1,fail=0', {PROMPT}}}",
    ],
)
def test_a_map_is_written_in_a_study_file_or_after_the_model(text: str) -> None:
    assert judge(text).protocols["base"].reader == Spec("choice", {"answers": GRADES})


def test_a_truth_value_of_yaml_stands_for_every_word_it_may_have_been() -> None:
    answers = judge("{model: openai/x, answers: {yes: 0, no: 1}}").protocols["base"].reader.args["answers"]
    assert (answers["yes"], answers["true"], answers["no"], answers["false"]) == ("0", "0", "1", "1")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "{model: openai/x, answers: {pass: 2}}",
            "answers: 'pass' stands for 2, expected an answer of the scale",
        ),
        ("{model: openai/x, answers: {}}", "found an empty map"),
        ("{model: openai/x, answers: [1]}", "expected a map from the judge's words"),
        ("{model: openai/x, answers: pass}", "found 'pass', expected WORD=ANSWER, separated by commas"),
        ("{model: openai/x, answers: {Pass: 1, pass: 0}}", "'pass' stands for 1 and for 0, expected one"),
        ("{model: planted/rater, answers: {pass: 1}}", "changes nothing in a judge that is not prompted"),
    ],
)
def test_a_wrong_map_is_one_sentence(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as error:
        judge(text)
    assert complaint in str(error.value)


def test_a_protocol_keeps_the_map_of_its_judge_unless_it_has_its_own() -> None:
    made = judge(
        "{model: openai/x, prompt: '{{ first }}{{ second }}', reader: choice, answers: {A: 1, B: 2},"
        " protocols: {plain: {reader: logprob}, other: {answers: {X: 1, Y: 2}}}}",
        PAIR,
    )
    assert made.protocols["plain"].reader == Spec("logprob", {"answers": {"a": "1", "b": "2"}})
    assert made.protocols["other"].reader == Spec("choice", {"answers": {"x": "1", "y": "2"}})


@pytest.mark.parametrize("scale", [PAIR, FIVE], ids=["pairs", "scores"])
@pytest.mark.parametrize("reader", ["choice", "logprob"])
def test_built_in_prompts_ask_for_the_answer_alone(reader: str, scale: Scale) -> None:
    plain, asked = judge("openai/x", scale), judge(f"openai/x?reader={reader}", scale)
    assert list(asked.protocols) == list(plain.protocols)
    for name, protocol in asked.protocols.items():
        assert protocol.system == plain.protocols[name].system
        assert "JSON" not in protocol.user
        assert "alone, without any other word or sign" in protocol.user
        assert "JSON" in plain.protocols[name].user
    again = judge("{model: openai/x, reader: choice, protocols: {object: {reader: json}}}", scale)
    assert again.protocols["object"] == plain.protocols["base"]


def test_a_prompt_of_ones_own_is_never_changed() -> None:
    own = "Reply with one JSON object. {{ first }} {{ second }} Reply with the JSON object only."
    made = parse_judge({"model": "openai/x", "prompt": own, "reader": "choice"}, Path(), PAIR)
    assert made.protocols["base"].user == own


def test_the_default_judge_is_the_one_it_was() -> None:
    """Fingerprints stand in every run folder."""
    pairs, scores = judge("openai/x", PAIR), judge("openai/x", FIVE)
    assert pairs.fingerprint("base") == PAIR_FINGERPRINT
    assert scores.fingerprint("base") == SCORE_FINGERPRINT


PAIR_FINGERPRINT = "sha256:3db9a3642cbf0bb863eea6327a43c6f9c6c1ab5ddc5f7d9e06dcdb7f8821406c"
SCORE_FINGERPRINT = "sha256:9b65b1d8de9fbe4390598e1b797ba33e1fb06ddd5825b188c06c6894de7cf51e"


def test_a_server_gets_a_schema_for_the_usual_answers_only() -> None:
    assert response_format(Spec("json")).wants == "json"
    assert response_format(Spec("json", {"key": "verdict"})).wants == "text"
    assert response_format(Spec("json", {"answers": LETTERS})).wants == "text"
    assert response_format(Spec("logprob", {"answers": LETTERS})).wants == "logprobs"
    assert response_format(Spec("regex", {"pattern": "(1)"})).wants == "text"


@pytest.mark.parametrize(
    ("reader", "scale", "text", "cure"),
    [
        (Spec("json"), PAIR, "1", "try reader: choice, which reads 8 of 8"),
        (Spec("choice"), PAIR, '{"winner": "2"}', "try reader: json, which reads 8 of 8"),
        (Spec("json"), BINARY, '{"rating": "pass"}', "try reader: {json: rating}, which reads 8 of 8"),
        (Spec("json"), PAIR, "B", 'try reader: choice and answers: {A: "1", B: "2"}, which reads 8 of 8'),
        (Spec("json"), PAIR, '{"winner": "C"}', 'try answers: {C: "tie"}, which reads 8 of 8'),
        (
            Spec("json"),
            PAIR,
            "Both are fine.\n[[2]]",
            r"try reader: {regex: '\[\[(.{1,40}?)\]\]'}, which reads 8 of 8",
        ),
        (Spec("json"), FIVE, "Clear and right.\n\nRating: 4", "try reader: {regex: "),
        (Spec("json"), BINARY, "unsafe", "reader: choice and answers: {unsafe: …}, each 1 or 0"),
        (
            Spec("json"),
            BINARY,
            "I cannot judge this.",
            "it does not judge: change the prompt; if that is as it should be, add answers: "
            "{I cannot judge this: abstain}",
        ),
        (Spec("logprob"), PAIR, "The first is better because", "the server sends no log-probabilities"),
        (Spec("json"), PAIR, "", "nothing was written: raise max_tokens"),
        (
            Spec("json"),
            PAIR,
            "I would rather not say which of these is the better of the two.",
            "correct the prompt",
        ),
    ],
)
def test_what_to_try_is_found_by_reading_in_other_ways(
    reader: Spec, scale: Scale, text: str, cure: str
) -> None:
    said = advice(reader, scale, [Reply(text)] * 8)
    assert cure in said
    assert said.startswith("replied '")
    assert f"reader {reader.name} wants " in said


def test_a_cut_reply_asks_for_more_tokens() -> None:
    assert "raise max_tokens" in advice(Spec("json"), PAIR, [Reply('{"reason": "the', finish="length")] * 8)


def test_a_reply_is_shown_on_one_line_and_cut() -> None:
    assert quote_reply("a\n\x1b[31mb") == "'a\\n\\x1b[31mb'"
    assert len(quote_reply("x" * 100_000)) < 250


def test_verdicts_in_words() -> None:
    verdicts = (Decided("1"), Tie(), Abstained(), Unreadable("empty"), Failed("timeout"))
    assert [verdict_words(verdict) for verdict in verdicts] == [
        "1",
        "tie",
        "abstention",
        "unreadable (empty)",
        "failed (timeout)",
    ]
