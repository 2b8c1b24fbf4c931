"""A probe, a chart and a provider, each in one file of another distribution with an entry point."""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from steelyard.errors import ConfigError
from steelyard.probes import probe_metadata
from steelyard.probes.probe_metadata import section_of
from steelyard.providers.provider import PROVIDERS
from steelyard.stimuli.original import ORIGINAL
from steelyard.stimuli.stimulus import Prefers, StimulusSet
from steelyard.study.judge_config import parse_judge
from steelyard.study.role_config import parse_roles
from steelyard.tasks.task import Binary, Pairwise

FOLDERS = ("plugin_example", "chart_example", "provider_example")
EXAMPLES = [Path(__file__).parent / folder for folder in FOLDERS]


@pytest.fixture
def installed(tmp_path: Path) -> str:
    """PYTHONPATH with the examples on it."""
    site = tmp_path / "site"
    for example in EXAMPLES:
        install(example, site)
    return os.pathsep.join(path for path in (str(site), os.environ.get("PYTHONPATH", "")) if path)


def install(example: Path, site: Path) -> None:
    """The module of a project and the metadata that an installer would write."""
    project = tomllib.loads((example / "pyproject.toml").read_text())["project"]
    folder = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    folder.mkdir(parents=True)
    name, version = project["name"], project["version"]
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = [
        f"[{group}]\n" + "".join(f"{point} = {target}\n" for point, target in points.items())
        for group, points in project["entry-points"].items()
    ]
    (folder / "entry_points.txt").write_text("\n".join(groups))
    for module in example.glob("*.py"):
        shutil.copy(module, site)


def test_the_datasheet_holds_the_plugins_estimate(process, installed: str, tmp_path: Path) -> None:
    measured = ("measure", "-p", "example_probe", "-j", "planted/first", "--out", "run")
    done = process(*measured, "--full", PYTHONPATH=installed)
    assert done.returncode == 0, done.stderr
    assert "capitals preference" in done.stdout
    rows = json.loads((tmp_path / "run" / "datasheet.json").read_text())["estimates"]
    counts = {
        row["judge"]: (row["value"], row["numerator"], row["denominator"], row["n_units"], row["n_clusters"])
        for row in rows
        if (row["probe"], row["metric"]) == ("example_probe", "capitals_preference")
    }
    # Six quick checklists, a pair each, both orders: always-first chooses the capitals in one of two calls.
    assert counts["planted/first"] == counts["first"] == (0.5, 6, 12, 6, 6)
    assert counts["tie"] == counts["longest"] == (0.0, 0, 12, 6, 6)
    assert "capitals preference" in (tmp_path / "run" / "datasheet.html").read_text()


def test_a_metric_of_a_plugin_stands_wherever_a_built_in_one_does(
    steelyard, installed: str, tmp_path: Path
) -> None:
    judges = ("-j", "planted/first", "-j", "planted/tie", "-j", "planted/coin")
    done = steelyard(
        "measure", "-p", "example_probe", *judges, "--full", "--out", "run", PYTHONPATH=installed
    )
    label, meaning = "capitals preference", "Calls that choose the answer printed in capitals."
    for report in (
        done.stdout,
        *((tmp_path / "run" / f"datasheet.{kind}").read_text() for kind in ("md", "html")),
    ):
        assert "Capitals" in report
        assert label in report
    for report in ("md", "html"):
        assert meaning in (tmp_path / "run" / f"datasheet.{report}").read_text()
    rows = json.loads((tmp_path / "run" / "datasheet.json").read_text())["estimates"]
    words = {r["judge"]: r["finding"] for r in rows if r["metric"] == "capitals_preference"}
    assert (words["planted/first"], words["planted/tie"]) == ("flagged", "inconclusive")

    compared = steelyard("compare", "run:planted/first", "run:planted/tie", "--json", PYTHONPATH=installed)
    family = json.loads(compared.stdout)["comparisons"]
    figure = next(row for row in family if row["metric"] == "capitals_preference")
    assert (figure["first"], figure["second"], figure["n_shared"]) == (0.5, 0.0, 12)
    assert label in steelyard("compare", "run:planted/first", "run:planted/tie", PYTHONPATH=installed).stdout

    # 6/12 in six checklists without spread has the interval [0.19, 0.81].
    for most, code in ((0.9, 0), (0.5, 4), (0.1, 3)):
        (tmp_path / "policy.yaml").write_text(f"capitals_preference: {{max: {most}}}\n")
        gate = ("gate", "run", "--policy", "policy.yaml", "-j", "planted/first")
        ruling = steelyard(*gate, PYTHONPATH=installed)
        assert ruling.returncode == code, ruling.stderr
        assert label in ruling.stdout
    assert "capitals_preference" in steelyard("probes", "example_probe", PYTHONPATH=installed).stdout
    decided = ("--until", "capitals_preference<0.1", "--out", "early")
    early = steelyard("measure", "-j", "planted/first", *decided, PYTHONPATH=installed)
    assert early.returncode == 0, early.stderr
    assert "above" in early.stdout


def test_a_report_needs_no_provider(steelyard, installed: str, tmp_path: Path) -> None:
    judges = ("-j", "keywords/count?word=because", "-j", "planted/first")
    done = steelyard("measure", "-p", "vacuum", *judges, "--out", "run", PYTHONPATH=installed)
    assert done.returncode == 0, done.stderr
    sheet = json.loads((tmp_path / "run" / "datasheet.json").read_text())

    for command in (
        ("report", "run"),
        ("compare", "run:keywords/count", "run:planted/first", "--json"),
    ):
        done = steelyard(*command)
        assert (done.returncode, done.stderr) == (0, ""), command
    again = json.loads((tmp_path / "run" / "datasheet.json").read_text())
    assert {**again, "run": None} == {**sheet, "run": None}
    assert again["run"]["dollars"] == sheet["run"]["dollars"]

    # Asking needs it, and says so.
    done = steelyard("measure", "-p", "vacuum", *judges, "--out", "run")
    assert done.returncode == 2
    assert "unknown provider 'keywords'" in done.stderr

    # A folder in which nobody said whether the calls are free is as before.
    frozen = tmp_path / "run" / "study.yaml"
    frozen.write_text(re.sub(r"\n  traits:\n(    \w+: \w+\n)+", "\n", frozen.read_text()))
    assert steelyard("report", "run").returncode == 2
    assert steelyard("report", "run", PYTHONPATH=installed).returncode == 0


def test_an_event_that_raises_costs_its_own_figure_alone(steelyard, installed: str, tmp_path: Path) -> None:
    judges = ("-j", "planted/first", "-j", "planted/tie")
    done = steelyard(
        *("measure", "-p", "example_probe", "-p", "vacuum"), *judges, "--out", "run", PYTHONPATH=installed
    )
    assert done.returncode == 0, done.stderr
    module = tmp_path / "site" / "steelyard_example_probe.py"
    event = 'event=lambda pairs: pairs.wins("v")'
    source = module.read_text()
    assert event in source
    module.write_text(source.replace(event, "event=lambda pairs: 1 // 0"))

    targets = ("compare", "run:planted/first", "run:planted/tie")
    done = steelyard(*targets, "--json", PYTHONPATH=installed)
    rows = json.loads(done.stdout)["comparisons"]
    (broken,) = (row for row in rows if row["metric"] == "capitals_preference")
    assert (broken["difference"], broken["p"], broken["finding"], broken["n_shared"]) == (None, None, None, 0)
    assert "computed: ZeroDivisionError" in broken["note"]
    vacuum = next(row for row in rows if row["metric"] == "dark_current")
    assert (vacuum["first"], vacuum["second"], vacuum["n_shared"]) == (1.0, 0.0, 12)
    assert "capitals_preference in example_probe" in done.stderr

    shown = steelyard(*targets, PYTHONPATH=installed)
    line = next(line for line in shown.stdout.splitlines() if "capitals preference" in line)
    assert line.startswith("Not measured in")
    assert shown.returncode == done.returncode == 1


SHOUT = '''"""Loud: does the verdict stay when the response ends in an exclamation mark?"""

from steelyard.probes.edits import TextEditProbe


class Loud(TextEditProbe):
    """Every response with an exclamation mark at its end."""

    name = "loud"
    title = "Loud end"
    question = "Does the judge keep its verdict when the response ends loudly?"
    edit = "an exclamation mark at the end"

    def edit_text(self, text, rng):
        """The edited response."""
        return text + "!"
'''


def test_an_edit_of_a_plugin_is_in_the_table_and_in_the_sentence(steelyard, tmp_path: Path) -> None:
    folder = tmp_path / "site" / "steelyard_loud-1.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: steelyard-loud\nVersion: 1\n")
    (folder / "entry_points.txt").write_text("[steelyard.probes]\nloud = steelyard_loud:Loud\n")
    (tmp_path / "site" / "steelyard_loud.py").write_text(SHOUT)
    path = str(tmp_path / "site")
    command = ("measure", "-p", "loud", "-p", "typos", "-j", "planted/rater?noise=0", "--out", "run")
    done = steelyard(*command, "--scale", "binary", "--replicates", "2", "--full", PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    sheet = json.loads((tmp_path / "run" / "datasheet.json").read_text())
    [said] = [
        r["sentence"] for r in sheet["readings"] if r["title"] == "Robustness" and "rater" in r["judge"]
    ]
    assert "loud end" in said
    assert "loud end" in done.stdout.partition("Reliability")[2]
    assert "Loud end" in (tmp_path / "run" / "datasheet.html").read_text()


def test_a_probe_that_can_not_be_loaded_is_told_and_others_stand(steelyard, tmp_path: Path) -> None:
    folder = tmp_path / "site" / "steelyard_torn-1.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: steelyard-torn\nVersion: 1\n")
    (folder / "entry_points.txt").write_text("[steelyard.probes]\ntorn = nothing_of_this_name:Torn\n")
    path = str(tmp_path / "site")
    listed = steelyard("probes", PYTHONPATH=path)
    assert listed.returncode == 0, listed.stderr
    assert "'nothing_of_this_name'" in " ".join(listed.stdout.split())
    assert "\nvacuum " in listed.stdout
    done = steelyard("measure", "-p", "vacuum", "-j", "planted/tie", "--out", "run", PYTHONPATH=path)
    assert done.returncode == 0, done.stderr


def test_the_run_is_rebuilt_only_where_the_plugin_is_installed(steelyard, installed: str) -> None:
    arguments = ("measure", "-p", "example_probe", "-j", "planted/coin", "--out", "run")
    assert steelyard(*arguments, PYTHONPATH=installed).returncode == 0
    assert steelyard("report", "run", PYTHONPATH=installed).returncode == 0
    without = steelyard("report", "run")
    assert without.returncode == 2
    assert "unknown probe 'example_probe': " in without.stderr


def test_the_plugin_is_listed_and_takes_options(steelyard, installed: str, tmp_path: Path) -> None:
    listed = steelyard("probes", PYTHONPATH=installed)
    assert "example_probe" in listed.stdout
    (tmp_path / "study.yaml").write_text("judges: [planted/tie]\nprobes: [{example_probe: {quality: 5}}]\n")
    done = steelyard("measure", "study.yaml", "--out", "run", PYTHONPATH=installed)
    assert done.returncode == 0, done.stderr
    stimuli = [json.loads(line) for line in (tmp_path / "run" / "stimuli.jsonl").read_text().splitlines()]
    assert {stimulus["id"].rpartition("/")[2] for stimulus in stimuli} == {"q5"}
    assert all(u.upper() == v for u, v in (stimulus["texts"] for stimulus in stimuli))


def test_a_chart_of_a_plugin_stands_on_the_page(steelyard, installed: str, tmp_path: Path) -> None:
    done = steelyard("measure", "-p", "vacuum", "-j", "planted/first", "--out", "run", PYTHONPATH=installed)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "run" / "datasheet.html").read_text()
    anchors = re.findall(r'<figure id="fig-([^"]+)"', page)
    assert page.count("<b>Metrology axes</b>") == 1  # the built-in one, for which vacuum alone is too little
    assert anchors[-1] == "zero_points"
    plate = page.partition('<figure id="fig-zero_points"')[2].partition("</figure>")[0]
    assert "Dark currents" in plate
    assert "dark current 1.00" in plate  # what the drawing says to those who can not see it
    assert plate.count("<circle") == 5  # the judge and four baselines
    assert "nothing to judge." in plate
    assert "Not drawn" not in plate
    assert "var(--stable)" in plate

    without = steelyard("report", "run")
    assert without.returncode == 0, without.stderr
    assert "zero_points" not in (tmp_path / "run" / "datasheet.html").read_text()


FACE = "from steelyard.errors import ConfigError\nfrom steelyard.charts import Chart\n"
BROKEN = {
    "raises": "def draw(summary):\n    raise LookupError('no ink')\n",
    "answers": "def draw(summary):\n    return 3\n",
    "markup": "def draw(summary):\n    return '<p>a drawing</p>'\n",
    "words": "def draw(summary):\n    return 'a drawing'\n",
    "missing": "import nothing_of_this_name\n",
    "uneven": f"{FACE}def draw(summary):\n    return Chart('t', 'c', [], ['a', 'b'], [[1, 2], [3]])\n",
    "panels": f"{FACE}def draw(summary):\n    return Chart('t', 'c', ['<svg/>'], ['a'], [['x']])\n",
    "refuses": f"{FACE}def draw(summary):\n    raise ConfigError('no such colour')\n",
}


def test_charts_that_raise_are_reported_and_the_page_stands(
    steelyard, installed: str, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    metadata = site / "steelyard_broken-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: steelyard-broken\nVersion: 1\n")
    points = "".join(f"{name} = broken_{name}:draw\n" for name in BROKEN)
    (metadata / "entry_points.txt").write_text(f"[steelyard.charts]\n{points}axes = broken_raises:draw\n")
    for name, source in BROKEN.items():
        (site / f"broken_{name}.py").write_text(source)
    done = steelyard("measure", "-p", "vacuum", "-j", "planted/first", "--out", "run", PYTHONPATH=installed)
    assert done.returncode == 1
    assert re.match(r"steelyard: .*: chart answers \(TypeError: found int", done.stderr)
    assert "Traceback" not in done.stderr
    causes = {
        "chart answers": "TypeError: found int, expected SVG text, a Chart or None",
        "chart markup": "ValueError: found the element 'p', expected svg with its namespace",
        "chart words": "ValueError: found a text that is no SVG (syntax error: line 1, column 0), expected "
        "an svg element",
        "chart missing": "ModuleNotFoundError: No module named 'nothing_of_this_name'",
        "chart raises": "LookupError: no ink",
        "chart uneven": "ValueError: found 1 cell in a row, expected 2 as in the header",
        "chart panels": "TypeError: found something else among the panels, expected each to be a Panel",
        "chart refuses": "RuntimeError: no such colour",
    }
    faults = json.loads((tmp_path / "run" / "datasheet.json").read_text())["faults"]
    assert {fault["figure"]: fault["cause"] for fault in faults} == causes
    page = (tmp_path / "run" / "datasheet.html").read_text()
    assert page.count("<b>Metrology axes</b>") == 1  # the built-in one, for which vacuum alone is too little
    assert 'id="fig-zero_points"' in page
    for name in BROKEN:
        plate = page.partition(f'<figure id="fig-{name}"')[2].partition("</figure>")[0]
        assert "not be computed" in plate
    assert page.rstrip().endswith("</html>")


# A provider


KEYWORDS = "keywords/count?word=the"


@pytest.fixture
def plugged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example in this process, as if its entry point had been found."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "provider_example"))
    example = import_module("steelyard_example_provider")
    monkeypatch.setitem(PROVIDERS._factories, "keywords", example.Keywords)


def test_a_provider_of_a_plugin_is_listed_and_asked(steelyard, installed: str) -> None:
    listed = steelyard("judges", PYTHONPATH=installed).stdout
    assert "keywords/count?word=because" in listed
    assert "a word more" in listed
    asked = steelyard("doctor", "-j", KEYWORDS, PYTHONPATH=installed)
    assert asked.returncode == 0, asked.stderr
    assert "winner" in asked.stdout.partition("keywords/count: protocol base: ok")[2]
    planned = steelyard("plan", "-j", KEYWORDS, "-p", "vacuum", PYTHONPATH=installed)
    assert planned.returncode == 0, planned.stderr
    assert "free" in planned.stdout.partition("keywords/count")[2].partition("\n")[0]


def test_the_options_of_a_plugin_decide_its_verdicts(steelyard, installed: str, tmp_path: Path) -> None:
    """By string and by YAML; the count of winners is made again from the stimuli."""
    (tmp_path / "study.yaml").write_text(
        "probes: [ladder]\njudges:\n"
        "  - keywords/count?word=the\n"
        "  - {name: deaf, model: keywords/count, word: the, at_least: 99}\n"
    )
    arguments = ("measure", "study.yaml", "--out", "run", "--json")
    done = steelyard(*arguments, PYTHONPATH=installed)
    assert done.returncode == 0, done.stderr
    counts: dict[tuple[str, str], list[int]] = {}
    for row in json.loads(done.stdout)["estimates"]:
        group = row["group"]
        if row["metric"] == "target_sensitivity" and group.keys() == {"protocol", "delta"}:
            total = counts.setdefault((row["judge"], group["protocol"]), [0, 0])
            total[0] += row["numerator"]
            total[1] += row["denominator"]
    graded = [one for one in StimulusSet.read(tmp_path / "run" / "stimuli.jsonl") if one.delta]
    pairs = [one.texts if one.expectation == Prefers("u") else one.texts[::-1] for one in graded]
    says = [[text.lower().split().count("the") for text in texts] for texts in pairs]
    right = sum(better > worse for better, worse in says)
    assert 0 < right < len(graded)
    assert counts["keywords/count", "base"] == [2 * right, 2 * len(graded)]
    assert counts["deaf", "base"] == [0, 2 * len(graded)]

    frozen = (tmp_path / "run" / "study.yaml").read_text()
    assert "at_least: 99" in frozen
    without = steelyard("report", "run")
    assert without.returncode == 0, without.stderr


WRONG_OPTIONS = {
    "wrod=a": "unknown key 'wrod' (did you mean 'word'?); known keys: ",
    "at_least=many": "at_least: found 'many', expected a whole number; correct it.",
    "at_least=0": "at_least: found 0, expected a number from 1 on; correct it.",
    "word=a+b": "word: found 'a b', expected one word such as because; correct it.",
    "tau=1": "key 'tau' belongs to planted/probit only; remove it.",
    "timeout=3": "key 'timeout' belongs to judges behind HTTP only; remove it.",
}


def test_wrong_options_of_a_plugin_are_told_as_those_of_the_house(plugged: None) -> None:
    for query, sentence in WRONG_OPTIONS.items():
        with pytest.raises(ConfigError, match=r"\.$") as caught:
            parse_judge(f"keywords/count?{query}", Path(), Pairwise())
        assert str(caught.value).startswith(f"judge 'keywords/count': {sentence}")
    with pytest.raises(ConfigError, match="judge 'planted/coin': key 'word' belongs to keywords judges only"):
        parse_judge("planted/coin?word=a", Path(), Pairwise())
    with pytest.raises(
        ConfigError, match=r"unknown key 'protocols\.strict\.at_leest' .did you mean 'at_least'"
    ):
        parse_judge({"model": "keywords/count", "protocols": {"strict": {"at_leest": 2}}}, Path(), Pairwise())
    with pytest.raises(ConfigError, match="compares two texts and gives no score, found the scale 'binary'"):
        parse_judge("keywords/count", Path(), Binary())
    with pytest.raises(ConfigError, match="author: 'keywords/count' gives verdicts and writes no text"):
        parse_roles("keywords/count", "vllm/checker")


def test_a_wrong_option_of_a_plugin_is_exit_2(steelyard, installed: str, tmp_path: Path) -> None:
    done = steelyard("measure", "-j", "keywords/count?at_least=0", "--out", "run", PYTHONPATH=installed)
    assert done.returncode == 2
    assert re.search("judge 'keywords/count': at_least: found 0, .* 1 ", done.stderr)
    (tmp_path / "study.yaml").write_text("judges: [{model: keywords/count, wrod: a}]\n")
    done = steelyard("measure", "study.yaml", "--out", "run", PYTHONPATH=installed)
    assert done.returncode == 2
    assert re.search(r"key 'wrod' \(.*'word'\?\)", done.stderr)
    assert not (tmp_path / "run").exists()


def test_every_option_in_force_is_part_of_a_judges_identity(plugged: None) -> None:
    """A default that a later version of the package changes makes another judge of it."""
    plain = parse_judge("keywords/count", Path(), Pairwise())
    assert plain.options == {"word": "because", "at_least": 1}
    said = parse_judge("keywords/count?word=because&at_least=1", Path(), Pairwise())
    other = parse_judge("keywords/count?at_least=2", Path(), Pairwise())
    assert plain.fingerprint("base") == said.fingerprint("base") != other.fingerprint("base")
    body = {"model": "keywords/count", "protocols": {"strict": {"at_least": 3}}}
    strict = parse_judge(body, Path(), Pairwise())
    assert strict.protocols["strict"].settings == {"at_least": 3}
    assert strict.fingerprint("base") == plain.fingerprint("base")
    assert strict.fingerprint("strict") != plain.fingerprint("strict")


def test_a_probe_whose_section_is_none_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_metadata, "installed_probes", lambda: {"mine": SimpleNamespace(section=None)})
    assert not section_of("mine")
    assert probe_metadata.reading_order() == ("mine", ORIGINAL)


def test_a_package_that_can_not_be_imported_stops_nobody_else(
    steelyard, installed: str, tmp_path: Path
) -> None:
    metadata = tmp_path / "site" / "steelyard_broken-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: steelyard-broken\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(
        "[steelyard.providers]\nlost = no_such_module:Lost\ncoloured = steelyard_coloured:Coloured\n"
    )
    (tmp_path / "site" / "steelyard_coloured.py").write_text(
        "from steelyard.providers import Options, ProviderInfo\n"
        "class Colour: ...\n"
        "class Wanted(Options):\n    colour: Colour | None = None\n"
        "class Coloured:\n    info = ProviderInfo(options=Wanted)\n"
    )
    listed = steelyard("judges", PYTHONPATH=installed)
    assert listed.returncode == 0, listed.stderr
    assert "keywords/count" in listed.stdout
    words = " ".join(listed.stdout.split())
    assert "provider 'lost' cannot" in words
    assert re.search(r"provider 'coloured' .*\(PydanticSchemaGeneration", words)
    refused = steelyard("plan", "-j", "lost/x", PYTHONPATH=installed)
    assert refused.returncode == 2
    assert re.search(r"judge 'lost/x': provider 'lost' .*\(ModuleNotFoundError", refused.stderr)
    refused = steelyard("plan", "-j", "coloured/x", PYTHONPATH=installed)
    assert refused.returncode == 2
    assert re.search(r"provider 'coloured' .*\(PydanticSchemaGeneration", refused.stderr)
