"""The documents say what is true: generated parts are current, links lead somewhere, sizes hold."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from commands import Command, run_command
from docs_pages import PAGES, ROOT, blocks, name
from each import for_each
from steelyard.commands.gate.policy import SHIPPED, find_policy
from steelyard.core.registry import Spec
from steelyard.probes.probe import PROBES
from steelyard.stimuli.ladder import compose
from steelyard.study.role_config import parse_roles
from steelyard.study.study_file import load_config
from steelyard.study.task_config import TaskConfig
from steelyard.tasks.checklist import catalogue, subjects

DOCS = ROOT / "docs"
each_page = for_each("page", PAGES, name)


def data_config(body: dict[str, Any], where: str) -> Any:
    """The `data` key of a study file."""
    data = load_config(None, {"data": body}, where).data
    assert data is not None
    return data


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def without_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def table_rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_command_page_is_what_the_commands_say(generator: ModuleType) -> None:
    assert read(DOCS / "cli.md") == generator.cli_page(), "run `make docs`"


def test_outputs_shown_in_the_pages_are_what_the_commands_print(
    generator: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs: dict[tuple[str, ...], Path] = {}

    def inside(arguments: list[str], folder: str, environment: dict[str, str]) -> str:
        study = tuple(text for text in arguments if text != "--full")
        if study in runs:  # its other sections are printed from the files of the first run
            shutil.copytree(runs[study], folder, dirs_exist_ok=True)
        out = run_command(Path(folder), *arguments, **environment).out
        if study not in runs and "--out" in study:
            runs[study] = shutil.copytree(folder, tmp_path / str(len(runs)))
        return out

    monkeypatch.setattr(generator, "run_steelyard", inside)
    made = generator.pages()
    assert len(made) > 1
    for path, text in made.items():
        assert read(path) == text, f"{path.name} is out of date: run `make docs`"


def test_the_guide_shows_every_limit_of_the_shipped_policies() -> None:
    table = read(DOCS / "guides" / "gate-a-release.md").partition("<!-- policies -->")[2]
    header, _, *rows = table_rows(table.partition("<!-- end")[0])
    shown = {
        row[0].split("`")[1]: dict(zip(header[1:], row[1:], strict=True)) for row in rows if "`" in row[0]
    }
    for policy in SHIPPED:
        column, rules = f"`{policy}`", {rule.metric: rule for rule in find_policy(policy).rules}
        for metric, rule in rules.items():
            numbers = re.findall(r"−?\d+\.\d+", shown[metric][column])
            limits = [end for end in (rule.low, rule.high) if end is not None]
            assert sorted(float(n.replace("−", "-")) for n in numbers) == sorted(limits)
            assert limits or shown[metric][column] == "clear"
            assert ("Δ1" in shown[metric][column]) == (rule.group.get("delta") == 1)
        absent = [metric for metric in shown if metric not in rules]
        assert all(shown[metric][column] == "–" for metric in absent)


def slug(heading: str) -> str:
    """The anchor of a heading, as code hosts make it."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


@each_page
def test_no_page_holds_two_versions_of_itself(page: Path) -> None:
    marks = [line for line in read(page).splitlines() if re.match(r"(<{7}|={7}|>{7})( |$)", line)]
    assert not marks, "a merge was left undecided"


@each_page
def test_relative_links_resolve(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", without_blocks(read(page))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), f"{page.name}: {target} leads nowhere"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", without_blocks(read(path)), re.MULTILINE)
            assert anchor in [slug(heading) for heading in headings], f"{page.name}: no heading for {target}"


def links_of(page: Path) -> set[Path]:
    targets = re.findall(r"\]\(([^)\s]+)\)", read(page))
    return {(DOCS / target.partition("#")[0]).resolve() for target in targets}


def test_each_page_is_in_the_list_of_its_readers() -> None:
    users, authors = links_of(DOCS / "README.md"), links_of(DOCS / "authors.md")
    assert set(DOCS.rglob("*.md")) <= users | authors
    assert not (users & authors) - {DOCS / "README.md", DOCS / "authors.md"}


MOST_WORDS = 45_000
"""Of all pages for users together, without what is generated."""


def test_what_the_architecture_page_places_is_there() -> None:
    section = (
        (ROOT / "docs" / "architecture.md").read_text().partition("## Where it is\n")[2].partition("\n## ")[0]
    )
    places = re.findall(r"^\| .* \| `(\S+)`(?:: `(\w+)`)? \|$", section, re.M)
    assert len(places) > 20
    for file, word in places:
        source = (ROOT / "src" / "steelyard" / f"{file}.py").read_text()
        assert re.search(rf"^ *(?:async )?(?:def |class )?{word}\b", source, re.M), (file, word)


def test_the_floors_of_the_architecture_page_are_those_that_are_enforced() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    order = next(contract for contract in contracts if contract["name"] == "Data flows one way")
    page = (ROOT / "docs" / "architecture.md").read_text()
    floors: dict[int, set[str]] = {}
    number = -1
    for floor, folder in re.findall(r"^\| (\d*) ?\| `([a-z_]+)/?` \|", page, re.M):
        number = int(floor or number)
        floors.setdefault(number, set()).add(folder)
    assert list(floors) == list(range(12, -1, -1))
    assert list(floors.values()) == [set(layer.split(" | ")) for layer in order["layers"]]
    assert order["exhaustive"]


def test_pages_for_users_are_short_enough_to_read(generator: ModuleType) -> None:
    authors = links_of(DOCS / "authors.md") - {DOCS / "README.md"}
    pages = {ROOT / "README.md", ROOT / "examples" / "README.md", *DOCS.rglob("*.md")} - authors
    words = {name(page): len(generator.written_by_hand(page).split()) for page in pages}
    assert sum(words.values()) <= MOST_WORDS, sorted(words.items(), key=lambda each: -each[1])[:8]


@for_each("page", [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))], name)
def test_a_page_says_first_whom_it_is_for(page: Path) -> None:
    _, *paragraphs = re.sub(r"<!--.*?-->", "", read(page), flags=re.DOTALL).split("\n\n")
    first = next(text.strip() for text in paragraphs if text.strip() and not text.startswith("*"))
    assert first.startswith("For "), f"{name(page)}: {first[:80]}"


def test_every_metric_of_a_run_is_explained(steelyard) -> None:
    done = steelyard("measure", "-j", "planted/probit", "--replicates", "2", "--json")
    assert done.returncode == 0, done.stderr
    emitted = {row["metric"] for row in json.loads(done.stdout)["estimates"]}
    explained = {row[0].strip("`"): row[2] for row in table_rows(read(DOCS / "metrics.md"))[2:]}
    assert emitted <= set(explained)
    assert all(len(meaning) > 5 for meaning in explained.values())


@pytest.mark.parametrize(
    ("kind", "folder"),
    [("probe", "plugin_example"), ("chart", "chart_example"), ("provider", "provider_example")],
)
def test_a_guide_to_plugins_shows_the_tested_example(kind: str, folder: str) -> None:
    example = ROOT / "tests" / folder
    shown: dict[str, str] = {}
    for block in blocks(DOCS / "guides" / f"add-a-{kind}.md"):
        shown.setdefault(block.info, block.text)
    assert shown["python"] == read(example / f"steelyard_example_{kind}.py")
    assert shown["toml"] in read(example / "pyproject.toml")
    assert "entry-points" in shown["toml"]
    assert kind != "probe" or shown["toml"] == read(example / "pyproject.toml")


def test_the_chain_of_the_catalogue_page_is_what_is_built() -> None:
    page = " ".join(read(DOCS / "stimuli.md").replace("**", "").replace("\n> ", "\n").split())
    task, twin = (
        next(task for task in catalogue() if task.id == f"{verb}-kettle") for verb in ("descale", "choose")
    )
    assert task.request in page
    assert twin.request in page
    one, other = compose(task, 7)
    for level in (0, 1, 2, 5):
        assert f"Q{level}: {one.prefix(level)}" in page
    assert other.prefix(3) in page
    weak = {place.element: place.weak for place in one.places}[one.chain[2]]
    assert weak in one.prefix(2.5)
    assert f'Q2.5 is Q2 with "{weak}"' in page
    domains = {task.domain for task in catalogue()}
    assert f"{len(subjects())} subjects in {len(domains)} domains" in page
    assert f"{len(catalogue())} checklists" in page


def settings_of_deviations() -> list[dict[str, Any]]:
    """What the page of deviations tells to write for the published form, placeholders filled in."""
    cells = [row[-1] for row in table_rows(read(DOCS / "deviations.md")) if len(row) == 4]
    texts = [span.replace("N}", "3}") for cell in cells for span in re.findall(r"`(\{?\w+: \{.+\})`", cell)]
    return [yaml.safe_load(text) for text in texts]


def test_every_way_to_the_published_form_is_taken() -> None:
    given = settings_of_deviations()
    assert len(given) >= 5
    for body in given:
        ((key, value),) = body.items()
        if key in ("author", "validator"):
            roles = {"author": {"model": "openai/a"}, "validator": {"model": "openai/b"}}
            parse_roles(**{**roles, key: {**roles[key], **value}})
        elif key in ("columns", "data"):
            data = {"path": "rows.csv", "columns": {"response": "text"}}
            data_config(
                {**data, **(value if key == "data" else {"columns": {**data["columns"], **value}})}, "x"
            )
        elif key == "task":
            assert value.keys() <= TaskConfig.model_fields.keys()
        else:
            PROBES.build(Spec(key, value))


@pytest.mark.parametrize("suite", ["reliability", "reliability_full"])
def test_sizes_of_the_reliability_page(command: Command, suite: str) -> None:
    """Quick and standard; the full profile takes the same way."""
    counted = []
    for profile in ("quick", "standard"):
        done = command("plan", "-p", suite, "-j", "planted/rater", "--profile", profile, "--json")
        counted.append(sum(r["calls"] for r in json.loads(done.out)["rows"] if r["judge"] == "planted/rater"))
    section = read(DOCS / "probes" / "reliability.md").partition("## Sizes\n")[2].partition("\n## ")[0]
    said = {row[0]: row[1:3] for row in table_rows(section)[2:]}
    assert said[f"calls, `{suite}`"] == [f"{calls:,}" for calls in counted]


def test_the_dollars_of_the_readme_are_those_of_the_plan(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    words = (ROOT / "README.md").read_text(encoding="utf-8")
    for model in ("gpt-4o-mini", "gpt-4o"):
        body = json.loads(command("plan", "-j", f"openai/{model}", "--profile", "standard", "--json").out)
        mine = [row for row in body["rows"] if row["judge"] == f"openai/{model}"]
        dollars, calls = sum(row["dollars"] for row in mine), sum(row["calls"] for row in mine)
        assert f"${dollars:.2f} with {model}" in " ".join(words.split())
        assert f"{calls:,} calls" in words
