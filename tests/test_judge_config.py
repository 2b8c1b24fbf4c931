from __future__ import annotations

import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.content_hash import canonical_json
from steelyard.core.registry import Spec
from steelyard.errors import ConfigError, UsageError
from steelyard.providers.planted.decision_model import Parameters
from steelyard.providers.planted.planted_judges import STRICT_STEP
from steelyard.runner.limits import timeout_for
from steelyard.study.composite_judges import DEEPEST
from steelyard.study.judge_config import parse_judge
from steelyard.study.planner import make_plan
from steelyard.study.study_file import StudyConfig, build_study
from steelyard.tasks.task import Pairwise
from steelyard.trials.judge import Judge

LIKELIHOOD = "embedded/smollm2-135m-likelihood"
RECURSIVE = "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}{{ first }}"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def parse(given: str | dict[str, Any]) -> Judge:
    return parse_judge(given, Path(), Pairwise())


def nested(levels: int) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for _ in range(levels):
        body = {"a": body}
    return body


def complaint_of(given: str | dict[str, Any]) -> str:
    with pytest.raises(UsageError, match=r"^judge .+\.$") as caught:
        parse(given)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 600
    return message


# What is refused, in one sentence


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "{model: openai/x, temperature: .nan}",
            "temperature: found nan, expected a finite number; correct it",
        ),
        ("{model: openai/x, timeout: .inf}", "timeout: found inf, expected a finite number"),
        (
            "{model: openai/x, max_tokens: 1000000000000}",
            "max_tokens: found 1000000000000, expected a number up to 1000000000",
        ),
        (
            "{model: openai/x, seed: 0x" + "f" * 5000 + "}",
            "found something of type int, expected a number below",
        ),
        (
            "{model: openai/x, extra: {a: .inf}}",
            "extra: found {'a': inf}, expected values that JSON can hold",
        ),
        ("{model: openai/x, extra: {a: 2024-01-01}}", "quote dates"),
        ("{model: openai/x, extra: {a: {1: 2}}}", "mappings with text keys"),
        ("{model: openai/x, extra: {a: !!set {b}}}", "expected values that JSON can hold"),
        ("{model: openai/x, extra: {a: !!binary aGk=}}", "expected values that JSON can hold"),
        ("{model: openai/x, extra: &loop {a: *loop}}", "nested more than 20 levels deep"),
        (
            "{model: openai/x, prompt: 5}",
            "prompt: found 5, expected a template, its file, or a list of messages",
        ),
        (
            "{model: openai/x, reader: [1]}",
            "reader: found [1], expected choice, json, logprob, {json: key} or {regex: pattern}",
        ),
        ("{model: openai/x, reader: {regex: 5}}", "reader.regex: found 5, expected text"),
        ("{model: openai/x, reader: {regex: '(a){99999999999}'}}", "is not a regular expression"),
        (
            "{model: openai/x, protocols: {strict: {prompt: 5}}}",
            "protocols.strict.prompt: found 5, expected a template, its file, or a list of messages",
        ),
        (
            "{model: openai/x, protocols: {strict: {reader: [1]}}}",
            "protocols.strict.reader: found [1], expected choice",
        ),
        (
            "{model: openai/x, protocols: {strict: 5}}",
            "protocols.strict: found 5, expected text or a mapping",
        ),
        (
            "{model: openai/x, protocols: {strict: {colour: 5}}}",
            "unknown key 'protocols.strict.colour'; known",
        ),
        ('{model: openai/x, protocols: {"a\\e": "{{ first }}"}}', "expected no control characters"),
        ("{model: openai/x, protocols: {strict: {margin: 1}}}", "strict: key 'margin' belongs to likelihood"),
        ("{model: openai/x-likelihood, margin: 1}", "key 'margin' belongs to likelihood judges only"),
        (
            "{model: openai/x, protocols: {strict: {tau: 1}}}",
            "strict: key 'tau' belongs to planted/probit only",
        ),
        (
            "{model: planted/coin, protocols: {strict: {s: 1}}}",
            "strict: key 's' belongs to planted/probit only",
        ),
        (
            "{model: planted/probit, protocols: {strict: {margin: 1}}}",
            "'margin' belongs to likelihood judges",
        ),
        (
            "{model: planted/probit, protocols: {strict: {tau: abc}}}",
            "protocols.strict.tau: found 'abc', expected a number",
        ),
        (
            "{model: planted/probit, protocols: {strict: {tau: .nan}}}",
            "strict.tau: found nan, expected a finite",
        ),
        ("{model: planted/probit, s: .inf}", "s: found inf, expected a finite number"),
        (f"{{model: {LIKELIHOOD}, margin: abc}}", "margin: found 'abc', expected a number"),
        (f"{{model: {LIKELIHOOD}, margin: -1}}", "margin: found -1, expected a number from 0"),
        (
            f"{{model: {LIKELIHOOD}, protocols: {{strict: {{margin: abc}}}}}}",
            "protocols.strict.margin: found 'abc', expected a number",
        ),
        (f"{{model: {LIKELIHOOD}, protocols: {{strict: {{tau: 1}}}}}}", "belongs to planted/probit only"),
        ("{model: openai/x, prompt: '{{ first|nosuch }}'}", "No filter named 'nosuch'"),
        ("{model: openai/x, prompt: '{{ first }} only'}", "the prompt does not show the judge {{ second }}"),
        ("{model: openai/x, protocols: {strict: '{{ first|nosuch }}'}}", "No filter named 'nosuch'"),
        ("{model: openai/x, prompt: '{{ first ~ " + "(" * 5000 + "'}", "nested too deeply"),
        ('{model: "openai/a\\e[31m"}', ", expected no control characters; correct it"),
        ('{model: "openai/a\\nb"}', ", expected no control characters; correct it"),
        ('{model: "openai/a\\x9b"}', ", expected no control characters; correct it"),
        ('{model: openai/x, name: "a\\tb"}', ", expected no control characters; correct it"),
        ('{model: openai/x, name: "  "}', ", expected a name with letters or digits; correct it"),
        ("{model: openai/x, name: " + "n" * 81 + "}", "expected at most 80 characters"),
        ("{model: openai/x, name: 2024-01-01}", "name: found datetime.date(2024, 1, 1), expected text"),
        ("{name: nameless}", "no key 'model' found, expected provider/model such as openai/gpt-4o; add it"),
    ],
    ids=lambda text: text[:70],
)
def test_a_wrong_mapping_is_one_sentence(text: str, complaint: str) -> None:
    assert complaint in complaint_of(yaml.safe_load(text))


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999", "9" * 5000, "abc"])
def test_a_query_takes_finite_numbers_only(value: str) -> None:
    assert "s: found " in complaint_of(f"planted/probit?s={value}")


def test_a_model_with_bytes_that_are_no_text_is_refused() -> None:
    assert "model: " in complaint_of("openai/\udcff")


@pytest.mark.slow
@pytest.mark.parametrize("levels", [DEEPEST, 300, 100_000])
def test_deep_nesting_is_refused_wherever_it_stands(levels: int) -> None:
    for key in ("extra", "protocols", "reader", "name", "model"):
        assert "nested more than 20 levels" in complaint_of({"model": "openai/x", key: nested(levels)})


def test_a_template_without_end_is_refused_before_any_call() -> None:
    config = StudyConfig(judges=[{"model": "openai/x", "prompt": RECURSIVE + "{{ first }}{{ second }}"}])
    study = build_study(config, Path())
    with pytest.raises(ConfigError, match="cannot be rendered"):
        make_plan(study)


@pytest.mark.parametrize(
    "name", ["key", "api_key", "API-Key", "token", "access_token", "sig", "Code", "k%65y"]
)
def test_an_address_with_a_secret_is_refused_and_not_shown(name: str) -> None:
    for written in (
        f"openai/x?base_url=http://127.0.0.1:1/v1?{name}=hunter2",
        {"model": "openai/x", "base_url": f"http://127.0.0.1:1/v1?api-version=1&{name}=hunter2"},
    ):
        with pytest.raises(ConfigError, match=r"holds a key in its query.*api_key_env") as caught:
            build_study(StudyConfig(judges=[written]), Path())
        assert "hunter2" not in str(caught.value)


def test_the_secret_of_a_query_is_in_no_message() -> None:
    message = complaint_of("openai/x?base_url=http://h/v1?key=hunter2&colour=red")
    assert "unknown key 'colour'" in message
    assert "hunter2" not in message


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KEYS = (
    "temperature",
    "max_tokens",
    "seed",
    "reader",
    "protocols",
    "margin",
    "extra",
    "timeout",
    "tau",
    "name",
)


@given(
    st.dictionaries(st.sampled_from(KEYS), json_like, max_size=3),
    st.sampled_from(["openai/x", "planted/probit"]),
)
def test_whatever_is_written_is_a_judge_or_a_usage_error(body: dict[str, Any], model: str) -> None:
    with suppress(UsageError):
        assert parse({"model": model, **body}).fingerprint("base").startswith("sha256:")


# What is taken


def test_extra_reaches_the_judge_as_it_is() -> None:
    extra = {"top_p": 0.5, "stop": ["\n"], "nested": {"deep": [None, True, 1, "é"]}}
    judge = parse({"model": "openai/x", "extra": extra})
    assert judge.decoding.extra == extra
    assert json.loads(canonical_json(judge.decoding.extra)) == extra


def test_protocols_change_what_they_name() -> None:
    judge = parse(
        {
            "model": "openai/x",
            "prompt": "{{ first }} or {{ second }}?",
            "system": "Judge {{ request }}.",
            "protocols": {
                "terse": {"reader": "choice"},
                "own": {"prompt": "{{ second }}{{ first }}", "reader": {"regex": "(1|2)"}},
                "text": "{{ first }} {{ second }}",
            },
        }
    )
    assert list(judge.protocols) == ["base", "terse", "own", "text"]
    assert judge.protocols["terse"].reader == Spec("choice")
    assert judge.protocols["terse"].system == "Judge {{ request }}."
    assert judge.protocols["own"].reader == Spec("regex", {"pattern": "(1|2)"})
    assert (judge.protocols["text"].user, judge.protocols["text"].system) == (
        "{{ first }} {{ second }}",
        None,
    )


def test_settings_go_to_judges_that_have_them() -> None:
    probit = parse({"model": "planted/probit", "protocols": {"strict": {"tau": 2, "lapse": 0.5}}})
    assert probit.protocols["strict"].settings == {"tau": 2.0, "lapse": 0.5}
    likelihood = parse({"model": LIKELIHOOD, "protocols": {"strict": {"margin": 3}}})
    assert likelihood.protocols["strict"].reader == Spec("likelihood", {"margin": 3.0})


def test_the_strict_criterion_lies_one_step_above_the_models_own() -> None:
    def strict(tau: float | None) -> float:
        body = {"model": "planted/probit", "tau": tau}
        return float(parse(body).protocols["strict"].settings["tau"])

    assert strict(None) == Parameters().tie_threshold + STRICT_STEP
    assert strict(1.0) == 1.0 + STRICT_STEP
    assert math.isclose(strict(None), 1.2)


def test_a_long_model_name_is_taken() -> None:
    assert parse("vllm//models/" + "m" * 100).name == "vllm//models/" + "m" * 100


def test_a_judge_has_no_time_limit_unless_it_sets_one() -> None:
    assert "timeout" not in parse("openai/x").options
    assert parse("openai/x?timeout=300").options["timeout"] == 300.0


def test_calls_that_wait_for_one_another_have_the_time_of_all() -> None:
    assert timeout_for(parse("openai/x"), 120.0, 16) == 120.0
    assert timeout_for(parse("openai/x?timeout=300"), 120.0, 16) == 300.0
    assert timeout_for(parse("embedded/smollm2-135m"), 120.0, 8) == 960.0
