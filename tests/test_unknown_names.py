"""A name in single braces that no prompt knows is refused before any call, with the name that was meant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard
from commands import Command
from servers import ScriptedServer, says
from steelyard.errors import ConfigError
from steelyard.study.judge_config import parse_judge
from steelyard.study.role_config import parse_roles
from steelyard.tasks.scale import BestOf, Binary, Pairwise, Scale
from steelyard.tasks.task import Task
from steelyard.trials.prompt import PromptInputs, render_prompt

OWN = "You are a strict grader.\nQuestion: {question}\nANSWER: {response}\nReply PASS or FAIL."
COLUMNS = {"request": "frage", "response": "answer", "label": "human"}


def rendered(prompt: str, scale: Scale = Binary(), **keys: Any) -> str:  # noqa: B008
    judge = parse_judge({"model": "openai/m", "prompt": prompt + "\n", **keys}, Path(), scale)
    texts = ("ONE", "TWO", "THREE")[: {Binary: 1, Pairwise: 2}.get(type(scale), 3)]
    return (
        render_prompt(judge.templates("base"), Task("I", "R", scale), PromptInputs("Q", texts))
        .messages[-1]
        .content.strip()
    )


def refusal(prompt: str, scale: Scale = Binary(), **keys: Any) -> str:  # noqa: B008
    with pytest.raises(ConfigError, match=r"found \{\w+\}, expected one of ") as caught:
        rendered(prompt, scale, **keys)
    return str(caught.value)


@pytest.mark.parametrize("by", ["plan", "measure", "doctor", "study"])
def test_an_unknown_name_ends_every_command_before_any_call(
    command: Command, tmp_path: Path, by: str
) -> None:
    rows = [{"frage": f"q {n}", "answer": f"a {n}", "human": n % 2} for n in range(4)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "mine.md").write_text(OWN.replace("{question}", "{frage}"))
    with ScriptedServer(says("PASS")) as server:
        judge = f"openai/m?base_url={server.url}&reader=choice"
        if by == "study":
            body = {
                "judges": [{"name": "mine", "model": judge, "prompt": "mine.md"}],
                "task": {"scale": "binary"},
                "data": {"path": "rows.jsonl", "columns": COLUMNS},
            }
            (tmp_path / "study.yaml").write_text(json.dumps(body))
            done = command("measure", "study.yaml", "--out", "run")
        else:
            mapped = ",".join(f"{part}={column}" for part, column in COLUMNS.items())
            data = ("--data", "rows.jsonl", "--columns", mapped, "--scale", "binary")
            done = command(by, "-j", judge, "--prompt", "mine.md", *data)
        assert not server.requests
    assert done.code == 2
    assert "mine.md: found {frage}, expected one of {fence}, {high}, {instruction}," in done.err
    assert "did you mean {request}, or {{frage}} for the text itself?" in done.err
    assert not (tmp_path / "run").exists()


def test_an_unknown_name_ends_a_measurement_from_python(tmp_path: Path) -> None:
    judge = {"model": "openai/m?base_url=http://127.0.0.1:9", "prompt": OWN}
    with pytest.raises(ConfigError, match=r"judge 'openai/m': prompt: found \{question\}.* mean \{request\}"):
        steelyard.measure(judge, task={"scale": "binary"}, out=tmp_path / "run")


@pytest.mark.parametrize(
    ("name", "scale", "meant"),
    [
        *[(name, Binary(), "request") for name in ("question", "input", "query", "prompt", "user_input")],
        *[(name, Binary(), "request") for name in ("Question", "userQuestion", "requst", "questoin")],
        *[
            (name, Binary(), "response")
            for name in ("answer", "output", "completion", "generation", "anwser")
        ],
        *[(name, Binary(), "response") for name in ("model_answer", "first", "response_1", "text")],
        *[(name, Binary(), "reference") for name in ("expected_answer", "ground_truth", "context")],
        *[(name, Binary(), "rubric") for name in ("criteria", "criterion", "rubrik")],
        *[(name, Binary(), "transcript") for name in ("messages", "conversation")],
        *[(name, Pairwise(), "first") for name in ("answer_a", "response_1", "responseA", "A", "answer")],
        *[(name, Pairwise(), "second") for name in ("answer_b", "response_2", "output2", "second_answer")],
        *[(name, BestOf(3), "response") for name in ("answer", "answer_a", "candidates")],
        *[(name, Binary(), None) for name in ("score", "verdict", "winner", "reason", "grade")],
    ],
)
def test_the_name_that_was_meant_is_found(name: str, scale: Scale, meant: str | None) -> None:
    shown = {Binary: "{response}", Pairwise: "{first} {second}"}.get(type(scale), "{response}")
    said = refusal(f"{shown} {{{name}}}", scale)
    if meant is None:
        assert said.endswith(f"; correct it, or write {{{{{name}}}}} for the text itself.")
    else:
        assert said.endswith(f"; did you mean {{{meant}}}, or {{{{{name}}}}} for the text itself?")


def test_a_mapped_column_means_its_part() -> None:
    columns = {"frage": "request", "links": "response_1"}
    for name, meant in (("frage", "request"), ("links", "first")):
        judge = {"model": "openai/m", "prompt": f"{{first}} {{second}}\n{{{name}}}"}
        with pytest.raises(ConfigError, match=rf"did you mean \{{{meant}\}}"):
            parse_judge(judge, Path(), Pairwise(), columns=columns)


def test_where_the_name_stands_is_said() -> None:
    body = {"name": "mine", "system": "Be {tone}.\n"}
    assert refusal("{{ response }}", **body).startswith("judge 'mine': system: found {tone}")
    body = {"name": "mine", "protocols": {"terse": "{response}\n{input}"}}
    assert refusal("{response}", **body).startswith("judge 'mine': protocol 'terse': prompt: found {input}")


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        (
            "{{ response }} {question}",
            'did you mean {{ request }}, or {{ "{question}" }} for the text itself?',
        ),
        ("{{ response }} {request}", 'did you mean {{ request }}, or {{ "{request}" }} for the text itself?'),
        ("{% if request %}{request}{% endif %} {{ response }}", "did you mean {{ request }}, or "),
        ("Q: {question} A: {answer}", 'did you mean {request}, or {{ "{question}" }} for the text itself?'),
        ("{response} ${question}", "did you mean {request}, or {{question}} for the text itself?"),
        ("{response}{context}", "did you mean {reference}, or {{context}} for the text itself?"),
        ("{response}\\n{question}", "did you mean {request}, or {{question}} for the text itself?"),
    ],
)
def test_every_form_of_template_is_looked_through(prompt: str, said: str) -> None:
    assert said in refusal(prompt)


@pytest.mark.parametrize(
    ("prompt", "sent"),
    [
        ('{response} {"score": 1}', 'ONE {"score": 1}'),
        ('{response} {{"score": n}}', 'ONE {"score": n}'),
        ("{response} Reply with {{verdict}}.", "ONE Reply with {verdict}."),
        ("{{{response}}} {{{{", "{ONE} {{"),
        ("{response} [0-9]{2} { verdict } {} {a b}", "ONE [0-9]{2} { verdict } {} {a b}"),
        ("{response} \\boxed{answer} \\frac{a}{b}", "ONE \\boxed{answer} \\frac{a}{b}"),
        ("({rubric_id}) {rubric} {score_levels_table} {low} {transcript}", "() R  0 ONE"),
        ('{{ response }} {"score": n} {"a": {"b": 1}}', 'ONE {"score": n} {"a": {"b": 1}}'),
        ('{{ response }} {{ "{verdict}" }}', "ONE {verdict}"),
        ("{{ response }} {% raw %}{verdict}{% endraw %} \\boxed{A}", "ONE {verdict} \\boxed{A}"),
        ("{{ response }}{# {verdict} #}", "ONE"),
    ],
)
def test_braces_that_are_text_are_sent_as_they_stand(prompt: str, sent: str) -> None:
    assert rendered(prompt) == sent


def test_a_variable_of_jinja_is_refused_with_the_name_that_was_meant() -> None:
    judge = {"model": "openai/m", "prompt": "{{ question }} {{ response }}"}
    with pytest.raises(ConfigError, match=r"unknown variable 'question'; .*; did you mean 'request'\?$"):
        parse_judge(judge, Path(), Binary())


SERVER = "?base_url=http://127.0.0.1:9"


def words_of_author(prompt: str) -> str:
    author = {"model": f"openai/w{SERVER}", "prompts": {"label_flip": prompt}}
    return parse_roles(author, f"openai/c{SERVER}").author.protocols["label_flip"].user.splitlines()[0]


def test_the_words_of_an_author_are_looked_through() -> None:
    with pytest.raises(ConfigError, match=r"author\.prompts\.label_flip: found \{tone\}.*\{expected\}"):
        words_of_author("Make it {tone} and {expected}.")


def test_one_rule_tells_the_forms_of_templates_apart() -> None:
    assert words_of_author("Make it {expected}.") == "Make it {{ expected }}."
    assert words_of_author('Make it {{"a": 1}}.') == 'Make it {"a": 1}.'
    assert words_of_author("{{ expected }} {{ '{x}' }}") == "{{ expected }} {{ '{x}' }}"
    for jinja in ("{# why #}", "{% if expected %}x{% endif %}"):
        with pytest.raises(ConfigError, match=r"found \{expected\}, expected one of .*expected"):
            words_of_author(f"{jinja} Make it {{expected}}.")


def test_two_forms_of_braces_in_one_template_are_refused() -> None:
    """The name in double braces would be sent as `{ question }`."""
    with pytest.raises(
        ConfigError, match=r"found \{\{ question \}\} beside .* write \{request\}, or every name"
    ):
        rendered("Question: {{ question }}\nAnswer: {response}")


@pytest.mark.parametrize(
    "other",
    [
        "{{question}}",
        "{{ inputs.question }}",
        "{{ question | trim }}",
        "{ request }",
        "{request!r}",
        "{question:s}",
    ],
)
def test_a_variable_in_another_form_is_refused_beside_single_braces(other: str) -> None:
    columns = {"inputs": "request"}
    judge = {"model": "openai/m", "prompt": f"Question: {other}\nAnswer: {{response}}\n"}
    with pytest.raises(ConfigError, match=r"beside names in single braces.* write \{request\}"):
        parse_judge(judge, Path(), Binary(), columns=columns)


@pytest.mark.parametrize(
    "text",
    ["{{verdict}}", "$x_{i}$", "a^{n}", r"\p{L}", "{score:.2f}", '{"result": {"score": 1}}', "{color: red}"],
)
def test_braces_that_name_no_variable_are_text(text: str) -> None:
    sent = text.replace("{{verdict}}", "{verdict}")
    assert rendered(f"{{request}} {{response}} {text}") == f"Q ONE {sent}"


def test_doubled_braces_around_objects_in_objects_are_read_in_pairs() -> None:
    assert rendered('{response} {{"a": {{"b": 1}}}} {"c": {"d": 1}}') == 'ONE {"a": {"b": 1}} {"c": {"d": 1}}'
