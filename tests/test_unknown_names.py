"""A name in single braces that no prompt knows is refused before any call, with the name that was meant."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import steelyard
from commands import Command
from servers import ScriptedServer, says
from steelyard.errors import ConfigError
from steelyard.study.judge_config import parse_judge
from steelyard.study.judge_protocols import PromptReport
from steelyard.study.role_config import parse_roles
from steelyard.tasks.task import BestOf, Binary, Pairwise, Scale, Task
from steelyard.trials.prompt import PromptInputs, render_prompt
from steelyard.trials.template_reader import DataColumns

OWN = "You are a strict grader.\nQuestion: {question}\nANSWER: {response}\nReply PASS or FAIL."
NONE = DataColumns()
COLUMNS = {"request": "frage", "response": "answer", "label": "human"}


def rendered(prompt: str, scale: Scale = Binary(), columns: DataColumns = NONE, **keys: Any) -> str:  # noqa: B008
    judge = parse_judge(
        {"model": "openai/m", "prompt": prompt + "\n", **keys}, Path(), scale, columns=columns
    )
    texts = ("ONE", "TWO", "THREE")[: {Binary: 1, Pairwise: 2}.get(type(scale), 3)]
    inputs = PromptInputs("Q", texts, "REF", "CON", json.dumps({"topic": "TOPIC", "human verdict": "HV"}))
    shown = render_prompt(judge.templates("base"), Task("I", "R", scale), inputs)
    return shown.messages[-1].content.strip()


def refusal(prompt: str, scale: Scale = Binary(), columns: DataColumns = NONE, **keys: Any) -> str:  # noqa: B008
    with pytest.raises(ConfigError, match=r"found \{\w+\}, expected one of ") as caught:
        rendered(prompt, scale, columns, **keys)
    return str(caught.value)


@pytest.mark.parametrize("by", ["plan", "measure", "doctor", "study"])
def test_an_unknown_name_ends_every_command_before_any_call(
    command: Command, tmp_path: Path, by: str
) -> None:
    rows = [{"frage": f"q {n}", "answer": f"a {n}", "human": n % 2, "topic": "x"} for n in range(4)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "mine.md").write_text(OWN.replace("{question}", "{frage} {tpic}"))
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
    assert re.search(r"mine\.md: found \{tpic\}, .* \{context\}, \{fence\}, \{high\}, ", done.err)
    assert re.search(r"data: \{topic\}; .*\{topic\}, or \{\{tpic\}\} \(or --literal tpic\)", done.err)
    assert not (tmp_path / "run").exists()


def test_an_unknown_name_ends_a_measurement_from_python(tmp_path: Path) -> None:
    judge = {"model": "openai/m?base_url=http://127.0.0.1:9", "prompt": OWN + "{requst}"}
    with pytest.raises(ConfigError, match=r"judge 'openai/m': prompt: found \{requst\}.* mean \{request\}"):
        steelyard.measure(judge, task={"scale": "binary"}, out=tmp_path / "run")


@pytest.mark.parametrize(
    ("name", "scale", "sent"),
    [
        *[(name, Binary(), "Q") for name in ("question", "input", "query", "prompt", "user_input")],
        *[(name, Binary(), "Q") for name in ("Question", "userQuestion", "USER QUERY".replace(" ", "_"))],
        *[(name, Binary(), "ONE") for name in ("answer", "output", "completion", "model_answer")],
        *[(name, Binary(), "REF") for name in ("expected_answer", "ground_truth", "ideal", "reference")],
        *[(name, Binary(), "CON") for name in ("context", "retrieved_context", "documents")],
        *[(name, Binary(), "R") for name in ("criteria", "criterion")],
        *[(name, Binary(), "ONE") for name in ("messages", "conversation")],
        *[(name, Pairwise(), "ONE") for name in ("answer_a", "response_1", "responseA", "first")],
        *[(name, Pairwise(), "TWO") for name in ("answer_b", "response_2", "output2", "second_answer")],
        ("max_score", Binary(), "1"),
    ],
)
@pytest.mark.parametrize("braces", ["{%s}", "{{ %s }}", "{{%s}}"])
def test_a_usual_name_stands_for_its_variable(name: str, scale: Scale, sent: str, braces: str) -> None:
    shown = {Binary: "response", Pairwise: "first"}[type(scale)]
    both = f"{braces % shown} {braces % 'second'}" if scale == Pairwise() else braces % shown
    before = "ONE TWO" if scale == Pairwise() else "ONE"
    assert rendered(f"{both} {braces % name}", scale) == f"{before} {sent}"


@pytest.mark.parametrize(
    ("name", "scale", "meant"),
    [
        *[(name, Binary(), "request") for name in ("requst", "questoin")],
        *[(name, Binary(), "response") for name in ("anwser", "first", "response_1", "text")],
        *[(name, Binary(), "reference") for name in ("correct_answer_text",)],
        *[(name, Binary(), "rubric") for name in ("rubrik",)],
        *[(name, Pairwise(), "first") for name in ("A", "answer")],
        *[(name, BestOf(3), "response") for name in ("answer_a", "candidates")],
        *[(name, Binary(), None) for name in ("score", "verdict", "winner", "reason", "grade")],
    ],
)
def test_the_name_that_was_meant_is_found(name: str, scale: Scale, meant: str | None) -> None:
    shown = {Binary: "{response}", Pairwise: "{first} {second}"}.get(type(scale), "{response}")
    said = refusal(f"{shown} {{{name}}}", scale)
    itself = f"{{{{{name}}}}} (or --literal {name}) for the text itself"
    if meant is None:
        assert said.endswith(f" or write {itself}.")
    else:
        assert said.endswith(f"you mean {{{meant}}}, or {itself}?")


COLUMNS_OF_FILE = DataColumns(
    {"frage": "request", "links": "response_1", "human": "label"},
    lambda: (
        {"frage": "request", "links": "response_1", "human": "label"},
        ("frage", "links", "human", "topic", "human verdict", "class"),
    ),
)


@pytest.mark.parametrize(
    ("prompt", "sent"),
    [
        ("{first} {second} {frage} {links}", "ONE TWO Q ONE"),
        ("{first} {second} {topic} {Topic}", "ONE TWO TOPIC TOPIC"),
        ("{first} {second} {human verdict}", "ONE TWO HV"),
        ("{first} {second} {{literal}} {human_verdict}", "ONE TWO {literal} HV"),
        ("{{ first }} {{ second }} {{ topic }} {{ topic | upper }}", "ONE TWO TOPIC TOPIC"),
        ('{{ first }} {{ second }} {{ metadata["human verdict"] }}', "ONE TWO HV"),
        ("{% if topic %}{{ first }} {{ second }} {{ frage }}{% endif %}", "ONE TWO Q"),
    ],
)
def test_a_column_stands_for_its_part_or_its_cell(prompt: str, sent: str) -> None:
    assert rendered(prompt, Pairwise(), COLUMNS_OF_FILE) == sent


@pytest.mark.parametrize("prompt", ["{human}", "{{ human }}"])
def test_no_judge_is_shown_the_label(prompt: str) -> None:
    shown = prompt.replace("human", "first") + prompt.replace("human", "second")
    with pytest.raises(
        ConfigError, match=r"found \{human\}, the column of labels, expected a prompt without"
    ):
        rendered(shown + prompt, Pairwise(), COLUMNS_OF_FILE)
    assert rendered("{first}{second} Reply {{'human': \"{human}\"}}", Pairwise(), COLUMNS_OF_FILE).endswith(
        "{'human': \"{human}\"}"
    )


def test_where_the_name_stands_is_said() -> None:
    body = {"name": "mine", "system": "Be {tone}.\n"}
    assert re.match(r"judge 'mine': system: .*\{tone\}", refusal("{{ response }}", **body))
    body = {"name": "mine", "protocols": {"terse": "{response}\n{inptu}"}}
    assert re.match(r"judge 'mine': protocol 'terse': prompt: .*\{inptu\}", refusal("{response}", **body))


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("{{ response }} {question}", "did you mean {{ question }}, or "),
        ("{{ response }} { question }", "did you mean {{ question }}, or "),
        ("{{ response }} {request}", 'did you mean {{ request }}, or {{ "{request}" }} (or '),
        ("{% if request %}{request}{% endif %} {{ response }}", "did you mean {{ request }}, or "),
        ("Q: {qestion} A: {anwser}", 'did you mean {request}, or {{ "{qestion}" }} (or '),
        ("{response} ${qestion}", "did you mean {request}, or {{qestion}} (or "),
        ('{response} "{qestion}"', "did you mean {request}, or {{qestion}} (or "),
        ("{response}\\n{qestion}", "did you mean {request}, or {{qestion}} (or "),
    ],
)
def test_every_form_of_template_is_looked_through(prompt: str, said: str) -> None:
    assert said in refusal(prompt)


@pytest.mark.parametrize(
    ("prompt", "sent"),
    [
        ('{response} Reply {"verdict": {verdict}}', 'ONE Reply {"verdict": {verdict}}'),
        ('{response} Reply {{"verdict": {verdict}}}', 'ONE Reply {"verdict": {verdict}}'),
        ('{response} Reply with "{verdict}".', 'ONE Reply with "{verdict}".'),
        ("{response} Reply with `Grade: {grade}`.", "ONE Reply with `Grade: {grade}`."),
        ('{{ response }} Reply {"verdict": {verdict}}', 'ONE Reply {"verdict": {verdict}}'),
        ('{response} "{question}" {"q": "{question}"}', 'ONE "Q" {"q": "Q"}'),
    ],
)
def test_a_name_in_quotes_or_in_json_is_text_unless_it_is_known(prompt: str, sent: str) -> None:
    assert rendered(prompt) == sent


def test_what_is_sent_as_it_stands_is_said_once() -> None:
    report = PromptReport()
    judge = {"name": "m", "model": "openai/m", "prompt": 'Rate {answer}. Reply "{verdict}" or "{verdict}".\n'}
    parse_judge(judge, Path(), Binary(), report=report)
    (note,) = report.notes
    assert re.match(r"judge 'm': prompt: \{verdict\} .* JSON", note)


@pytest.mark.parametrize("by", ["option", "judge", "protocol"])
def test_a_literal_is_sent_as_it_stands(by: str) -> None:
    prompt = "{answer} Reply with {verdict}, {question}.\n"
    keys = {"option": {}, "judge": {"literal": ["verdict", "question"]}, "protocol": {"literal": "verdict"}}[
        by
    ]
    judge: dict[str, Any] = {"model": "openai/m", "prompt": prompt, **keys}
    if by == "protocol":
        judge = {"model": "openai/m", "protocols": {"strict": judge | {"literal": ["verdict", "question"]}}}
        del judge["protocols"]["strict"]["model"]
    given = ("verdict", "question") if by == "option" else ()
    parsed = parse_judge(judge, Path(), Binary(), literals=given)
    made = parsed.protocols["strict" if by == "protocol" else "base"].user
    assert made.strip() == "{{ response }} Reply with {verdict}, {question}."


def test_a_literal_of_jinja_is_sent_as_it_stands() -> None:
    assert rendered("{{ answer }} Reply {{ verdict }}", literal="verdict") == "ONE Reply {{ verdict }}"


@pytest.mark.parametrize(
    ("prompt", "sent"),
    [
        ('{response} {"score": 1}', 'ONE {"score": 1}'),
        ('{response} {{"score": n}}', 'ONE {"score": n}'),
        ("{response} Reply with {{verdict}}.", "ONE Reply with {verdict}."),
        ("{{{response}}} {{{{", "{ONE} {{"),
        ("{response} [0-9]{2} { verdict } {} {a b} {0}", "ONE [0-9]{2} { verdict } {} {a b} {0}"),
        ("{ response } { question }", "ONE Q"),
        ("{response} {{answer: 1}}", "ONE {answer: 1}"),
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
    with pytest.raises(ConfigError, match=r"unknown variable 'qestion'; .*; did you mean 'request'\?$"):
        rendered("{{ qestion }} {{ response }}")


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


@pytest.mark.parametrize("other", ["{{ questin }}", "{{questin}}", "{{ questin | trim }}"])
def test_two_forms_of_braces_in_one_template_are_refused(other: str) -> None:
    """The name in double braces would be sent as `{ questin }`."""
    with pytest.raises(ConfigError, match=r"found \{\{.*beside .* write \{request\}, or every name"):
        rendered(f"Question: {other}\nAnswer: {{response}}")


@pytest.mark.parametrize("other", ["{request!r}", "{question:s}", "{question:>10}", "{question.text}"])
def test_a_variable_in_another_form_is_refused_beside_single_braces(other: str) -> None:
    name = "request" if "request" in other else "question"
    with pytest.raises(ConfigError, match=rf"expected a name alone in braces; write \{{{name}\}}\."):
        rendered(f"Question: {other}\nAnswer: {{response}}\n")


@pytest.mark.parametrize(
    ("found", "write"),
    [
        ('{row["answer"]}', "{answer}"),
        ("{data['my answer'][answer]}", "{answer}"),
        ("{answer.strip()}", "{answer}"),
        ("$answer", "{answer}"),
        ("${answer}", "{answer} (behind a dollar sign that is meant, after a space)"),
        ("%(answer)s", "{answer}"),
    ],
)
@pytest.mark.parametrize("beside", ["", "{question} {answer}", "{{ question }} {{ answer }}"])
def test_a_prompt_as_code_is_told_what_to_write(found: str, write: str, beside: str) -> None:
    """Alone, and beside names that are read, where it would be sent as it stands."""
    is_jinja = beside.startswith("{{")
    if is_jinja and found.startswith("{"):
        return  # text of a template in double braces, as before
    expected = write.replace("{answer}", "{{ answer }}") if is_jinja else write
    with pytest.raises(ConfigError) as caught:
        rendered(f"{beside} Answer: {found}\nReply PASS or FAIL.")
    assert re.search(f"found {re.escape(found)}, .*; write {re.escape(expected)}", str(caught.value))


@pytest.mark.parametrize(
    "text",
    [
        "$5",
        "$x",
        "$answer$",
        "$ONE or $$",
        "{e.g. the answer}",
        "100%(about)",
        "{x.y}",
        "{{verdict}}",
        "$x_{i}$",
        "a^{n}",
        r"\p{L}",
        "{score:.2f}",
        '{"result": {"score": 1}}',
        "{color: red}",
    ],
)
def test_braces_that_name_no_variable_are_text(text: str) -> None:
    sent = text.replace("{{verdict}}", "{verdict}")
    assert rendered(f"{{request}} {{response}} {text}") == f"Q ONE {sent}"


def test_doubled_braces_around_objects_in_objects_are_read_in_pairs() -> None:
    assert rendered('{response} {{"a": {{"b": 1}}}} {"c": {"d": 1}}') == 'ONE {"a": {"b": 1}} {"c": {"d": 1}}'
