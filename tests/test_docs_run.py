"""Every block and every command of the pages is tried as printed: studies, policies, lines, code, consoles.

A page is followed from its first block to its last in a folder of its own. What a reader would have is there:
the data files with the columns that a block names, run folders that a command names, and a server on loopback
in the place of every vendor. A block that is neither tried nor named in NOT_TRIED fails.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
import yaml

from commands import Command, Done, StartedCommand, run_forked
from docs_pages import FOLLOWED, PAGES, ROOT, Block, blocks, name, spans
from docs_world import Vendor, write_data, write_texts, write_world
from servers import ScriptedServer
from steelyard.commands.gate.ruling import EXIT_CODES
from steelyard.trials.prompt import PAIRWISE_VARIABLES, PromptTemplate
from test_plugin import installed  # noqa: F401 (a fixture)
from test_replay import record

WITHOUT_A_PAGE = {"--status", "--bundle", "--export", "--import", "--finish"}
"""Their options that serve none."""
PAGES_OF = ("review", "view")
"""Commands that serve pages until they are ended."""
NOT_TRIED = {
    ("CONTRIBUTING.md", "cli | api → web"): "a picture of the layers; import-linter holds them",
    ("docs/guides/decide.md", "steelyard plan    --until"): "test_until.py runs it on planted judges",
    ("docs/architecture.md", "tasks → stimuli"): "a picture of the layers",
    ("docs/guides/read-a-datasheet.md", "planted/probit: 6 stimuli"): "what a command above it prints, cut",
    ("README.md", "$ pip install"): "would install into the environment of the tests",
    ("README.md", "$ make demo"): "sets an environment up and fetches weights; targets are held against make",
    ("docs/guides/judge-agents.md", "- id: honest"): "a list of rubrics; test_rubric_lists reads one like it",
    ("docs/guides/judge-agents.md", "inspect score"): "test_inspect_scorer types one like it",
    ("docs/guides/judge-agents.md", "[003] ASSISTANT"): "two messages of a rendering, cut",
    ("docs/guides/quickstart.md", "~/.bashrc"): "lines of shells' own files; test_completion has a bash",
    ("docs/guides/three-studies.md", "$ python"): "test_three_studies.py runs it, where the data are",
    (
        "docs/guides/three-studies.md",
        "$ steelyard",
    ): "test_three_studies.py compares what they print",
    ("docs/guides/use-a-cluster.md", "head$"): "several machines; tests/test_ray_engine.py has two nodes",
    ("docs/concepts.md", "2 · stable + 2"): "an identity, in words",
    ("docs/guides/teach-with-planted-judges.md", "X = s ·"): "a model, in symbols",
    (
        "docs/guides/add-a-probe.md",
        '"""Capitals',
    ): "the very file of the plug-in example, which has its tests",
    ("docs/guides/add-a-probe.md", "[build-system]"): "the same",
    ("docs/guides/add-a-provider.md", "[project.entry-points"): "part of the example, which has its tests",
    ("docs/guides/add-a-chart.md", "[project.entry-points"): "part of the example, which has its tests",
}
"""Page and beginning of a block to the reason why it is not tried here; `make docs` writes docs/cli.md."""

FRAMEWORKS = "docs/guides/frameworks/"
"""Pages that benchmarks/frameworks/run.py follows, where the framework is installed."""

GENERATED = ("docs/cli.md", "docs/python.md")
"""Pages that docs/generate.py writes as a whole."""

REDUCED = {
    "docs/guides/quickstart.md": ("--profile", "quick"),
    "docs/guides/teach-with-planted-judges.md: openai/mystery": ("-p", "vacuum"),
    "docs/guides/what-outweighs-quality.md: standard": ("--profile", "quick"),
}
"""Page, or page and part of a command, to options that make thousands of calls over HTTP some hundred."""

HOUSE = {
    "name": "judge",
    "judges": [{"name": "house", "model": "planted/probit", "s": 4, "tau": 2.2, "sigma": 0, "lapse": 0}],
    "probes": ["vacuum", "ladder"],
}
TWO = {
    **HOUSE,
    "name": "two",
    "judges": [{"name": "gpt-4o", "model": "planted/probit"}, {"name": "sonnet", "model": "planted/coin"}],
}
SCORES = {"name": "scores", "judges": ["planted/rater"], "task": {"scale": "binary"}, "probes": ["typos"]}
FOLDERS = {
    **dict.fromkeys(("A", "B", "DIR", "BEFORE", "AFTER"), HOUSE),
    "runs/study": TWO,
    "runs/agents": {"name": "agents", "judges": ["planted/rater"], "probes": ["forged_result"]},
    **dict.fromkeys(("runs/harmbench", "runs/graded"), SCORES),
    "runs/persuade": {**SCORES, "name": "others", "seed": 8},
}
"""Run folders that a page may name to what was measured in them; HOUSE where none is said."""
ADDRESS = re.compile(r"http://127\.0\.0\.1:8(?:000|765)/v1")
PLUGINS = tuple(f"docs/guides/add-a-{kind}.md" for kind in ("probe", "figure", "provider"))
LLMBAR = [
    {
        "item_id": f"Natural#{n}",
        "judge": judge,
        "prompt": "Vanilla",
        "winner_AB": "1",
        "winner_BA": other,
        "gold": "1",
    }
    for n in range(8)
    for judge, other in (("GPT-4", "1"), ("PaLM2", "12"[n % 2]))
]


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Modules of a folder can be imported, and are forgotten afterwards."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for path in folder.glob("*.py"):
            sys.modules.pop(path.stem, None)


@dataclass
class Reader:
    """Somebody who does what a page says."""

    page: str
    folder: Path
    run: Callable[..., Done]
    vendor: Vendor
    url: str
    shelf: Path
    tried: list[str] = field(default_factory=list)
    served: list[StartedCommand] = field(default_factory=list)

    # Blocks

    def follow(self, block: Block) -> None:
        """Do with a block what its kind asks for."""
        if block.shown or self._excused(block):
            return
        done = getattr(self, "_" + re.sub(r"\W", "_", block.info), None)
        assert done is not None, f"{block.page}: a block {block.info!r} is neither tried nor excused"
        done(block)

    def _excused(self, block: Block) -> bool:
        return self.page.startswith((*GENERATED, FRAMEWORKS)) or any(
            page == self.page and block.text.startswith(start) for page, start in NOT_TRIED
        )

    def _yaml(self, block: Block) -> None:
        text = ADDRESS.sub(self.url, block.text)
        body = yaml.safe_load(text)
        write_texts(text, self.folder)
        self.learn(body.get("data"))
        file = self._study_file()
        (self.folder / file).write_text(text, encoding="utf-8")
        if body.get("review"):
            self.type(f"steelyard generate {file}")
            self.accept()
        self.type(f"steelyard measure {file}")

    def _study_file(self) -> str:
        """The name under which the page's commands know its studies."""
        page = (ROOT / self.page).read_text(encoding="utf-8")
        found = re.search(r"steelyard (?:measure|plan|generate) ([\w-]+\.yaml)", page)
        return found[1] if found else "study.yaml"

    def _yaml_policy(self, block: Block) -> None:
        (self.folder / "judge").mkdir(exist_ok=True)
        for file in ("policy.yaml", "judge/policy.yaml"):
            (self.folder / file).write_text(block.text, encoding="utf-8")

    def _yaml_checklists(self, block: Block) -> None:
        (self.folder / "checklists.yaml").write_text(block.text, encoding="utf-8")

    def _yaml_workflow(self, block: Block) -> None:
        lines = [line.strip().removeprefix("- ") for line in block.text.splitlines()]
        for line in lines:
            if line.startswith("run: steelyard"):
                self.type(line.removeprefix("run: "))

    def _yaml_fragment(self, block: Block) -> None:
        body = {"judges": ["planted/first"], **yaml.safe_load(block.text)}
        (self.folder / "fragment.yaml").write_text(yaml.safe_dump(body))
        self.type("steelyard measure fragment.yaml")

    def _yaml_excerpt(self, block: Block) -> None:
        known = "".join(
            path.read_text(encoding="utf-8") for path in (ROOT / "src/steelyard/tasks").glob("[cp]a*/*.yaml")
        )
        known = " ".join(known.split())
        for piece in re.findall(r"[^…\"]+", block.text.replace("\n", "…")):
            said = " ".join(re.sub(r"^[\s-]*(\w+: )?", "", piece).split())
            assert said in known, f"{self.page}: the built-in files do not say {said!r}"

    def _console(self, block: Block) -> None:
        assert block.commands, f"{self.page}: a console without a command"
        assert len(block.commands) == len(block.text.replace("\\\n", " ").splitlines()), "output is not shown"
        self._sh(block)

    def _sh(self, block: Block) -> None:
        for command in block.commands:
            self.type(command)

    def _json(self, block: Block) -> None:
        line = json.loads(block.text)
        if "lineage" in line:
            self._stimulus(line)
            return
        file = f"line-{len(self.tried)}.jsonl"
        (self.folder / file).write_text(json.dumps(line) + "\n", encoding="utf-8")
        self.type(f"steelyard import {file} --out {file}.sheet")

    def _stimulus(self, line: dict[str, Any]) -> None:
        """Every key of a printed stimulus stands in those of the run before, with values of the same form."""
        kept = [
            json.loads(text)
            for path in self.runs()
            for text in (path / "stimuli.jsonl").read_text().splitlines()
        ]
        like = next(each for each in kept if each["lineage"]["author"] and each["probe"] == "label_flip")
        assert line.keys() <= like.keys()
        assert line["lineage"].keys() <= like["lineage"].keys()
        assert line["expectation"].keys() == like["expectation"].keys()

    def _python(self, block: Block) -> None:
        if "harmbench.csv" in block.text:
            self.learn({"path": "harmbench.csv"})
        if named := re.match(r"# (\w+\.py)\n", block.text):
            (self.folder / named[1]).write_text(block.text, encoding="utf-8")
        scope: dict[str, Any] = {"__name__": "printed"}
        with importable(self.folder):
            exec(compile(block.text, self.page, "exec"), scope)
        if "Capitals" in scope:
            probe = scope["Capitals"]()
            assert probe.edit_text("Two words.", None) == "TWO WORDS."
            assert probe.edit_text("2", None) is None

    def _text(self, block: Block) -> None:
        """A prompt in braces, with a table that fills them."""
        (self.folder / "grader.md").write_text(block.text, encoding="utf-8")
        rows = [f"q{n},sums,What is {n} + 2?,It is {n + 2}.,{('bad', 'good')[n % 2]}" for n in range(12)]
        table = ["id,topic,question,answer,human_verdict", *rows]
        (self.folder / "answers.csv").write_text("\n".join(table) + "\n", encoding="utf-8")

    def _jinja(self, block: Block) -> None:
        PromptTemplate(block.text, self.page).check(PAIRWISE_VARIABLES)

    # Commands

    def type(self, printed: str) -> None:
        """Run one printed command, with what it needs at hand, and hold its exit code against the page."""
        command = ADDRESS.sub(self.url, printed)
        program, *words = shlex.split(command, comments=True)
        if program == "sqlite3":
            self._query(words)
            return
        assert program == "steelyard", f"{self.page}: {printed!r} is no command of this program"
        if words[0] == "serve-planted":
            self._serve(words)
            return
        self.prepare(words)
        if words[0] in PAGES_OF and not WITHOUT_A_PAGE & set(words):
            self._open(words)
            return
        done = self.run(*words, *self._reduced(printed, words))
        expected = self._expected(words, done)
        assert done.code == expected, f"{self.page}: {printed!r} ended with {done.code}: {done.err}"
        self.tried.append(printed)

    def _reduced(self, printed: str, words: list[str]) -> tuple[str, ...]:
        if words[0] != "measure":
            return ()
        if "-j" not in words and not self._judged(words):
            # Without a judge the embedded model is meant, whose weights would be fetched.
            return ("-j", "openai/gpt-4o-mini") if words[1].endswith(".yaml") else ("--dry-run",)
        for place, options in REDUCED.items():
            page, _, part = place.partition(": ")
            if page == self.page and part in printed:
                return options
        return ()

    def _judged(self, words: list[str]) -> bool:
        """True where a study file is named that names judges."""
        files = [self.folder / word for word in words if word.endswith(".yaml")]
        return any("judges" in yaml.safe_load(path.read_text(encoding="utf-8")) for path in files)

    def _expected(self, words: list[str], done: Done) -> int:
        """0, but for gates, which decide by what was measured: then what the certificate or the page says."""
        if "--status" in words:
            return min(done.code, 1)  # 1 where texts wait
        if words[0] != "gate":
            return 0
        if "--certificate" in words or "--check" in words:
            held = self.folder / (words[words.index("--certificate") + 1] if "--certificate" in words else "")
            path = held if held.is_file() else self.folder / words[1] / "certificate.json"
            return 0 if json.loads(path.read_text())["result"] == "PASS" else 3
        return EXIT_CODES[next(word for word in ("FAIL", "INCONCLUSIVE", "PASS") if word in done.out)]

    def _serve(self, words: list[str]) -> None:
        words[words.index("--port") + 1] = "0"
        self.served.append(StartedCommand(words, self.folder, os.environ))
        (said,) = self.served[-1].first_lines()
        self.url = re.search(r"at (http\S+) until", said)[1]  # type: ignore[index]
        self.tried.append(" ".join(words))

    def _open(self, words: list[str]) -> None:
        """Start a server of pages, get the page that its link leads to, and end it."""
        self.served.append(StartedCommand([*words, "--no-browser"], self.folder, os.environ))
        link = re.search(r"http\S+", self.served[-1].first_lines()[0])
        assert link is not None
        with build_opener(HTTPCookieProcessor()).open(link[0]) as page:
            assert page.status == 200
        self.tried.append(" ".join(words))

    def _query(self, words: list[str]) -> None:
        assert words[0] == "run.db"
        with closing(sqlite3.connect(self.measured(HOUSE) / "run.db")) as database, database:
            rows = database.execute(words[1]).fetchall()
        assert len(rows) == 5
        assert all("winner" in text for _, text in rows)

    # What a reader would have

    def learn(self, data: dict[str, Any] | None) -> None:
        """Write the files of a study's data; the vendor knows what people said of them."""
        if data is not None:
            self.vendor.scores |= write_data(data, self.folder)

    def measured(self, study: dict[str, Any]) -> Path:
        """A measured run of a small study, made once for all pages."""
        out = self.shelf / str(study["name"])
        if not out.exists():
            file = self.shelf / "study.yaml"
            file.write_text(yaml.safe_dump(study))
            assert self.run("measure", file, "--out", out).code == 0
        return out

    def runs(self) -> list[Path]:
        """Every run folder here."""
        return [path.parent for path in self.folder.rglob("run.db")]

    def accept(self) -> None:
        """Review as the page says: every waiting text is accepted in the file."""
        for path in self.runs():
            stimuli = path / "stimuli.jsonl"
            lines = [json.loads(line) for line in stimuli.read_text(encoding="utf-8").splitlines()]
            for line in lines:
                if line["lineage"].get("review") == "pending":
                    line["lineage"]["review"] = "accepted"
            stimuli.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    def prepare(self, words: list[str]) -> None:
        """Files and folders that a command reads and nobody has made yet."""
        write_texts(" ".join(words), self.folder)
        given = dict(pairwise(words))
        if "--data" in given and ("--columns" in given or not (self.folder / given["--data"]).exists()):
            columns = dict(pair.split("=") for pair in given.get("--columns", "").split(",") if pair)
            self.learn({"path": given["--data"], "columns": columns})
        made = {
            given.get(option) for option in ("--out", "--bundle", "--junit", "--markdown", "--html", "--data")
        }
        for word in words[1:]:
            path = self.folder / word.partition(":")[0]
            if word not in made and not word.startswith("-") and not path.exists():
                self._make(word, path)

    def _certify(self) -> None:
        """A certificate in the folder of the run: a refusal, for what was measured there decides nothing."""
        policy = self.folder / "refusing.yaml"
        policy.write_text("unreadable_rate: {min: 0.9}\n", encoding="utf-8")
        gate = ["gate", "runs/judge", "--policy", policy.name]
        assert run_forked(gate, self.folder, os.environ).code == EXIT_CODES["FAIL"]

    def _make(self, word: str, path: Path) -> None:
        if path.name == "study.yaml":
            path.parent.mkdir(exist_ok=True)
            path.write_text(yaml.safe_dump(HOUSE))
        elif path.name == "certificate.json":
            self._certify()
            shutil.copy(self.folder / "runs/judge/certificate.json", path)
        elif path.name == "policy.yaml":
            guide = next(page for page in PAGES if page.name == "gate-a-release.md")
            path.write_text(next(block.text for block in blocks(guide) if block.info == "yaml policy"))
        elif path.name == "verdicts.csv":
            path.write_text("id,verdict,human,topic\n" + "".join(f"{n},yes,{n % 2},t\n" for n in range(12)))
        elif path.name == "verdicts.jsonl":
            path.write_text("".join(json.dumps(line) + "\n" for line in LLMBAR))
        elif word.startswith("recorded/"):
            self._record(self.folder / word.removeprefix("recorded/").partition("?")[0])
        elif path.name == "runs":
            shutil.copytree(self.measured(HOUSE), path / "judge", dirs_exist_ok=True)
        elif path.name in FOLDERS or path.parent.name == "runs":
            study = FOLDERS.get(path.relative_to(self.folder).as_posix(), HOUSE)
            shutil.copytree(self.measured(study), path)

    def _record(self, path: Path) -> None:
        """Calls of a judge that answered the same stimuli."""
        done = self.run("measure", "-j", "planted/probit?name=Qwen32B", "--out", "recorded")
        assert done.code == 0, done.err
        record(self.folder / "recorded", path, "Qwen32B")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where runs lie that several pages speak of."""
    return tmp_path_factory.mktemp("shelf")


@pytest.fixture
def reader(
    request: pytest.FixtureRequest,
    command: Command,
    steelyard: Any,
    installed: str,  # noqa: F811
    shelf: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Reader]:
    """The reader of one page."""
    page = name(request.param)

    def as_plugin(*words: object) -> Done:
        done = steelyard(*words, PYTHONPATH=installed)
        return Done(done.returncode, done.stdout, done.stderr)

    vendor = Vendor()
    with ScriptedServer(vendor) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        for key in ("OPENAI_API_KEY", "OUR_JUDGE_KEY"):
            monkeypatch.setenv(key, "none")
        write_world(tmp_path)
        run = as_plugin if page in PLUGINS else command
        found = Reader(page, tmp_path, run, vendor, server.url, shelf)
        yield found
        for process in found.served:
            process.kill()


@pytest.mark.parametrize("reader", FOLLOWED, ids=name, indirect=True)
def test_what_a_page_prints_can_be_done(reader: Reader) -> None:
    path = ROOT / reader.page
    printed = blocks(path)
    for block in printed:
        if block.info == "yaml policy":
            reader.follow(block)
    for block in printed:
        reader.follow(block)
    for command in spans(path):
        if command not in reader.tried:
            reader.type(command)
    if path.name == "teach-with-planted-judges.md":
        the_lesson_is_what_comes_out(next(run for run in reader.runs() if "one-fault" in run.name))


def the_lesson_is_what_comes_out(run: Path) -> None:
    """Each judge has the fault that the page says gives it away, and no other judge has it."""
    rows = json.loads((run / "datasheet.json").read_text())["estimates"]

    def figure(judge: str, metric: str, **group: object) -> float:
        found = [
            r
            for r in rows
            if (r["judge"], r["metric"], r["group"]) == (judge, metric, {"protocol": "base", **group})
        ]
        return float(found[0]["value"])

    judges = ("sound", "leaning", "fussy", "blunt", "timid")
    equal = {"delta": 0, "kind": "same_subset"}
    for metric, culprit in (
        ("net_slot_preference", "leaning"),
        ("positional_false_preference", "leaning"),
        ("stable_cross_sensitivity", "fussy"),
    ):
        assert max(judges, key=lambda judge: figure(judge, metric, **equal)) == culprit
    assert figure("leaning", "dark_current") > figure("sound", "dark_current") + 0.1
    assert abs(figure("fussy", "dark_current") - figure("sound", "dark_current")) < 0.1
    assert figure("blunt", "delta75") > max(figure(judge, "delta75") for judge in judges if judge != "blunt")
    for delta in (1, 2, 3):
        assert figure("blunt", "target_sensitivity", delta=delta) < 0.8
    assert figure("timid", "miss_by_tie", delta=1) > 0.5
    assert min(figure("timid", "target_sensitivity", delta=delta) for delta in (2, 3, 4, 5)) > 0.9


def test_every_excuse_is_needed() -> None:
    for page, start in NOT_TRIED:
        assert any(block.text.startswith(start) for block in blocks(ROOT / page)), f"{page}: {start}"


def test_make_has_the_targets_that_are_named() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        for target in re.findall(r"(?:`|^\$ )make ([a-z]+)", page.read_text(encoding="utf-8"), re.MULTILINE):
            assert target in targets, f"{page.name}: make {target}"
