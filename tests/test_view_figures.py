"""Every number of a datasheet leads to the calls that it was counted from: as many as it says, and those."""

from __future__ import annotations

import csv
import html
import io
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from commands import Command
from docs_pages import ROOT
from editing_server import Cast, write_study
from own_judges import measured, study_of
from review_sessions import Client, serving
from servers import ScriptedServer
from steelyard.commands.call_index import CallFilter, differing_calls
from steelyard.commands.figure_calls import calls_behind, counted_calls, counts_calls, figure_name
from steelyard.commands.viewed_run import ViewedRun
from steelyard.datasheet import numbers
from steelyard.datasheet.render.html import page
from steelyard.datasheet.sections.sections import Cell
from steelyard.datasheet.sections.summary import summarise
from steelyard.datasheet.sections.tables import confusion_tables
from steelyard.metrics.estimate import Estimate
from steelyard.stimuli.original import ORIGINAL
from steelyard.study.study import Study
from steelyard.verdicts.observations import Observation
from steelyard.verdicts.verdict import Decided, Failed, Unreadable
from steelyard.web.view_app import ViewPages

SHAKY, FIRST = "planted/probit?name=shaky&s=0.6&tau=0.5&lapse=0.05&seed=3", "planted/first"
CRITERION = ["vacuum", "ladder", "criterion"]


def viewed(out: Path, study: Study) -> ViewedRun:
    measured(study, out)
    return ViewedRun(out)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> ViewedRun:
    study = study_of({"judges": [SHAKY, FIRST], "probes": CRITERION})
    return viewed(tmp_path_factory.mktemp("figures") / "pairs", study)


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> ViewedRun:
    judges = ["planted/rater?noise=0.3", "planted/rater?name=other&noise=0.6"]
    study = study_of({"judges": judges, "task": {"scale": "binary"}})
    return viewed(tmp_path_factory.mktemp("figures") / "scores", study)


@pytest.fixture(scope="module")
def repeats(tmp_path_factory: pytest.TempPathFactory) -> ViewedRun:
    study = study_of({"judges": [SHAKY], "probes": ["ladder"], "replicates": 2})
    return viewed(tmp_path_factory.mktemp("figures") / "repeats", study)


@pytest.fixture(scope="module")
def levels(tmp_path_factory: pytest.TempPathFactory) -> ViewedRun:
    folder = tmp_path_factory.mktemp("figures")
    text = (ROOT / "examples" / "essays-ordinal.yaml").read_text(encoding="utf-8")
    for name in ("essays.csv", "essays-rubric.md"):
        (folder / name).write_bytes((ROOT / "examples" / name).read_bytes())
    file = folder / "study.yaml"
    file.write_text(text.replace("openai/gpt-4o-mini, temperature: 0", "planted/rater"), encoding="utf-8")
    return viewed(folder / "levels", study_of(file))


def uncounted(run: ViewedRun) -> list[tuple[str, str, dict[str, str | float]]]:
    """Shares of calls or pairs whose list does not hold exactly the calls that the numerator counts."""
    assert run.sheet is not None
    index = run.load().index
    shares = [e for e in run.sheet.estimates if e.value is not None and counts_calls(e)]
    assert len(shares) > 5
    return [(e.probe, e.metric, dict(e.group)) for e in shares if counted_calls(e, index) is None]


def mistagged(run: ViewedRun) -> list[tuple[str, list[str]]]:
    """Calls whose tags are not their own, recounted call by call."""
    index = run.load().index
    calls = list(index.calls)
    pairs: dict[tuple[str, str, str, int], list[Observation]] = {}
    for call in calls:
        pairs.setdefault((call.judge, call.protocol, call.stimulus.id, call.replicate), []).append(call)
    found = []
    for row, call in enumerate(calls):
        tags = index.outcomes_of(row)
        paired = len(call.stimulus.texts) == 2
        twins = pairs[call.judge, call.protocol, call.stimulus.id, call.replicate] if paired else []
        own = {
            "unreadable": isinstance(call.verdict, Unreadable),
            "failed": isinstance(call.verdict, Failed),
            "positional": sorted(twin.winner or "" for twin in twins) == ["u", "v"],
        }
        readable = not (own["unreadable"] or own["failed"])
        if any((tag in tags) != is_so for tag, is_so in own.items()) or (not readable and len(tags) > 1):
            found.append((index.ids[row], tags))
    return found


def mismatches(run: ViewedRun) -> list[tuple[str, str, dict[str, str | float], int, int]]:
    """Figures whose calls are not as many as they say."""
    assert run.sheet is not None
    index = run.load().index
    found = []
    for estimate in (*run.sheet.estimates, *run.sheet.panel):
        count = int(calls_behind(estimate, index).sum())
        of_calls = estimate.value is not None and estimate.unit != "input"
        if of_calls and count != estimate.n_calls:
            place = estimate.probe, estimate.metric, dict(estimate.group)
            found.append((*place, estimate.n_calls, count))
    assert len(run.sheet.estimates) > 10
    return found


def figure(run: ViewedRun, metric: str, probe: str, **group: str | float) -> Estimate:
    assert run.sheet is not None
    own = [e for e in run.sheet.estimates if e.metric == metric and e.probe == probe]
    return next(e for e in own if dict(e.group) == group and e.value is not None)


@pytest.mark.parametrize("kind", ["pairs", "repeats", "scores", "levels"])
def test_every_figure_has_as_many_calls_as_it_says(kind: str, request: pytest.FixtureRequest) -> None:
    run = request.getfixturevalue(kind)
    assert mismatches(run) == []
    assert uncounted(run) == []
    assert mistagged(run) == []


def test_figures_of_several_judges_lead_to_the_calls_of_those(scores: ViewedRun) -> None:
    assert scores.sheet is not None
    index = scores.load().index
    common = [e for e in scores.sheet.panel if e.value is not None]
    assert common
    for estimate in common:
        behind = index.calls.filter(calls=calls_behind(estimate, index))
        assert {call.judge for call in behind} <= {"planted/rater", "other"}, estimate.metric


def test_every_figure_on_runs_of_agents_has_as_many_calls_as_it_says(
    tmp_path: Path, command: Command
) -> None:
    with ScriptedServer(Cast()) as server:
        write_study(tmp_path, server, ["agent_perturbation", "agent_positives"], failing=(3,))
        assert command("measure", "study.yaml", "--out", "run").code == 0
    run = ViewedRun(tmp_path / "run")
    assert run.sheet is not None
    assert any(e.metric == "missed_failure_rate" and "size" in e.group for e in run.sheet.estimates)
    assert mismatches(run) == []
    assert uncounted(run) == []
    assert mistagged(run) == []


@pytest.mark.parametrize("kind", ["pairs", "repeats"])
def test_every_figure_of_a_run_that_was_cut_has_as_many_calls_as_it_says(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, command: Command
) -> None:
    shutil.copytree(request.getfixturevalue(kind).path, tmp_path / "run")
    with closing(sqlite3.connect(tmp_path / "run" / "run.db")) as database, database:
        database.execute("DELETE FROM replies WHERE trial IN (SELECT trial FROM replies LIMIT 60)")
    command("report", "run")
    run = ViewedRun(tmp_path / "run")
    assert run.sheet is not None
    assert run.sheet.partial
    assert mismatches(run) == []
    assert uncounted(run) == []
    assert mistagged(run) == []


def test_lost_calls_count_where_they_are_counted_and_nowhere_else(tmp_path: Path, command: Command) -> None:
    call = '{"judge": "j", "probe": "position", "task": "t%d", "pair": "p%d", "kind": "natural", '
    answers = [("1", "2"), ("1", "unreadable"), ("tie", "tie"), ("failed", "1")]
    lines = [
        call % (number, number) + f'"better": "u", "first": "{first}", "answer": "{answer}"}}\n'
        for number, both in enumerate(answers)
        for first, answer in zip("uv", both, strict=True)
    ]
    (tmp_path / "verdicts.jsonl").write_text("".join(lines))
    assert command("import", "verdicts.jsonl", "--out", "run").code == 0
    run = ViewedRun(tmp_path / "run")
    assert mismatches(run) == []
    assert uncounted(run) == []
    assert mistagged(run) == []
    index = run.load().index
    lost = figure(run, "unreadable_rate", "position", protocol="base")
    whole = figure(run, "accuracy_both", "position", protocol="base")
    assert [int(calls_behind(e, index).sum()) for e in (lost, whole)] == [8, 4]


def test_every_figure_of_a_confidence_has_as_many_calls_as_it_says(tmp_path: Path, command: Command) -> None:
    rows = []
    for n in range(80):
        answer = (n + (n % 5 < 2)) % 2 if n % 17 else "unreadable"
        sure = "" if n % 7 == 3 else 50 + n % 10 * 5
        rows += [f"i{n},{judge},{answer},{n % 2},{sure}" for judge in "ab"]
    (tmp_path / "rec.csv").write_text("id,who,verdict,human,sure\n" + "\n".join(rows) + "\n")
    columns = "item=id,judge=who,score=verdict,expected=human,confidence=sure"
    assert command("import", "rec.csv", "--columns", columns, "--out", "run").code == 0
    run = ViewedRun(tmp_path / "run")
    assert run.sheet is not None
    own = [e for e in run.sheet.estimates if e.probe == "confidence" and e.value is not None]
    assert {"confidence_auroc", "brier_score", "wrong_but_sure", "right_at_confidence"} <= {
        e.metric for e in own
    }
    assert {"recalibrated", "jury"} <= {e.group.get("signal") for e in own}
    assert len({e.n_calls for e in own}) > 3
    assert mismatches(run) == []
    assert uncounted(run) == []


def test_an_accuracy_without_ties_is_of_calls_that_chose(pairs: ViewedRun) -> None:
    index = pairs.load().index
    some = figure(pairs, "nontie_accuracy", "ladder", delta=1, protocol="base")
    behind = index.calls.filter(calls=calls_behind(some, index))
    assert {type(call.verdict) for call in behind} == {Decided}
    assert {call.stimulus.delta for call in behind} == {1}
    assert sum(call.winner == call.stimulus.expectation.content for call in behind) == some.numerator  # type: ignore[union-attr]


def test_invariance_is_of_edited_and_unchanged_items(scores: ViewedRun) -> None:
    index = scores.load().index
    kept = figure(scores, "invariance", "format_invariance_1", protocol="base")
    shown = [call.stimulus for call in index.calls.filter(calls=calls_behind(kept, index))]
    assert {each.probe for each in shown} == {"format_invariance_1", ORIGINAL}
    edited, plain = (
        {s.lineage.parent for s in shown if (s.kind == ORIGINAL) == is_plain} for is_plain in (False, True)
    )
    assert edited == plain


@pytest.mark.parametrize("kind", ["pairs", "scores", "levels"])
def test_a_number_in_a_sentence_leads_to_the_figure_that_it_quotes(
    kind: str, request: pytest.FixtureRequest
) -> None:
    published = request.getfixturevalue(kind).published
    text = page.render(published.sheet, calls_of=figure_name)
    readings = text.partition('id="readings"')[2].partition('id="summary"')[0]
    links = re.findall(r'class="behind" href="(\w+)">([^<]+)</a>', readings)
    assert len(links) >= 10
    for name, quoted in links:
        estimate = published.figures[name]
        told = html.unescape(quoted)
        if counted := re.match(r"\d+ of \d+ ([a-z ]+?)s?(?: \(|$)", told):
            assert told == numbers.times(estimate, counted[1])
        else:
            ratio = f"{estimate.numerator}/{estimate.denominator}"
            assert told in (numbers.figure(estimate), numbers.value(estimate), ratio)


def test_links_of_figures_charts_remedies_and_examples_lead_to_their_calls(pairs: ViewedRun) -> None:
    pages = ViewPages([pairs.path])
    pages.runs[0].load()
    published = pairs.published
    assert published is not None
    with serving(lambda _: pages.app()) as server:
        client = Client.of(server)
        text = client.get("/run/0/").text
        every = {html.unescape(link) for link in re.findall(r'class="behind" href="([^"]+)"', text)}
        remedied = {link for link in every if "remedy=" in link}
        assert all("With the remedy" in client.get(link).text for link in sorted(remedied)[::9])
        assert client.get(f"{min(remedied).partition('remedy=')[0]}remedy=nosuch").status == 404
        links = every - remedied
        names = {match[1]: link for link in links if (match := re.search(r"figure=(\w+)", link))}
        assert len(names) == len(links) > 100
        assert names.keys() <= published.figures.keys()
        for name in sorted(names)[::11]:
            count = published.figures[name].n_calls
            if count:
                told = client.get(names[name]).text
                assert f"Counted from {count:,} call" in told
                figure_of = published.figures[name]
                events = (figure_of.numerator or 0) * (2 if figure_of.unit == "pair" else 1)
                listed = f"{events:,} of {count:,} call" if counts_calls(figure_of) else f"{count:,} call"
                whole = f"{count:,} call" if events == count else listed
                assert re.search(rf'<h1 class="long">({listed}|{whole})', told), (listed, names[name])
        name = figure_name(figure(pairs, "dark_current", "vacuum", protocol="base"))
        listed = client.get(f"/run/0/files/calls.csv?figure={name}&outcome=wrong").text
        counted = published.figures[name].numerator
        assert len(list(csv.DictReader(io.StringIO(listed)))) == counted
        assert client.get("/run/0/calls?figure=nosuch").status == 404
        for part in ("charts", "remedies"):
            section = text.split(f'<details class="part" id="{part}">')[1].split('<details class="part"')[0]
            own = set(re.findall(r'class="behind" href="([^"]+)"', section))
            assert own, part
            assert {re.findall(r"figure=(\w+)", link)[0] for link in own} <= set(published.figures)
        example = re.findall(r'<a href="([^"]+)">All calls on this text', text)[0]
        assert client.get(html.unescape(example)).status == 200
        other = client.get("/compare?first=0:shaky&second=0:planted/first").text
        assert "Calls that differ" in other


def test_each_cell_of_a_confusion_leads_to_its_calls(scores: ViewedRun, levels: ViewedRun) -> None:
    for run in (scores, levels):
        assert run.sheet is not None
        cells = 0
        for whole, parts in confusion_tables(summarise(run.sheet)):
            for table in (whole, *parts):
                for cell in (cell for row in table.rows for cell in row[1:]):
                    assert isinstance(cell, Cell)
                    assert cell.where is not None
                    listed = run.load().index.mask(CallFilter(**cell.where)).sum()
                    assert f"{listed:,}" == cell.text, cell.where
                    cells += 1
        assert cells > 8


def test_calls_that_differ_are_those_with_another_answer(pairs: ViewedRun) -> None:
    index = pairs.load().index
    found = differing_calls(index, "shaky", index, "planted/first")
    answers = {
        (call.judge, call.protocol, call.stimulus.id, call.order, call.replicate): call.winner or "tie"
        for call in index.calls
    }

    def other(call: Observation) -> str | None:
        place = "planted/first", call.protocol, call.stimulus.id, call.order, call.replicate
        return answers.get(place, call.winner or "tie")

    by_hand = [call.judge == "shaky" and (call.winner or "tie") != other(call) for call in index.calls]
    assert found.tolist() == by_hand
    assert 0 < found.sum() < len(found)
    assert not differing_calls(index, "shaky", index, "shaky").any()


def test_what_chance_would_show_as_well_is_measured(recorded: Callable[[str], Path]) -> None:
    """A judge that prefers wordings as a coin would has the figure beside one that is asked about it."""
    with serving(lambda _: ViewPages([recorded("judges-five-pairs")]).app()) as server:
        text = Client.of(server).get("/together?side=0:sound&side=0:blunt").text
    row = text.partition('<th scope="row">Prefers a wording</th>')[2].partition("</tr>")[0]
    assert row.count("<b>0.") == 2
    assert "not measured" not in row
