"""Measure a framework's judge against a scripted model, as it is and in each way a reply can go wrong.

    PYTHONPATH=src:tests VENV/bin/python benchmarks/frameworks/run.py deepeval [FILE --json]
    PYTHONPATH=src:tests VENV/bin/python benchmarks/frameworks/run.py --table FILE…

Exit code 1 where a judge that is right by construction is not 20 of 20 with a request for each call, where a
failure became a grade, or where a changed prompt made no new call. Each framework has an environment of its
own: `make test-frameworks` makes them.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ |= {
    "OPENAI_API_KEY": "scripted",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "RAGAS_DO_NOT_TRACK": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "LANGSMITH_TRACING": "false",
    "PYTHONWARNINGS": "ignore",
}

from judge_server import JudgeServer

import steelyard
from servers import ScriptedServer
from steelyard.core.threads import run_in_lasting_loop
from steelyard.errors import CallError, SteelyardError
from steelyard.providers.function.promptfoo import PromptfooJudge
from steelyard.providers.provider import connect
from steelyard.study.judge_config import parse_judge
from steelyard.tasks.scale import parse_scale
from steelyard.trials.presentation import Decoding, Presentation, Slots
from steelyard.verdicts.readers import READERS
from steelyard.verdicts.verdict import Unreadable

HERE = Path(__file__).parent
QUERY = {"ragas": "?llm=llm"}
DISTRIBUTION = {"inspect": "inspect_ai", "phoenix": "arize-phoenix-evals"}
JUDGES = {
    "autoevals": ("correct", "by_reference"),
    "deepeval": ("correct", "by_criteria", "graph", "by_reference"),
    "inspect": ("correct", "by_reference"),
    "mlflow": ("correct", "by_reference"),
    "openevals": ("correct", "threaded", "continuous", "by_reference"),
    "phoenix": ("correct", "by_reference"),
    "promptfoo": ("correct", "by_reference"),
    "ragas": ("correct", "scored", "by_reference"),
}
NUMBERS = {"openevals": ("continuous",), "ragas": ("scored",), "deepeval": ("graph",)}
"""Further judges whose number off the scale may be no grade."""
MODES = ("garbage", "empty", "truncated", "off_scale", "http400", "http429", "http500")
ALLOWED = {
    "http400": ("failed",),
    "http429": ("failed", "tried again"),
    "http500": ("failed", "tried again"),
}
PATIENCE = 15.0
"""Seconds for one call; a framework that is still trying then is cut off, as `--timeout` does."""


def write_rows(folder: Path) -> Path:
    rows = ["q,a,ref,ok"]
    rows += [f"question {n},{'zebra' if n % 2 else 'horse'} {n},fact {n},{n % 2}" for n in range(20)]
    (folder / "rows.csv").write_text("\n".join(rows))
    (folder / "rubric.md").write_text("Is the answer right?")
    return folder / "rows.csv"


def address_of(framework: str, judge: str) -> str:
    if framework == "promptfoo":
        return f"promptfoo/{os.environ['PROMPTFOO_HOME']}/promptfooconfig.yaml:{judge}"
    return f"python/evals_{framework}.py:{judge}{QUERY.get(framework, '')}"


def measured(framework: str, judge: str, server: ScriptedServer, folder: Path) -> dict[str, Any]:
    """The judge on 20 rows, each as it is and with one edit that keeps its meaning: 40 calls."""
    before = len(server.requests)
    address = address_of(framework, judge)
    sheet = steelyard.measure(
        {"model": address, "name": judge, "concurrency": 16},
        probes=["format_invariance_1"],
        data={
            "path": str(folder / "rows.csv"),
            "columns": {"request": "q", "response": "a", "label": "ok", "reference": "ref"},
        },
        task={"scale": "binary", "rubric": str(folder / "rubric.md")},
        out=folder / judge,
    )
    right = sheet.of(judge, "accuracy")[0]
    return {
        "judge": judge,
        "right": f"{right.numerator}/{right.denominator}",
        "calls": sheet.run["calls"],
        "requests": len(server.requests) - before,
        "metered": sheet.run["input_tokens"] // 100,
        "caveats": sheet.caveats(judge),
    }


async def answered(framework: str, judge: str) -> str:
    """What becomes of one call: a grade, unreadable (why), failed or tried again."""
    address = address_of(framework, judge)
    scale = parse_scale("binary")
    made = parse_judge(address, Path(), scale)
    slots = Slots("question 1", ("zebra 1",), reference="fact 1")
    shown = Presentation((), slots, scale.answers, Decoding())
    provider = connect(made)
    await provider.open()
    try:
        async with asyncio.timeout(PATIENCE):
            reply = await provider.ask(shown)
    except TimeoutError:
        return "tried again (timeout)"
    except CallError as error:
        return f"{'tried again' if type(error).__name__ == 'TransientError' else 'failed'} ({error.reason})"
    except SteelyardError as error:
        return f"stopped ({type(error).__name__}: {error})"
    finally:
        await provider.close()
    verdict = READERS.build(made.protocols["base"].reader)(reply, scale)
    if isinstance(verdict, Unreadable):
        return f"unreadable ({verdict.reason})"
    return f"GRADE {verdict}"


async def alone(framework: str, judge: str) -> str:
    """What the framework itself makes of the reply: a score that it hands on, or an exception."""
    address = address_of(framework, judge)
    provider = connect(parse_judge(address, Path(), parse_scale("binary")))
    slots = Slots("question 1", ("zebra 1",), reference="fact 1")
    if isinstance(provider, PromptfooJudge):
        await provider.open()
        found = await provider._graded(slots)
        await provider.close()
        return f"**pass {str(found['pass']).lower()}, score {found['score']}**"
    try:
        async with asyncio.timeout(PATIENCE):
            grade = await run_in_lasting_loop(provider._adapter.grade(slots))
    except TimeoutError:
        return f"still trying after {PATIENCE:g} s"
    except Exception as error:
        return f"raises {type(error).__name__}"
    if "'maybe'" in grade.why:
        return "**hands on 'maybe'**"
    if not isinstance(grade.value, float) or grade.value != grade.value:
        return "no score, with a reason"
    return f"**scores {grade.value:g}**"


NAMES = {"garbage": "no answer", "off_scale": "off the scale", "http500": "HTTP 500", "http429": "HTTP 429"}


def installed(framework: str) -> str:
    if framework == "promptfoo":
        package = Path(os.environ["PROMPTFOO_HOME"]) / "node_modules/promptfoo/package.json"
        return str(json.loads(package.read_text())["version"])
    return version(DISTRIBUTION.get(framework, framework))


def table(paths: list[str]) -> str:
    """The behaviour of each framework as the guide shows it."""
    lines = ["| framework | " + " | ".join(NAMES.values()) + " |", "|---|" + "---|" * len(NAMES)]
    for path in sorted(paths):
        body = json.loads(Path(path).read_text())
        rows = [body["behaviour"][mode] for mode in NAMES]
        cells = [f"{row['alone']} ({row['requests']})" for row in rows]
        lines.append(f"| {body['framework']} {body['version']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(framework: str, target: str | None) -> int:
    os.chdir(HERE)
    behaviour, faults = {}, []
    script = JudgeServer()
    with ScriptedServer(lambda request: script(request)) as server, tempfile.TemporaryDirectory() as made:
        os.environ["OPENAI_BASE_URL"] = os.environ["OPENAI_API_BASE"] = server.url
        write_rows(Path(made))
        rows = []
        for judge in JUDGES[framework]:
            row = measured(framework, judge, server, Path(made))
            rows.append(row)
            extra = 1 if judge == "by_criteria" else 0
            if (
                row["right"] != "20/20"
                or row["requests"] != row["calls"] + extra
                or row["metered"] != row["requests"]
            ):
                faults.append(f"{judge}: {row}")
            print(row, flush=True)
        judge = JUDGES[framework][0]
        for mode in MODES:
            script.mode, before = mode, len(server.requests)
            said = asyncio.run(answered(framework, judge))
            behaviour[mode] = {"outcome": said, "requests": len(server.requests) - before}
            behaviour[mode]["alone"] = asyncio.run(alone(framework, judge))
            print(mode, behaviour[mode], flush=True)
            if not said.startswith(ALLOWED.get(mode, ("unreadable",))):
                faults.append(f"{mode}: {said}")
        for judge in NUMBERS.get(framework, ()):
            script.mode = "off_scale"
            said = asyncio.run(answered(framework, judge))
            print("off_scale", judge, said, flush=True)
            if not said.startswith("unreadable"):
                faults.append(f"off_scale, {judge}: {said}")
        script.mode = "ok"
        faults += changed_prompt(framework, Path(made))
    for fault in faults:
        print("FAULT", fault)
    if target:
        Path(target).write_text(
            json.dumps(
                {
                    "framework": framework,
                    "version": installed(framework),
                    "judges": rows,
                }
                | {"behaviour": behaviour},
                indent=1,
            )
        )
    return 1 if faults else 0


def changed_prompt(framework: str, folder: Path) -> list[str]:
    """Another prompt in the user's file is another judge; the same is the same one, read anew or not."""
    home = Path(os.environ.get("PROMPTFOO_HOME", HERE))
    text = (
        home / "promptfooconfig.yaml" if framework == "promptfoo" else HERE / f"evals_{framework}.py"
    ).read_text()
    prints = []
    for name, content in (("a", text), ("b", text), ("c", re.sub("Is the answer right", "Is it true", text))):
        place = home / f"{name}.yaml" if framework == "promptfoo" else folder / f"{name}.py"
        place.write_text(content)
        kind = "promptfoo" if framework == "promptfoo" else "python"
        address = f"{kind}/{place}:{JUDGES[framework][0]}{QUERY.get(framework, '')}"
        made = parse_judge(address, Path(), parse_scale("binary"))
        prints.append(made.options["source"])
    told = {
        "same file, same judge": prints[0] == prints[1],
        "changed prompt, new judge": prints[0] != prints[2],
    }
    return [name for name, kept in told.items() if not kept]


if __name__ == "__main__":
    if "--table" in sys.argv:
        print(table(sys.argv[2:]))
        sys.exit()
    names = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    sys.exit(main(names[0], names[1] if "--json" in sys.argv else None))
