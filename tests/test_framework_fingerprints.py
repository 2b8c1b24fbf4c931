"""A framework's judge with another model or prompt is another judge: none of its old verdicts count.

Inspect is real here; classes stand in for other frameworks, which `make test-frameworks` runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

import steelyard
from commands import Command
from steelyard.errors import CertificateError
from steelyard.study.judge_config import parse_judge
from steelyard.tasks.task import Binary
from steelyard.trials.judge import Judge

JudgeIn = Callable[..., Judge]

RAGAS = """
    class Framework:
        __module__ = "ragas.llms.base"

    LLM = type("InstructorBaseRagasLLM", (Framework,), {"__module__": "ragas.llms.base"})
    Metric = type("SimpleBaseMetric", (Framework,), {"__module__": "ragas.metrics.base"})
    Prompt = type("Prompt", (Framework,), {"__module__": "ragas.prompt"})

    class Own(LLM):
        def ask(self):
            return PREFIX

    PREFIX = "be strict"
    llm, own, prompt, judge = LLM(), Own(), Prompt(), Metric()
    llm.model, llm.model_args, llm.client = "large", {"temperature": 0.1, "api_key": "first"}, object()
    own.model = "small"
    prompt.instruction, prompt.examples = "is it right?", [("zebra", "yes")]
    judge.name, judge.allowed_values, judge.prompt = "judge", range(0, 5), prompt
"""

OPENEVALS = """
    import helpers
    from threading import Lock
    from pydantic import BaseModel, Field, SecretStr

    class Message(BaseModel):
        template: str

    class Prompt(BaseModel):
        messages: list
        max_retries: int = 2
        openai_api_key: SecretStr = SecretStr("first")
        client: object = Field(default=None, exclude=True)

    class Runnable:
        def __init__(self, function):
            self.function = function

    for kind in (Message, Prompt, Runnable):
        kind.__module__ = "langchain_core.prompts"

    def create(prompt):
        def judge(**keys):
            return prompt

        judge.__module__ = "openevals.llm"
        return judge

    SYSTEM = "be strict"

    def asked(**keys):
        return [SYSTEM, helpers.FORM, helpers.API_KEY]

    judge = create(Prompt(messages=[Message(template="is it right?")], client=Lock()))
    by_function = create(asked)
    by_helper = create(helpers.asked)
    hidden = create(Runnable(asked))
    looped = Prompt(messages=[])
    looped.messages.append(looped)
    by_loop = create(looped)
"""

HELPERS = """
    FORM, UNUSED, API_KEY = "one word", "x", "first"

    def asked(**keys):
        return FORM

    class Form:
        def form(self):
            return FORM
"""

DEEPEVAL = """
    import helpers
    from functools import wraps

    LLM = type("DeepEvalBaseLLM", (), {"__module__": "deepeval.models.base_model"})
    Metric = type("BaseMetric", (), {"__module__": "deepeval.metrics.base_metric"})

    def observed(method):
        @wraps(method)
        def call(*args):
            return method(*args)

        return call

    PREFIX, SUFFIX = "be strict", "briefly"

    class Own(helpers.Form, LLM):
        def __init__(self, name, temperature):
            self.name, self.sampling, self.api_key = name, {"temperature": temperature}, str(id(self))

        @observed
        def generate(self, prompt):
            return f"{PREFIX} {prompt} {self.suffix}"

        @property
        def suffix(self):
            return SUFFIX

    judge = Metric()
    judge.evaluation_model, judge.model = "own", Own("large", 0.1)
"""


@pytest.fixture
def judge_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JudgeIn:
    """The judge of a file in a folder of its own, with some words of it or of its helpers changed."""

    def judge(text: str, name: str, old: str = "\0", new: str = "") -> Judge:
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        for file, body in (("helpers", HELPERS), ("evals", text)):
            (folder / f"{file}.py").write_text(dedent(body).replace(old, new))
        monkeypatch.chdir(folder)
        monkeypatch.delitem(sys.modules, "helpers", raising=False)
        return parse_judge(f"python/evals.py:{name}", Path(), Binary())

    return judge


@pytest.mark.parametrize(
    ("text", "name", "old", "new"),
    [
        (RAGAS, "judge?llm=llm", '"large"', '"small"'),
        (RAGAS, "judge?llm=llm", "0.1", "0.9"),
        (RAGAS, "judge?llm=llm", "is it right?", "is it wrong?"),
        (RAGAS, "judge?llm=llm", '"zebra"', '"horse"'),
        (RAGAS, "judge?llm=llm", "range(0, 5)", "range(0, 9)"),
        (RAGAS, "judge?llm=own", '"small"', '"large"'),
        (RAGAS, "judge?llm=own", "be strict", "be kind"),
        (OPENEVALS, "judge", "is it right?", "is it wrong?"),
        (OPENEVALS, "by_function", "be strict", "be kind"),
        (OPENEVALS, "by_function", "one word", "two words"),
        (OPENEVALS, "by_helper", "one word", "two words"),
        (DEEPEVAL, "judge", '"large"', '"small"'),
        (DEEPEVAL, "judge", "0.1", "0.9"),
        (DEEPEVAL, "judge", "be strict", "be kind"),
        (DEEPEVAL, "judge", "briefly", "at length"),
        (DEEPEVAL, "judge", "one word", "two words"),
    ],
)
def test_another_model_or_prompt_is_another_judge(
    text: str, name: str, old: str, new: str, judge_in: JudgeIn
) -> None:
    first, other = judge_in(text, name), judge_in(text, name, old, new)
    assert first.options["source"] != other.options["source"]


@pytest.mark.parametrize(
    ("text", "name", "old", "new"),
    [
        (RAGAS, "judge?llm=llm", '"first"', '"second"'),
        (RAGAS, "judge?llm=llm", '"small"', '"tiny"'),
        (RAGAS, "judge?llm=own", '"large"', '"tiny"'),
        (OPENEVALS, "judge", '"first"', '"second"'),
        (OPENEVALS, "judge", "max_retries: int = 2", "max_retries: int = 5"),
        (OPENEVALS, "by_function", '"first"', '"second"'),
        (OPENEVALS, "by_helper", '"x"', '"y"'),
        (OPENEVALS, "by_loop", "be strict", "be kind"),
        (DEEPEVAL, "judge", "str(id(self))", "str(id(self))"),
    ],
)
def test_another_key_or_place_is_no_other_judge(
    text: str, name: str, old: str, new: str, judge_in: JudgeIn
) -> None:
    first, other = judge_in(text, name), judge_in(text, name, old, new)
    assert first.options["source"] == other.options["source"]
    assert "(" not in first.options["unseen"].partition("client of its model (")[2]


def test_what_could_not_be_looked_into_stands_beside_what_is_left_out(judge_in: JudgeIn) -> None:
    assert judge_in(OPENEVALS, "hidden").options["unseen"] == (
        "the client of its model (address, sampling), prompt (langchain_core.prompts.Runnable)"
    )


INSPECT = """
    import httpx
    from inspect_ai.model import GenerateConfig, ModelAPI, ModelOutput, get_model, modelapi
    from inspect_ai.scorer import Score, accuracy, scorer

    @modelapi(name="zebras")
    class Zebras(ModelAPI):
        async def generate(self, input, tools, tool_choice, config):
            right = ("zebra" in input[-1].text) == (self.model_name == "right" and config.temperature == 0)
            return ModelOutput.from_content(self.model_name, "C" if right else "I")

    grader = get_model("zebras/right", config=GenerateConfig(temperature=0))
    client = httpx.Client(verify=False)

    @scorer(metrics=[accuracy()])
    def graded():
        async def score(state, target):
            assert not client.is_closed
            return Score(value=(await grader.generate(state.output.completion)).completion)

        return score

    judge = graded()
"""
UNSEEN = "its fingerprint does not cover client (httpx.Client)"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of packages below the framework
@pytest.mark.parametrize(
    ("old", "new"), [("zebras/right", "zebras/wrong"), ("temperature=0", "temperature=1")]
)
def test_no_verdict_of_another_model_is_reported_or_certified(
    old: str, new: str, command: Command, tmp_path: Path
) -> None:
    """A scorer of one's own, whose model is a variable of its file."""
    pytest.importorskip("inspect_ai")
    rows = [f"question {n},{'zebra' if n % 2 else 'horse'} {n},fact,{n % 2}" for n in range(40)]
    (tmp_path / "rows.csv").write_text("\n".join(["q,a,ref,ok", *rows]))
    (tmp_path / "rubric.md").write_text("Is it right?")
    (tmp_path / "evals.py").write_text(dedent(INSPECT))
    address = "python/evals.py:judge"
    arguments = ["measure", "-j", address, "--data", "rows.csv", "--scale", "binary", "--rubric", "rubric.md"]
    arguments += ["--columns", "request=q,response=a,label=ok,reference=ref", "-p", "format_invariance_1"]
    first = command(*arguments, "--out", "run")
    assert first.code == 0, first.err
    assert UNSEEN in first.err
    assert command("gate", "run", "--policy", "smoke").code == 0
    certificate = tmp_path / "run" / "certificate.json"
    assert UNSEEN in json.loads(certificate.read_text())["judges"][0]["caveats"]
    steelyard.remedied(address, scale="binary", certificate=certificate)
    (tmp_path / "evals.py").write_text(dedent(INSPECT).replace(old, new))
    refused = command(*arguments, "--out", "run")
    assert (refused.code, "judges differ" in refused.err) == (2, True)
    with pytest.raises(CertificateError, match="the judge has changed since it was certified"):
        steelyard.remedied(address, scale="binary", certificate=certificate)


DEFAULT_MODEL = """
    from inspect_ai.scorer import model_graded_qa

    judge = model_graded_qa(template="{question} {criterion} {answer} {instructions}")
"""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_another_model_of_inspects_own_settings_is_another_judge(
    judge_in: JudgeIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("inspect_ai")
    prints = []
    for model in ("openai/gpt-4o", "openai/gpt-4o", "openai/gpt-3.5-turbo"):
        monkeypatch.setenv("INSPECT_EVAL_MODEL", model)
        prints.append(judge_in(DEFAULT_MODEL, "judge").fingerprint("base"))
    assert prints[0] == prints[1] != prints[2]


CACHED = """
    import functools

    CHOICES = [{"token": "A"}, {"token": "B"}]

    @functools.cache
    def client():
        return "large"

    def judge(request, response):
        return int(client() == "large" and response == CHOICES[0]["token"])
"""


def test_a_cached_helper_counts_by_its_code_and_a_list_by_all_that_it_holds(
    command: Command, tmp_path: Path
) -> None:
    """In processes of their own: an address in memory would differ in each."""
    prints = []
    for text in (CACHED, CACHED, CACHED.replace('"large"\n', '"small"\n'), CACHED.replace('"A"', '"Z"')):
        (tmp_path / "evals.py").write_text(dedent(text))
        code = (
            "from pathlib import Path; from steelyard.study.judge_config import parse_judge; "
            "from steelyard.tasks.task import Binary; "
            "print(parse_judge('python/evals.py:judge', Path(), Binary()).fingerprint('base'))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        prints.append(done.stdout)
    assert prints[0] == prints[1]
    assert len(set(prints)) == 3
