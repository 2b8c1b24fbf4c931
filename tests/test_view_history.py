"""History over runs of one judge: series by how it is asked, and changes since the run of the certificate."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from browsers import chromium, opened
from commands import run_command
from review_sessions import Client, serving
from steelyard.commands import history as control_charts
from steelyard.commands.compare import Target, compare_targets, load_verdicts
from steelyard.commands.history import (
    JudgeCertificate,
    JudgeSeries,
    PairedTest,
    changed,
    exchange_p,
    kept_tests,
    most_in_a_year,
    paired_tests,
    pairs_needed,
    run_alpha,
    series_of,
)
from steelyard.metrics.comparison.paired import Paired
from steelyard.run_folder.published_files import read_datasheet
from steelyard.web.bundle import write_bundle
from steelyard.web.history import History, charted_of, history
from steelyard.web.server import Server
from steelyard.web.view_app import ViewPages
from weekly_runs import WEEKS, measure_weekly

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = [name for name, _, _ in WEEKS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs of one judge: the first certified, a change in the fourth, the last asked otherwise."""
    folder = tmp_path_factory.mktemp("history")
    measure_weekly(folder, WEEKS, "-p", "vacuum", "--profile", "standard")
    policy = folder / "policy.yaml"
    policy.write_text("failed_rate: {max: 0.1}\nflags: allow\nvalid_for: 365d\n")
    run_command(folder, "gate", "w1", "--policy", policy)
    return folder


def runs(folder: Path) -> list[tuple[int, Path, object]]:
    return [(number, folder / name, read_datasheet(folder / name)) for number, name in enumerate(NAMES)]


@pytest.fixture(scope="module")
def series(folder: Path) -> list[JudgeSeries]:
    return series_of(runs(folder))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def weekly(folder: Path, series: list[JudgeSeries]) -> History:
    return history(series[0], (), 52, lambda *sides: compared(folder, *sides))


def compared(folder: Path, before, after, wanted):  # type: ignore[no-untyped-def]
    old, new = load_verdicts(before.path), load_verdicts(after.path)
    return paired_tests(old, old.pick(None), new, new.pick(None), wanted)


def test_a_judge_asked_otherwise_is_another_series_named_by_what_differs(
    series: list[JudgeSeries],
) -> None:
    assert [[point.folder for point in each.points] for each in series] == [NAMES[:5], ["warm"]]
    assert [each.settings for each in series] == ["temperature 0", "temperature 1"]
    assert len({each.judge for each in series}) == 1


def test_a_change_is_shown_at_the_figure_that_moved_and_since_the_certificate(weekly: History) -> None:
    newest, fourth, third, second, first = weekly.rows
    assert [row.point.folder for row in weekly.rows] == NAMES[4::-1]  # newest first, by when the runs ended
    assert [row.state for row in (first, second, third)] == [
        "reference",
        "no change shown",
        "no change shown",
    ]
    assert fourth.state == newest.state == "changed"
    assert first.point.is_certified
    assert all(row.reference is first.point for row in weekly.rows[:-1])
    names = [charted.name for charted in weekly.charted]
    assert names == ["Reacts to nothing", "Unreadable", "Failed"]
    moved, *unmoved = weekly.charted
    assert fourth.has_moved(moved)
    assert not any(map(fourth.has_moved, unmoved))
    assert "since w1: reacts" in fourth.sentence
    assert re.search(r"\(p < 0\.0001 .*, 60 pairs\)", fourth.sentence)
    assert re.match("5 runs, .* 2 of 4 .* w4$", weekly.conclusion)
    assert re.search(r"\b0\.00096 .*\b3 figures charted\.", weekly.rule)
    drawn = weekly.charts[0].panels[0].svg
    assert drawn.count(">changed<") == 1
    assert "certificate" in drawn
    assert [row[3] for row in weekly.charts[1].rows] == ["reference", *["no change shown"] * 4]


@pytest.mark.parametrize(
    ("result", "days", "state"),
    [("PASS", None, "valid"), ("PASS", 1, "valid"), ("PASS", 0, "expired"), ("FAIL", 1, "not passed")],
)
def test_a_certificate_is_valid_until_it_expires(result: str, days: int | None, state: str) -> None:
    now = datetime(2026, 11, 19, tzinfo=UTC)
    expires = None if days is None else now + timedelta(days=days)
    assert JudgeCertificate(result, now, expires).state(now) == state


def test_a_figure_is_named_with_its_condition(folder: Path) -> None:
    """The same metric between equals and over all pairs is two figures: a mark stands at one of them."""
    rows = compare_targets(Target(folder / "w1", None), Target(folder / "w4", None)).rows
    addresses = [control_charts.address(row) for row in rows]
    assert len(set(addresses)) == len(addresses)
    base = next(row for row in rows if row.group.get("protocol") == "base")
    assert "protocol" not in control_charts.address(base)


def test_figures_that_are_chosen_are_charted_and_corrected_for(
    series: list[JudgeSeries], folder: Path
) -> None:
    ids = [charted.id for charted in charted_of(series[0])]
    assert ids == ["dark-current", "failures-unreadable-rate", "failures-failed-rate"]
    one = history(series[0], {ids[0]}, 10, lambda *sides: compared(folder, *sides))
    assert [charted.id for charted in one.charted] == ids[:1]
    assert re.search(r"\b10 runs a year, .*: 0\.005 .*\b1 figure charted", one.rule)


def test_runs_that_cannot_be_compared_say_so_in_the_heading(folder: Path, tmp_path: Path) -> None:
    measure_weekly(tmp_path, WEEKS[:1], "-p", "vacuum", "--profile", "quick")
    measure_weekly(tmp_path, (("seeded", *WEEKS[0][1:]),), "-p", "vacuum", "--seed", "8")
    for name in ("w1", "seeded"):  # the port of the server differs; the judge is meant to be one
        sheet = json.loads((tmp_path / name / "datasheet.json").read_text())
        sheet["judges"][0]["protocols"]["base"] = "sha256:" + "0" * 64
        (tmp_path / name / "datasheet.json").write_text(json.dumps(sheet))
    sheets = [
        (number, tmp_path / name, read_datasheet(tmp_path / name))
        for number, name in enumerate(("w1", "seeded"))
    ]
    (both,) = series_of(sheets)
    made = history(both, (), 52, lambda *sides: compared(folder, *sides))
    assert re.match("2 runs, 1 could not ", made.conclusion)
    assert made.rows[0].state == "not compared"


def test_too_few_pairs_for_any_mark_are_told(series: list[JudgeSeries]) -> None:
    def few(before, after, wanted):  # type: ignore[no-untyped-def]
        return {figure: PairedTest(0.0, 1.0, 0.03, 6) for figure in wanted}

    made = history(series[0], (), 52, few)
    assert re.match("5 runs, 4 could not ", made.conclusion)
    assert re.search(r"\b6 pairs .*\b12 are needed", made.rows[0].sentence)
    assert 2.0 ** (1 - pairs_needed(2, 0.001)) * 2 <= 0.001 < 2.0 ** (2 - pairs_needed(2, 0.001)) * 2


def test_a_figure_of_too_few_pairs_is_no_figure_without_a_change(series: list[JudgeSeries]) -> None:
    """Of 14 pairs, with 13 needed where two are tested, a change shows; of 6 none could."""
    first, second, third = (charted.figure for charted in charted_of(series[0]))
    tests = {
        first: PairedTest(0.0, 1.0, 2.0**-13, 14),
        second: PairedTest(0.0, 0.0, 1.0, 60),
        third: PairedTest(0.0, 1.0, 2.0**-5, 6),
    }
    assert pairs_needed(2, 0.05 / 52) == 13
    newest = history(series[0], (), 52, lambda *_: tests).rows[0]
    assert [newest.state_of(charted) for charted in charted_of(series[0])] == [
        "changed",
        "no change shown",
        "not compared",
    ]
    assert "= 0.00024 by" in newest.sentence  # over two figures
    assert re.search("Too few pairs .*: failed\\.$", newest.sentence)


def test_a_figure_that_no_test_follows_is_named_and_not_called_unchanged(series: list[JudgeSeries]) -> None:
    tests = {charted.figure: PairedTest(0.0, 0.0, 1.0, 60) for charted in charted_of(series[0])[:2]}
    made = history(series[0], (), 52, lambda *_: tests)
    assert [row[3] for row in made.charts[2].rows] == ["reference", *["not compared"] * 4]
    assert (
        "by Holm over the 2 figures charted that can be compared. Without a test, and never marked: failed."
        in (made.rule)
    )


@pytest.mark.parametrize("labelled", [True, False])
def test_another_scale_is_another_series_named_by_it(tmp_path: Path, labelled: bool) -> None:
    """Of one judge that is measured and of one whose verdicts are imported, with labels and without."""
    rows = [(n, n % 2, 1 + n % 5) for n in range(40)]
    (tmp_path / "rubric.md").write_text("The higher, the better.\n")
    for scale, place in (("binary", 1), ("1-5", 2)):
        lines = [f"{row[0]},Case {row[0]}?,Text {row[0]},{row[place]}" for row in rows]
        (tmp_path / f"{scale}.csv").write_text("id,request,response,label\n" + "\n".join(lines) + "\n")
        given = ("--scale", scale, "--seed", "7")
        columns = "id=id,request=request,response=response,label=label"
        if labelled:
            data = ("--data", f"{scale}.csv", "--columns", columns, "--rubric", "rubric.md")
            run_command(tmp_path, "measure", "-j", "planted/rater?name=mine", *data, *given, "--out", scale)
        columns = "item=id,score=label" + (",expected=label" if labelled else "")
        words = ("--columns", columns, "--judge", "theirs", "--scale", scale, "--out", f"{scale}-theirs")
        run_command(tmp_path, "import", f"{scale}.csv", *words)
    folders = sorted(path for path in tmp_path.iterdir() if path.is_dir())
    found = series_of((number, path, read_datasheet(path)) for number, path in enumerate(folders))
    names = ["mine"] * 2 * labelled + ["theirs"] * 2
    assert sorted((each.judge, each.settings) for each in found) == [
        (name, f"scale {scale}") for name, scale in zip(names, ("1-5", "binary") * 2, strict=False)
    ]
    assert {len(each.points) for each in found} == {1}


def test_the_error_of_a_year_is_spread_over_its_runs() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    weekly = [start + timedelta(days=7 * week) for week in range(104)]
    assert most_in_a_year(weekly) == 53  # within any 365 days
    assert run_alpha(100, weekly) == pytest.approx(0.05 / 100)
    assert run_alpha(10, weekly) == pytest.approx(0.05 / 53)  # more runs than stated
    assert run_alpha(52, []) == pytest.approx(0.05 / 52)


def simulated(rng: np.random.Generator, runs: int, shift: float = 0.0) -> list[dict[str, PairedTest]]:
    """A year of a judge with five figures over 60 texts in both orders, each run against the first."""
    rates = rng.beta(0.5, 0.5, (5, 60))

    def answers(moved: float) -> np.ndarray:
        return rng.binomial(2, np.clip(rates + moved, 0, 1)) / 2

    reference, every, names = answers(0.0), np.arange(60), "abcde"
    year = []
    for _ in range(runs):
        seen = answers(shift)
        tests = {}
        for place, name in enumerate(names):
            paired = Paired(reference[place], seen[place], every // 5, every, weight=np.ones(60))
            tests[name] = PairedTest(0.0, 0.0, exchange_p(paired), 60)
        year.append(tests)
    return year


def test_a_year_of_unchanged_runs_shows_a_mark_in_one_of_twenty_at_most() -> None:
    rng, years = np.random.default_rng(5), 60
    alpha = run_alpha(52, [])
    false = sum(any(changed(tests, alpha) for tests in simulated(rng, 52)) for _ in range(years))
    assert false / years <= 0.05


def test_a_planted_change_is_found_in_the_first_run_that_has_it() -> None:
    rng, alpha = np.random.default_rng(6), run_alpha(52, [])
    found = [next(n for n, t in enumerate(simulated(rng, 9, 0.3), 1) if changed(t, alpha)) for _ in range(20)]
    assert sorted(found)[-2] == 1  # 19 years of 20 at once


def test_tests_are_kept_for_the_content_of_both_folders(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path))
    monkeypatch.setattr(control_charts, "plug_ins_installed", lambda: False)
    made: list[str] = []

    def make() -> dict[str, PairedTest]:
        made.append("made")
        return {"figure": PairedTest(0.25, 0.5, 0.125, 60)}

    sides = folder / "w1", folder / "w2"
    first, second = (kept_tests(sides, "gate", ["figure"], make) for _ in range(2))
    assert first == second == {"figure": PairedTest(0.25, 0.5, 0.125, 60)}
    assert made == ["made"]
    kept_tests((folder / "w1", folder / "w3"), "gate", ["figure"], make)
    kept_tests(sides, "gate", ["another"], make)
    assert len(made) == 3
    for file in (tmp_path / "history").iterdir():
        file.write_text("{")
    kept_tests(sides, "gate", ["figure"], make)
    assert len(made) == 4  # a file that is broken is made again
    monkeypatch.setattr(control_charts, "plug_ins_installed", lambda: True)
    kept_tests(sides, "gate", ["figure"], make)
    assert len(made) == 5


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with serving(lambda _: ViewPages([folder]).app()) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Server) -> Client:
    return Client.of(server)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


def test_the_page_charts_every_series_and_leads_on(client: Client) -> None:
    assert 'href="/history"' in client.get("/").text
    text = client.get("/history").text
    assert text.count("<figure") == 3  # one run alone has no chart
    assert "temperature 1: <" in text
    assert "1 run, nothing" in text
    number = NAMES.index("w4")
    link = "/compare?first=0%3Aopenai/gate&amp;second=3%3Aopenai/gate"
    assert link in text
    assert client.get(link.replace("&amp;", "&")).status == 200
    assert f'class="behind" href="/run/{number}/calls?figure=' in text
    drawing = client.get("/history/0/dark-current.svg?runs=52")
    assert drawing.headers["content-type"] == "image/svg+xml"
    table = client.get("/history/0/dark-current.csv").text.splitlines()
    assert table[0] == "run,date,value and interval,change"
    assert [line.rpartition(",")[2] for line in table[4:]] == ["changed", "changed"]
    for missing in ("/history/7/dark-current.svg", "/history/0/nothing.svg", "/history/0/dark-current.html"):
        assert client.get(missing).status == 404


def test_a_bundle_holds_the_history_and_its_files(folder: Path, tmp_path: Path) -> None:
    write_bundle([folder / "w1", folder / "w4"], tmp_path / "out")
    text = (tmp_path / "out" / "history.html").read_text(encoding="utf-8")
    assert 'href="history-0-dark-current.svg"' in text
    assert (tmp_path / "out" / "history-0-dark-current.csv").is_file()
    assert "<form" not in text
    assert str(folder) not in text


SHAPES = """() => [...document.querySelectorAll("figure svg")].map(svg => {
    const shapes = {};
    const marks = svg.querySelectorAll("circle, path[transform^=translate]:not([fill=none])");
    for (const mark of marks) {
        const fill = mark.getAttribute("fill"), shape = mark.getAttribute("d") || "circle";
        const drawn = fill.includes("paper") ? "hollow " + shape : shape;
        shapes[drawn] = [...new Set([...(shapes[drawn] || []), fill])];
    }
    return shapes;
})"""
"""Of each chart the shapes of its marks, and the colours of each."""


@pytest.mark.browser
@pytest.mark.parametrize("page", ["history", "compare", "together", "overview"])
def test_states_over_runs_are_told_apart_without_colours(server: Server, browser: Browser, page: str) -> None:
    """Each state has its word, no shape of a chart stands for two states, and signs differ to every eye."""
    sides = "0:openai/gate", f"{NAMES.index('w4')}:openai/gate"
    address = {
        "history": "history",
        "compare": "compare?first={}&second={}".format(*sides),
        "together": "together?side={}&side={}".format(*sides),
        "overview": "",
    }[page]
    with opened(browser, server.access.url("/")) as shown:
        shown.goto(shown.url + address)
        shown.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true })")
        states = shown.locator("main").locator(".held, .word, .change, .changed, .verdict-word, .status")
        assert states.count() >= {"compare": 10}.get(page, 3)
        bare = states.evaluate_all(
            "every => every.filter(e => !/[a-z]/i.test(e.textContent)).map(e => e.outerHTML)"
        )
        assert bare == []
        charts = [shapes for shapes in shown.evaluate(SHAPES) if shapes]
        assert bool(charts) == (page in ("history", "compare"))
        for shapes in charts:
            assert all(len(colours) == 1 for colours in shapes.values()), shapes
        eye = shown.context.new_cdp_session(shown)
        for kind in ("deuteranopia", "achromatopsia"):
            eye.send("Emulation.setEmulatedVisionDeficiency", {"type": kind})
            for number in range(shown.locator("ul.key").count()):
                signs = shown.locator("ul.key").nth(number).locator(".sign")
                shots = [signs.nth(place).screenshot() for place in range(signs.count())]
                assert len(set(shots)) == len(shots) > 1


@pytest.mark.browser
@pytest.mark.parametrize("page", ["together", "differing", "compare"])
def test_cells_of_a_phone_name_their_judge_and_have_room(server: Server, browser: Browser, page: str) -> None:
    sides = [f"{NAMES.index(name)}:openai/gate" for name in ("w1", "w4", "w5")]
    named = "&".join(f"side={side}" for side in sides[: 3 if page == "together" else 2])
    phone = {"width": 390, "height": 844}
    with opened(browser, server.access.url("/"), viewport=phone) as shown:
        shown.goto(f"{shown.url}{page}?{named}")
        cells = shown.locator("table.even tbody tr").first.locator("td")
        labels = cells.evaluate_all(
            "every => every.map(e => getComputedStyle(e, '::before').content.replaceAll('\"', ''))"
        )
        judges = labels if page == "together" else labels[:-1]
        assert len(set(judges)) == len(judges) == (3 if page == "together" else 2)
        widths = cells.evaluate_all("every => every.map(e => e.getBoundingClientRect().width)")
        assert max(widths) - min(widths) < 2
        assert min(widths) > 100
        lines = shown.locator("table.even .held").evaluate_all(
            "every => every.map(e => e.getClientRects().length)"
        )
        assert set(lines) == {1}


@pytest.mark.browser
def test_series_that_can_be_compared_come_first(server: Server, browser: Browser) -> None:
    with opened(browser, server.access.url("/history")) as shown:
        titles = shown.locator("section h2").all_inner_texts()
        assert [re.search(r"\d+ runs?", title)[0] for title in titles] == ["5 runs", "1 run"]  # type: ignore[index]
        days = shown.locator(".trend svg").first.locator("text[text-anchor=middle]").all_text_contents()
        assert len(set(days)) == len(days) >= 1
