"""Measure a framework's judge against a scripted model, as it is and in each way a reply can go wrong.

    PYTHONPATH=src:tests VENV/bin/python benchmarks/frameworks/run.py deepeval [FILE]
    PYTHONPATH=src:tests VENV/bin/python benchmarks/frameworks/run.py --guide FILE…

Exit code 1 where a judge that is right by construction is not 20 of 20 with a request for each call, where a
failure became a grade, where another model, temperature, prompt or own code made no new calls or kept its
certificate, or where anything tried to leave this machine. Each
framework has an environment of its own: `make test-frameworks` makes them, or takes those of FRAMEWORK_ENVS.
The framework's page in `docs/guides/frameworks` is followed; `--guide` renews the table of `failures.md`.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ |= {
    "OPENAI_API_KEY": "scripted",
    "PYTHONWARNINGS": "ignore",
    "WATCH_LOG": str(Path(tempfile.mkdtemp()) / "attempts"),
    "NODE_OPTIONS": f"--require {Path(__file__).parent.resolve() / 'watched' / 'net.cjs'}",
}

from judge_server import OFF, JudgeServer
from watched import sitecustomize  # noqa: F401

import steelyard
from docs_pages import Block, blocks
from servers import ScriptedServer
from steelyard.errors import CallError, CertificateError, ConfigError, SteelyardError, TransientError
from steelyard.providers.provider import connect
from steelyard.study.judge_config import parse_judge
from steelyard.tasks.task import parse_scale
from steelyard.trials.judge import Decoding, Presentation, Slots
from steelyard.verdicts.readers import READERS
from steelyard.verdicts.verdict import Unreadable

HERE = Path(__file__).parent.resolve()
QUERY = {"ragas": "?llm=llm"}
DISTRIBUTION = {"inspect": "inspect_ai", "phoenix": "arize-phoenix-evals"}
JUDGES = {
    "autoevals": ("correct", "by_reference", "factual"),
    "deepeval": ("correct", "by_criteria", "graph", "by_reference", "faithful"),
    "inspect": ("correct", "by_reference"),
    "mlflow": ("correct", "by_reference", "guided"),
    "openevals": ("correct", "threaded", "continuous", "by_reference"),
    "phoenix": ("correct", "by_reference"),
    "promptfoo": ("correct", "by_reference"),
    "ragas": ("correct", "scored", "by_reference", "aspect", "faithful"),
}
"""Judges of one text."""
PAIRWISE = {"autoevals": ("battle",), "deepeval": ("arena",)}
REQUESTS = {"deepeval faithful": 4, "deepeval arena": 2, "ragas faithful": 2}
"""Requests of one call, where there is more than one; of claims, of verdicts on them, of a reason."""
MODES = ("garbage", "empty", "truncated", "off_scale", "http400", "http429", "http500")
ALLOWED = {
    "http400": ("failed",),
    "http429": ("failed", "tried again"),
    "http500": ("failed", "tried again"),
}
ASKED, CHANGED = "Is the answer right", "Is it true"
"""Words of each prompt, and those that make another judge of it."""
MODEL = ("gpt-4o", "gpt-4o-mini")
CHANGES = {
    "deepeval": (("by_own_model", *MODEL), ("by_own_model", "Judge it.", "Judge it well.")),
    "inspect": (("by_own_scorer", *MODEL), ("by_own_scorer", "GRADE: C or I", "GRADE: C, or I")),
    "openevals": (
        ("by_messages", ASKED, CHANGED),
        ("by_function", ASKED, CHANGED),
        ("by_function", "PROMPT.format", "PROMPT.strip().format"),
    ),
    "ragas": (("correct", *MODEL), ("aspect", *MODEL)),
}
"""Further judges, each with words of its file and those that make another judge of it."""
MUTATIONS = {
    "model": (MODEL,),
    "temperature": (
        ("temperature=0", "temperature=0.5"),
        ("mperature: 0}", "mperature: 0.5}"),
        ('e": 0}', 'e": 0.5}'),
    ),
    "prompt": (
        (ASKED, CHANGED),
        ("Expert:", "Truth:"),
        ("Compare with", "Look at"),
        ("Which is better", "Which one is better"),
        ("The answer is right.", "The answer is true."),
        ("It agrees with", "It is in line with"),
        ("How right", "How true"),
        ("{{ expectations }}", "Truth: {{ expectations }}"),
    ),
}
"""What is changed in the file of every judge, one after the other."""
PROMPTLESS = ("factual", "battle", "faithful", "inspect by_reference")
"""Judges whose prompt is the framework's."""
PATIENCE = 15.0
"""Seconds for one call; a framework that is still trying then is cut off, as `--timeout` does."""


def write_rows(folder: Path) -> None:
    rows, pairs = ["q,a,ref,ctx,ok"], ["q,x,y,ok"]
    for n in range(20):
        text, other = ("zebra", "horse") if n % 2 else ("horse", "zebra")
        rows.append(f"question {n},{text} {n},fact {n},passage {n},{n % 2}")
        pairs.append(f"question {n},{text} {n},{other} {n},{1 if n % 2 else 2}")
    (folder / "rows.csv").write_text("\n".join(rows))
    (folder / "pairs.csv").write_text("\n".join(pairs))
    (folder / "rubric.md").write_text("Is the answer right?")


def address_of(framework: str, judge: str, place: Path | None = None) -> str:
    if framework == "promptfoo":
        return f"promptfoo/{place or home() / 'promptfooconfig.yaml'}:{judge}"
    query = "?threshold=0.5" if judge == "factual" else QUERY.get(framework, "")
    return f"python/{place or f'evals_{framework}.py'}:{judge}{query}"


def home() -> Path:
    """Folder with promptfoo in its node_modules."""
    return Path(os.environ["PROMPTFOO_HOME"])


def measured(
    judge: str,
    address: str,
    server: ScriptedServer,
    folder: Path,
    paired: bool,
    out: str,
    probe: str = "format_invariance_1",
) -> dict[str, Any]:
    """The judge on 20 rows, each as it is and with one edit that keeps its meaning, or 20 pairs, each in
    both orders: 40 calls, 16 of them at a time."""
    before = len(server.requests)
    single = {"request": "q", "response": "a", "label": "ok", "reference": "ref", "context": "ctx"}
    pair = {"request": "q", "response_1": "x", "response_2": "y", "label": "ok"}
    sheet = steelyard.measure(
        as_measured(judge, address),
        probes=["position" if paired else probe],
        data={
            "path": str(folder / ("pairs.csv" if paired else "rows.csv")),
            "columns": pair if paired else single,
        },
        task={
            "scale": "pairwise" if paired else "binary",
            "rubric": str(folder / ("points.md" if probe == "rubric_order" else "rubric.md")),
        },
        out=folder / out,
    )
    right = sheet.of(judge, "accuracy_both" if paired else "accuracy")[0]
    return {
        "judge": judge,
        "right": f"{right.numerator}/{right.denominator}",
        "calls": sheet.run["calls"],
        "requests": len(server.requests) - before,
        "metered": sheet.run["input_tokens"] // 100,
        "caveats": sheet.caveats(judge),
    }


async def answered(framework: str, judge: str) -> dict[str, Any]:
    """One call: what becomes of it (a grade, unreadable, failed or tried again), its requests, and what the
    framework alone makes of the reply."""
    address, paired = address_of(framework, judge), judge in PAIRWISE.get(framework, ())
    scale = parse_scale("pairwise" if paired else "binary")
    made = parse_judge(address, Path(), scale)
    texts = ("zebra 1", "horse 1") if paired else ("zebra 1",)
    slots = Slots("question 1", texts, reference="fact 1", context="passage 1")
    provider: Any = connect(made)
    heard = [f"still trying after {PATIENCE:g} s"]
    owner, method = (provider, "_graded") if framework == "promptfoo" else (provider._adapter, "grade")
    setattr(owner, method, overheard(getattr(owner, method), heard))
    await provider.open()
    try:
        async with asyncio.timeout(PATIENCE):
            reply = await provider.ask(Presentation((), slots, scale.answers, Decoding()))
    except TimeoutError as error:
        said, requests = "tried again (timeout)", getattr(error.__cause__, "requests", 0)
    except CallError as error:
        again = isinstance(error, TransientError)
        said, requests = f"{'tried again' if again else 'failed'} ({error.reason})", error.requests
    except SteelyardError as error:
        said, requests = f"stopped ({type(error).__name__}: {error})", 0
    else:
        verdict = READERS.build(made.protocols["base"].reader)(reply, scale)
        unread = isinstance(verdict, Unreadable)
        said = f"unreadable ({verdict.reason})" if unread else f"GRADE {verdict}"
        requests = reply.usage.requests
    finally:
        await provider.close()
    return {"judge": judge, "outcome": said, "requests": requests, "alone": heard[-1]}


def overheard(call: Any, heard: list[str]) -> Any:
    """The framework's own call, with a list of what came of it: a score that it hands on, or an exception."""

    async def listening(slots: Slots) -> Any:
        try:
            found = await call(slots)
        except Exception as error:
            heard.append(f"raises {type(error).__name__}")
            raise
        heard.append(in_words(found))
        return found

    return listening


def in_words(found: Any) -> str:
    if isinstance(found, dict):
        return f"**pass {str(found['pass']).lower()}, score {found['score']}**"
    if found.value is None or found.value != found.value:
        handed = next((word for word in ("'maybe'", str(OFF)) if word in found.why), None)
        return "no score, with a reason" if handed is None else f"**hands on {handed}**"
    return f"**says {found.value}**" if isinstance(found.value, str) else f"**scores {found.value:g}**"


NAMES = {"garbage": "no answer", "off_scale": "off the scale", "http500": "HTTP 500", "http429": "HTTP 429"}


def installed(framework: str) -> str:
    if framework == "promptfoo":
        package = home() / "node_modules/promptfoo/package.json"
        return str(json.loads(package.read_text())["version"])
    return version(DISTRIBUTION.get(framework, framework))


GUIDES = HERE.parent.parent / "docs" / "guides" / "frameworks"
FAILURES = GUIDES / "failures.md"
TAIL = "<!-- end of measured -->"
HEAD = "| framework | judges | " + " | ".join(NAMES.values()) + " |"


def renew_table(paths: list[str]) -> None:
    """Write what each judge does into the guide, in place of the table that is there; equal rows are one."""
    lines = [HEAD, "|---|---|" + "---|" * len(NAMES)]
    for path in sorted(paths):
        body, alike = json.loads(Path(path).read_text()), dict[str, list[str]]()
        for rows in zip(*(body["behaviour"][mode] for mode in NAMES), strict=True):
            cells = " | ".join(f"{row['alone']} ({row['requests']})" for row in rows)
            alike.setdefault(cells, []).append(rows[0]["judge"])
        name = f"{body['framework']} {body['version']}"
        lines += [f"| {name} | {', '.join(judges)} | {cells} |" for cells, judges in alike.items()]
        for row in body["judges"]:
            print(
                f"{body['framework']} {row['judge']}: {row['right']} right, "
                f"{row['requests']} requests for {row['calls']} calls"
            )
    before, found, rest = FAILURES.read_text().partition(HEAD)
    assert found, f"no table in {FAILURES}"
    after = rest[rest.index(TAIL) :]
    FAILURES.write_text(before + "\n".join(lines) + "\n\n" + after)


def followed(framework: str, script: JudgeServer, folder: Path) -> list[str]:
    """Do what the framework's page says, then change the judge: the certified file must refuse it."""
    place, printed = folder / "page", blocks(GUIDES / f"{framework}.md")
    place.mkdir()
    rows = [f"question {n},{'zebra' if n % 2 else 'horse'} {n},fact {n},{n % 2}" for n in range(40)]
    (place / "rows.csv").write_text("\n".join(["question,answer,expected,ok", *rows]))
    (place / "rubric.md").write_text("Is the answer right?")
    if framework == "promptfoo":
        (place / "node_modules").symlink_to(home() / "node_modules")
    script.mode = "ok"
    os.chdir(place)
    try:
        faults = [fault for block in printed for fault in done(block)]
        judged = next(iter(place.glob("evals.py")), place / "promptfooconfig.yaml")
        assert ASKED in judged.read_text(), f"{framework}.md: no {ASKED!r}"
        judged.write_text(judged.read_text().replace(ASKED, CHANGED))
        code = next(block.text for block in printed if "certificate=" in block.text)
        try:
            exec(compile(code, f"{framework}.md", "exec"), {"__name__": "page"})
            faults.append(f"{framework}.md: the changed judge is not refused")
        except CertificateError as error:
            print("page", error, flush=True)
    finally:
        os.chdir(HERE)
    return faults


def done(block: Block) -> Iterator[str]:
    """Write a file that the page shows, type a command, or use the remedied judge."""
    if named := re.match(r"# (\S+)\n", block.text):
        Path(named[1]).write_text(block.text)
    if "certificate=" in block.text:
        scope: dict[str, Any] = {"__name__": "page"}
        exec(compile(block.text, block.page, "exec"), scope)
        said = [scope["judge"]("question 1", f"{text} 1", reference="fact 1") for text in ("zebra", "horse")]
        if said != [1, 0]:
            yield f"{block.page}: the remedied judge says {said}"
    if block.info == "sh":
        [expected] = re.findall(r'The output adds "([^"…]+)', (GUIDES / Path(block.page).name).read_text())
        for command in block.commands:
            words = shlex.split(command.removeprefix("steelyard "))
            few = ["-p", "format_invariance_1"] if words[0] == "measure" else []
            ran = subprocess.run(
                [sys.executable, "-m", "steelyard", *words, *few],
                capture_output=True,
                text=True,
                env=os.environ | {"PYTHONPATH": f"{HERE.resolve().parents[1] / 'src'}:{HERE / 'watched'}"},
            )
            said = " ".join((ran.stdout + ran.stderr).split())
            if ran.returncode or (few and " ".join(expected.split()) not in said):
                yield f"{block.page}: {command} ended with {ran.returncode}: {said}"


def main(framework: str, target: str | None) -> int:
    os.chdir(HERE)
    script = JudgeServer()
    with ScriptedServer(lambda request: script(request)) as server, tempfile.TemporaryDirectory() as made:
        os.environ["OPENAI_BASE_URL"] = os.environ["OPENAI_API_BASE"] = server.url
        folder, faults = Path(made), list[str]()
        write_rows(folder)
        rows = list(every_judge(framework, server, folder, faults))
        faults += followed(framework, script, folder)
        faults += moved_points(framework, server, folder)
        for change in ((JUDGES[framework][0], ASKED, CHANGED), *CHANGES.get(framework, ())):
            faults += changed(framework, *change, script, server, folder)
        for judge in (*JUDGES[framework], *PAIRWISE.get(framework, ())):
            faults += mutated(framework, judge, script, server, folder)
        behaviour = dict(every_failure(framework, script, faults))  # last: some go on in threads
    log = Path(os.environ["WATCH_LOG"])
    attempts = Counter(log.read_text().split() if log.exists() else ())
    print("attempts to leave this machine", dict(attempts), flush=True)
    faults += [f"{count} attempts to reach {host}" for host, count in attempts.items()]
    for fault in faults:
        print("FAULT", fault)
    if target:
        body = {"framework": framework, "version": installed(framework), "judges": rows}
        Path(target).write_text(json.dumps(body | {"behaviour": behaviour}, indent=1))
    return 1 if faults else 0


def every_judge(
    framework: str, server: ScriptedServer, folder: Path, faults: list[str]
) -> Iterator[dict[str, Any]]:
    paired = PAIRWISE.get(framework, ())
    for judge in (*JUDGES[framework], *paired):
        row = measured(judge, address_of(framework, judge), server, folder, judge in paired, judge)
        expected = row["calls"] * REQUESTS.get(f"{framework} {judge}", 1) + (judge == "by_criteria")
        if row["right"] != "20/20" or not row["requests"] == row["metered"] == expected:
            faults.append(f"{judge}: {row}")
        print(row, flush=True)
        yield row


def every_failure(
    framework: str, script: JudgeServer, faults: list[str]
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    judges = (*JUDGES[framework], *PAIRWISE.get(framework, ()))

    async def every() -> list[dict[str, Any]]:
        return await asyncio.gather(*(answered(framework, judge) for judge in judges))

    for mode in MODES:
        script.mode = mode
        found = asyncio.run(every())
        for row in found:
            print(mode, row, flush=True)
            if not row["outcome"].startswith(ALLOWED.get(mode, ("unreadable",))):
                faults.append(f"{mode}: {row}")
        yield mode, found


POINTS = "1. It is right.\n2. It is short.\n3. It is polite."
VISIBLE = ("autoevals", "inspect", "openevals", "promptfoo")
"""Frameworks whose prompt can be seen and changed."""


def moved_points(framework: str, server: ScriptedServer, folder: Path) -> list[str]:
    """The points of the rubric in another order really stand in the prompt, for half of the calls."""
    if framework not in VISIBLE:
        return []
    before = len(server.requests)
    (folder / "points.md").write_text(POINTS)
    measured("by_points", address_of(framework, "by_points"), server, folder, False, "points", "rubric_order")
    asked = [json.dumps(request.body) for request in server.requests[before:]]
    plain = [text.replace("\\\\", "\\").replace("\\n", "\n") for text in asked]
    as_written = sum(POINTS in text for text in plain)
    whole = sum(all(word in text for word in ("right.", "short.", "polite.")) for text in plain)
    print("points", {"as written": as_written, "moved": whole - as_written}, flush=True)
    return [] if (as_written, whole) == (20, 40) else [f"points: {as_written} as written, {whole} whole"]


def certified(judge: str, address: str, folder: Path) -> str:
    """Whether the certificate of the folder, which is issued once, speaks of the judge as it is."""
    certificate = folder / "certificate.json"
    if not certificate.exists():
        steelyard.gate(folder, "smoke")
    try:
        steelyard.remedied(as_measured(judge, address), scale="binary", certificate=certificate)
    except CertificateError:
        return "refused"
    return "certified"


def as_measured(judge: str, address: str) -> dict[str, Any]:
    return {"model": address, "name": judge, "concurrency": 16}


def changed(
    framework: str,
    judge: str,
    before: str,
    after: str,
    script: JudgeServer,
    server: ScriptedServer,
    folder: Path,
) -> list[str]:
    """Measure, measure again, change words in the file, and measure again: only then new calls.

    The folder and the certificate of the first judge are refused for the second. The scripted model is wrong
    on all rows after the change, so that no old reply can be taken for a new one.
    """
    source = home() / "promptfooconfig.yaml" if framework == "promptfoo" else HERE / f"evals_{framework}.py"
    place = source.with_name(f"changed_{framework}{source.suffix}")
    address, first = address_of(framework, judge, place), folder / f"{judge} {after} a"
    found: list[Any] = []
    try:
        for mode, words, out in (("ok", before, "a"), ("ok", before, "a"), ("inverted", after, "a")):
            script.mode = mode
            place.write_text(source.read_text().replace(before, words))
            try:
                row = measured(judge, address, server, folder, False, f"{judge} {after} {out}")
                found.append((row["right"], row["requests"]))
            except ConfigError as error:
                found.append("refused" if "judges differ" in str(error) else str(error))
            found.append(certified(judge, address, first))
        row = measured(judge, address, server, folder, False, f"{judge} {after} b")
        found.append((row["right"], row["requests"]))
    finally:
        place.unlink(missing_ok=True)
    print(f"{judge}: {before!r} changed to {after!r}", found, flush=True)
    unchanged = [("20/20", 40), "certified", ("20/20", 0), "certified"]
    expected = [*unchanged, "refused", "refused", ("0/20", 40)]
    return [] if found == expected else [f"{judge}: {before!r} changed to {after!r}: {found}"]


def mutated(
    framework: str, judge: str, script: JudgeServer, server: ScriptedServer, folder: Path
) -> Iterator[str]:
    """Another model, temperature or prompt: the folder is refused, and in another one every call is new."""
    source = home() / "promptfooconfig.yaml" if framework == "promptfoo" else HERE / f"evals_{framework}.py"
    place = source.with_name(f"mutated_{framework}{source.suffix}")
    address, paired = address_of(framework, judge, place), judge in PAIRWISE.get(framework, ())
    script.mode, text = "ok", source.read_text()
    try:
        place.write_text(text)
        measured(judge, address, server, folder, paired, f"mutated {judge}")
        for kind, changes in MUTATIONS.items():
            if kind == "prompt" and {judge, f"{framework} {judge}"} & set(PROMPTLESS):
                continue
            place.write_text(replaced(text, changes))
            try:
                measured(judge, address, server, folder, paired, f"mutated {judge}")
                found = "taken for the same"
            except ConfigError as error:
                found = "another judge" if "judges differ" in str(error) else str(error)
            row = measured(judge, address, server, folder, paired, f"mutated {judge} {kind}")
            print(f"{judge}: another {kind}: {found}, {row['requests']} requests", flush=True)
            if found != "another judge" or row["requests"] < row["calls"]:
                yield f"{judge}: another {kind}: {found}, {row['requests']} requests for {row['calls']} calls"
    finally:
        place.unlink(missing_ok=True)


def replaced(text: str, changes: Sequence[tuple[str, str]]) -> str:
    for before, after in changes:
        text = text.replace(before, after)
    return text


if __name__ == "__main__":
    if "--guide" in sys.argv:
        renew_table(sys.argv[2:])
        sys.exit()
    sys.exit(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))
