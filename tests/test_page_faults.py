"""Pages as people meet them: long names, paper, colour-blind eyes, files of charts, the answer first."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from browsers import LOOKS, chromium, complaints_in_every_look, drawings_off_screen, opened
from commands import StartedCommand, run_command
from review_sessions import serving
from servers import ScriptedServer, fails
from steelyard.datasheet.render.html.charts.trend import CHANGED, SAME, TrendPoint, trend_chart
from steelyard.web.server import Server
from steelyard.web.view_app import ViewPages

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

LONG = "x" * 300
MARK = "#evidence svg a:not([aria-label$=' 0.00'])"
"""Of a figure that some call counts for."""
SHARP = "planted/probit?s=40&beta=0&tau=1&sigma=0&lapse=0"
"""A judge without a fault, about which a quick run leaves questions open."""
COLOURS = """(word) => ["good", "wait"].map((role) => {
    const probe = document.createElement("i");
    probe.style.color = `var(--${role})`;
    word.append(probe);
    const is = getComputedStyle(probe).color === getComputedStyle(word).color;
    probe.remove();
    return is;
})"""
"""Whether words have the colour of what is fine, and of what is open."""
FIVE = ("first", "tie", "coin", "probit", "probit?beta=2")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One judge, five judges, verdicts whose ids are long, a judge of which some is open, and a server that
    answers nothing; by name in the order of the viewer."""
    folder = tmp_path_factory.mktemp("runs")
    probes = ("-p", "vacuum", "-p", "ladder")
    run_command(folder, "measure", "-j", "planted/first", *probes, "--out", "a-one")
    judges = [word for name in FIVE for word in ("-j", f"planted/{name}")]
    run_command(folder, "measure", *judges, *probes, "--out", "b-five")
    call = {"judge": "j" * 120, "probe": "position", "kind": "natural", "better": "u", "answer": "1"}
    lines = [
        json.dumps({**call, "task": f"t{n}", "pair": f"{LONG}{n}", "first": first})
        for n in range(6)
        for first in "uv"
    ]
    (folder / "verdicts.jsonl").write_text("\n".join(lines) + "\n")
    run_command(folder, "import", "verdicts.jsonl", "--out", "c-long")
    (folder / "verdicts.jsonl").unlink()
    run_command(folder, "measure", "-j", SHARP, "-p", "ladder", "-p", "tradeoff", "--out", "d-open")
    with ScriptedServer(fails(500)) as dead:
        model = f"openai/dead?base_url={dead.url}"
        judges = ("-j", model, "-j", "planted/first", "--attempts", "1", "--no-preflight")
        run_command(folder, "measure", *judges, "-p", "vacuum", "--out", "e-dead", code=1)
    return folder


@pytest.fixture(scope="module")
def server(runs: Path) -> Iterator[Server]:
    pages = ViewPages([runs])
    for run in pages.runs:
        run.load()
    with serving(lambda _: pages.app()) as server:
        yield server


def sheet(runs: Path, name: str) -> str:
    return (runs / name / "datasheet.html").as_uri()


def test_a_long_id_hides_no_verdict(browser: Browser, server: Server) -> None:
    with opened(browser, server.access.url("/run/2/calls")) as page:
        ends = page.locator("table.calls td[data-label=verdict]").first.bounding_box()
        assert ends is not None
        assert ends["x"] + ends["width"] < 1280
        assert page.locator(".scroll").evaluate("e => e.scrollWidth <= e.clientWidth")


def test_replies_of_a_pair_are_a_table_of_judges_by_orders(browser: Browser, server: Server) -> None:
    with opened(browser, server.access.url("/run/1/calls"), bypass_csp=True) as page:
        page.locator("table.calls tbody th a").first.click()
        page.locator("h1 a").click()
        said = page.locator("table.said")
        said.wait_for()
        assert said.locator("thead th").all_inner_texts()[1:] == ["u first, v second", "v first, u second"]
        rows = said.locator("tbody tr:not(.apart)")
        assert rows.first.locator("th").inner_text().startswith("planted/")
        assert rows.first.locator("td").count() == 2
        assert rows.count() >= len(FIVE)
        box = said.bounding_box()
        assert box is not None
        assert box["height"] < 110 * rows.count()
        assert complaints_in_every_look(page) == []


@pytest.mark.parametrize("name", ["a-one", "b-five"])
def test_the_chart_and_the_calls_that_explain_the_verdict_stand_open(
    browser: Browser, runs: Path, name: str
) -> None:
    with opened(browser, sheet(runs, name), bypass_csp=True) as page:
        evidence = page.locator("#evidence")
        assert evidence.locator("figure svg").first.is_visible()
        assert evidence.locator("figure").count() == 1
        assert evidence.locator("details.exhibit[open]").count() == 2
        assert evidence.locator("details.exhibit pre").first.is_visible()
        assert page.locator("details.part[open]").count() == 0
        assert complaints_in_every_look(page) == []


@pytest.mark.parametrize("width", [400, 1280])
def test_commands_are_whole_and_tables_have_no_strips(browser: Browser, runs: Path, width: int) -> None:
    size = {"width": width, "height": 900}
    with opened(browser, sheet(runs, "b-five"), viewport=size) as page:
        page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true })")
        cut = page.locator(".command pre").evaluate_all(
            "every => every.filter(e => e.scrollWidth > e.clientWidth + 1).length"
        )
        assert cut == 0
        strips = page.evaluate("""() => [...document.querySelectorAll(".scroll")].filter(box => {
            let ground = box.parentElement;
            const clear = e => getComputedStyle(e).backgroundColor === "rgba(0, 0, 0, 0)";
            while (clear(ground)) ground = ground.parentElement;
            const probe = document.createElement("i");
            probe.style.color = "var(--under)";
            box.append(probe);
            return getComputedStyle(probe).color !== getComputedStyle(ground).backgroundColor;
        }).map(box => box.getAttribute("aria-label"))""")
        assert strips == []


def test_all_figures_of_one_judge_use_the_width(browser: Browser, runs: Path) -> None:
    with opened(browser, sheet(runs, "a-one")) as page:
        page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true })")
        ends = page.locator("table.summary .under svg").evaluate_all(
            "every => Math.max(...every.map(e => e.getBoundingClientRect().right))"
        )
        assert ends > 1000


@pytest.mark.parametrize("width", [900, 1280])
def test_names_of_judges_break_between_words(browser: Browser, runs: Path, width: int) -> None:
    size = {"width": width, "height": 900}
    with opened(browser, sheet(runs, "b-five"), viewport=size) as page:
        broken = page.locator("table.judges tbody th a").evaluate_all("""every => every.filter(link => {
            const model = link.lastChild, words = model.data.split("?")[0];
            const part = document.createRange();
            part.setStart(model, 0);
            part.setEnd(model, words.length);
            return part.getClientRects().length > 1;
        }).map(link => link.textContent)""")
        assert broken == []


def test_what_is_open_is_amber_and_said_beside_no_fault(browser: Browser, runs: Path, server: Server) -> None:
    told = re.compile(r"no fault found so far; \d questions undecided")
    for address, place in (
        (sheet(runs, "d-open"), "#verdicts-h .verdict-word"),
        (server.access.url("/"), "tr[data-verdict^='no fault'] .verdict-word"),
    ):
        with opened(browser, address) as page:
            word = page.locator(place)
            assert told.fullmatch(word.inner_text())
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                assert word.evaluate(COLOURS) == [False, True], (address, scheme)


def test_the_first_screen_answers_the_probes_that_were_asked_for(browser: Browser, runs: Path) -> None:
    with opened(browser, sheet(runs, "d-open")) as page:
        cue = page.locator(".keys tbody tr", has_text="Worth of a cue").first
        box = cue.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 900
        assert re.search(r"[+−]?\d\.\d\d \[", cue.inner_text())


def test_several_judges_have_a_next_step_on_the_first_screen(browser: Browser, runs: Path) -> None:
    with opened(browser, sheet(runs, "b-five")) as page:
        step = page.locator(".answer .do")
        assert step.inner_text().startswith("Next")
        assert step.locator(".command pre").inner_text().startswith("steelyard ")


def test_a_server_without_an_answer_is_the_reason_and_one_count(
    browser: Browser, runs: Path, server: Server
) -> None:
    """Twelve calls failed: no figure is made of them but their share, and every place counts twelve."""
    with opened(browser, sheet(runs, "e-dead")) as page:
        assert "openai/dead is without an answer" in page.locator("h1").inner_text()
        row = page.locator("table.judges tbody tr", has=page.locator("th", has_text="dead"))
        told = row.locator("td[data-label=verdict] small").inner_text()
        assert told.startswith("No reply at all in 12 of 12 calls. The server has to answer")
        assert row.locator(".held").count() == 1
        assert row.locator("td[data-label=failed] .held").inner_text() == "1.00 too high"
        assert "(12 calls" in page.locator(".answer .do").inner_text()
        assert "unreadable" not in page.locator(".answer").inner_text()
    with opened(browser, server.access.url("/")) as page:
        row = page.locator("table.runs tbody tr[data-study=catalogue]", has_text="e-dead").first
        assert row.locator("th").inner_text().startswith("openai/dead")
        assert row.locator("td[data-label=calls]").inner_text() == "12"


def test_a_comparison_answers_first_and_colours_as_it_says(browser: Browser, server: Server) -> None:
    with opened(browser, server.access.url("/")) as page:
        page.goto(f"{page.url}compare?first=1:planted/first&second=1:planted/probit")
        title = page.locator("h1").inner_text()
        assert re.match(r"Each is better in something: |.+ is better than .+: in \d+ of \d+ figures", title)
        above = page.locator("header").inner_text()
        assert above.count("[") == 0  # figures stand in the chart and in the folded table
        assert page.locator("#table:not([open])").count() == 1
        page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true })")
        better = page.locator("table.compared td .word", has_text=re.compile("^(better|worse)$"))
        told = [int(count) for count in re.findall(r"(?<= in )\d+", title)]
        assert better.count() == sum(told) > 0
        names = page.locator(".key li").all_inner_texts()
        for side, state in (("B better", "better"), ("A better", "worse")):
            role = page.locator(".key li .sign").nth(next(n for n, each in enumerate(names) if side in each))
            colour = (role.get_attribute("style") or "").removeprefix("--colour: ")
            rows = page.locator("table.compared td .word", has_text=re.compile(f"^{state}$")).count()
            assert page.locator(f".compared-figure .wide path[fill='{colour}']").count() == rows, side
        drawn = page.locator(".compared-figure svg").first.text_content() or ""
        assert "A better" in drawn
        assert "B better" in drawn


def test_the_button_of_themes_follows_the_machine(browser: Browser, runs: Path) -> None:
    with opened(browser, sheet(runs, "a-one")) as page:
        for scheme, other in (("dark", "Light"), ("light", "Dark")):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.locator("#theme", has_text=other).wait_for(timeout=10_000)


def test_rows_of_a_comparison_are_whole_on_a_phone(browser: Browser, server: Server) -> None:
    """Name, both figures, word and direction of every row; the interval lies below them."""
    phone = {"width": 390, "height": 844}
    with opened(browser, server.access.url("/"), viewport=phone) as page:
        page.goto(f"{page.url}compare?first=1:planted/first&second=1:planted/probit")
        for title in page.locator(".compared-figure").all():
            drawn = title.locator("svg").filter(visible=True)
            assert drawn.count() == 1
            texts = " ".join(drawn.locator("text").all_text_contents())
            assert re.search("◀ A (better|shows more).+ B (better|shows more).+▶", texts)
            for row in (drawn.get_attribute("aria-label") or "").removesuffix(".").split("; "):
                name, _, figures = row.partition(": ")
                assert f"{name} {' '.join(figures.split())}" in " ".join(texts.split())
        assert drawings_off_screen(page) == []


def test_the_table_of_all_runs_is_whole_at_a_usual_width(browser: Browser, server: Server) -> None:
    with opened(browser, server.access.url("/")) as page:
        table = page.get_by_role("region", name="Judges of all runs")
        assert table.evaluate("e => e.scrollWidth <= e.clientWidth")
        lines = page.locator("td[data-label=date] time").evaluate_all(
            "every => every.map(e => e.getClientRects().length)"
        )
        assert max(lines) <= 2


def test_a_history_of_nine_figures_is_whole_at_a_usual_width(browser: Browser, server: Server) -> None:
    with opened(browser, server.access.url("/history")) as page:
        table = page.locator("table.history").first
        table.evaluate("""table => [...table.rows].forEach((row, number) => {
            while (row.cells.length > 3) row.lastElementChild.remove();
            const cell = row.lastElementChild;
            cell.innerHTML = number
                ? "<a><b>+0.97</b></a> <b class=changed>◆ changed</b> <small class=ci>[−0.10, +0.02]</small> "
                    + "<span class=held>undecided</span>"
                : "Better text, one step apart";
            while (row.cells.length < 11) row.append(cell.cloneNode(true));
        })""")
        assert table.evaluate("e => e.parentElement.scrollWidth <= e.parentElement.clientWidth")


@pytest.mark.parametrize(
    "values",
    [
        (0.39, 0.47, 0.44, 0.97, 0.99),
        (0.97, 0.96, 0.97, 0.85, 0.83),
        (0.84, 0.81, 0.83, 0.55, 0.52),
        (0.22, 0.15, 0.27, 0.0, 0.0),
        (0.5, 0.5, 0.5, 0.1, 0.9),
    ],
)
def test_the_word_of_a_change_lies_beside_the_line(browser: Browser, values: tuple[float, ...]) -> None:
    start = datetime(2026, 11, 18, tzinfo=UTC)
    points = [
        TrendPoint(f"w{n}", start + timedelta(days=n), CHANGED if n > 2 else SAME, value, (value, value), "")
        for n, value in enumerate(values)
    ]
    allowed = (float("-inf"), 0.1)
    chart = trend_chart("Reacts to nothing", points, limit="", domain=(0.0, 1.0), allowed=allowed)
    with opened(browser, "about:blank") as page:
        page.set_content(chart.panels[0].svg)
        crossed = page.evaluate("""() => {
            const words = [...document.querySelectorAll("text")].filter(e => e.textContent === "changed");
            const boxes = words.map(e => e.getBoundingClientRect());
            const inside = (e) => (point) => boxes.some(box => {
                const at = new DOMPoint(point.x, point.y).matrixTransform(e.getScreenCTM());
                return at.x > box.left && at.x < box.right && at.y > box.top + 3 && at.y < box.bottom - 3;
            });
            const lines = [...document.querySelectorAll("path[fill=none]")]
                .filter(e => e.getAttribute("d").split("L").length === 5);
            const along = (e) => Array.from({ length: 400 }, (_, n) =>
                e.getPointAtLength(e.getTotalLength() * n / 399));
            return [words.length, lines.length, lines.filter(e => along(e).some(inside(e))).length];
        }""")
        assert crossed == [1, 1, 0]


@pytest.mark.parametrize(("name", "most"), [("a-one", 6), ("b-five", 12)])
def test_paper_is_short_whole_and_names_the_folder(
    browser: Browser, runs: Path, name: str, most: int
) -> None:
    with opened(browser, sheet(runs, name)) as page:
        pages = len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))
        assert pages <= most
        page.emulate_media(media="print")
        assert f"steelyard view {name}" in page.locator(".answer .note").inner_text()
        broken = page.locator(".verdict, .card").evaluate_all(
            "every => every.filter(e => e.checkVisibility())"
            ".filter(e => getComputedStyle(e).breakInside !== 'avoid').length"
        )
        assert broken == 0


def test_states_are_told_apart_without_colours(browser: Browser, runs: Path) -> None:
    """Each state has its word or mark, and no two of them look alike to a colour-blind eye or in grey."""
    with opened(browser, sheet(runs, "b-five")) as page:
        page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true })")
        states = page.locator(".held, .word, .flag, .verdict-word")
        assert states.count() > 20
        bare = states.evaluate_all(
            "every => every.filter(e => !/[a-z✓✗!?–]/i.test(e.textContent)).map(e => e.outerHTML)"
        )
        assert bare == []
        eye = page.context.new_cdp_session(page)
        for kind in ("deuteranopia", "achromatopsia"):
            eye.send("Emulation.setEmulatedVisionDeficiency", {"type": kind})
            shots = [
                page.locator("#methods dt .word").nth(place).screenshot()
                for place in range(page.locator("#methods dt .word").count())
            ]
            assert len(set(shots)) == len(shots) > 3


def test_the_steps_of_the_map_can_be_told_apart(browser: Browser, server: Server) -> None:
    with opened(browser, server.access.url("/run/1/map"), bypass_csp=True) as page:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            grey = page.locator(".heat-key li").evaluate_all("""every => every.map(e => {
                const pen = document.createElement("canvas").getContext("2d");
                pen.fillStyle = getComputedStyle(e).backgroundColor;
                pen.fillRect(0, 0, 1, 1);
                const light = [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map(part => part / 255)
                    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
                return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] + 0.05;
            })""")
            steps = [max(a, b) / min(a, b) for a, b in pairwise(grey)]
            assert min(steps) > 1.2, (scheme, steps)
        shares = page.locator("table.heat tbody tr").evaluate_all(
            "every => every.filter(e => !e.querySelector('.hint'))"
            ".map(e => parseFloat(e.querySelector('td').textContent))"
        )
        assert shares == sorted(shares)
        assert complaints_in_every_look(page) == []


def test_charts_of_a_page_on_disk_are_files_of_one_text_size(browser: Browser, runs: Path) -> None:
    with opened(browser, sheet(runs, "b-five"), accept_downloads=True) as page:
        page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true })")
        scales = page.locator("#charts .panels svg, #evidence .panels svg").evaluate_all(
            "every => every.map(e => e.getBoundingClientRect().width / e.viewBox.baseVal.width)"
        )
        assert len(scales) > 3
        assert 0.9 < min(scales) <= max(scales) < 1.01
        drawn = page.locator("figure[id]").first
        with page.expect_download() as got:
            drawn.get_by_role("button", name="SVG").click()
        text = Path(got.value.path()).read_text()
        assert text.startswith("<svg")
        assert "var(--" not in text
        assert got.value.suggested_filename.endswith(".svg")
        with page.expect_download() as got:
            drawn.get_by_role("button", name="CSV").click()
        lines = Path(got.value.path()).read_text().splitlines()
        assert len(lines) > len(FIVE)
        assert lines[0].startswith("judge")


def test_marks_of_charts_lead_to_figures_and_calls(browser: Browser, runs: Path, server: Server) -> None:
    with opened(browser, sheet(runs, "b-five")) as page:
        mark = page.locator(MARK).first
        row = page.locator(f"[id='{(mark.get_attribute('href') or '')[1:]}']")
        mark.press("Enter")
        row.wait_for(state="visible")
    with opened(browser, server.access.url("/run/1/")) as page:
        page.locator(MARK).first.press("Enter")
        page.locator("table.calls").wait_for()
        assert "Counted from" in page.locator(".figure-told").inner_text()


def test_a_remedied_figure_lists_the_remedied_answers(browser: Browser, server: Server) -> None:
    with opened(browser, server.access.url("/run/1/")) as page:
        page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true })")
        row = page.locator("table.remedies tbody tr", has_text="both orders, a tie where they differ").first
        figure = row.locator("a.behind").first
        told = figure.inner_text()
        figure.click()
        page.locator("table.calls").wait_for()
        assert told in page.locator(".figure-told").inner_text()
        answers = page.locator("td[data-label='with the remedy']").all_inner_texts()
        verdicts = page.locator("td[data-label=verdict] .answer").all_inner_texts()
        assert "tie" in answers
        assert answers != verdicts


def test_the_answer_is_the_title_of_an_estimate(browser: Browser, tmp_path: Path) -> None:
    rows = "".join(f"i{n},{n % 3 > 0:d},{(n % 4 > 0 if n < 60 else '')!s}\n" for n in range(120))
    (tmp_path / "r.csv").write_text("item,old,human\n" + rows.replace("True", "1").replace("False", "0"))
    run_command(
        tmp_path, "estimate", "r.csv", "--judge", "old", "--people", "human", "--design", "random",
        "--html", "page.html",
    )  # fmt: skip
    with opened(browser, (tmp_path / "page.html").as_uri(), accept_downloads=True) as page:
        title = page.locator("h1").inner_text()
        assert "r.csv" not in title
        assert re.search(r"0\.\d+ \[0\.\d+, 0\.\d+\]|\d+ % \[", title)
        with page.expect_download() as got:
            page.get_by_role("button", name="SVG").click()
        assert Path(got.value.path()).read_text().startswith("<svg")


def test_charts_of_served_pages_are_files(browser: Browser, server: Server) -> None:
    with opened(browser, server.access.url("/"), accept_downloads=True) as page:
        home = page.url
        for path, figure in (("run/1/", "#charts figure"), ("history", "figure.trend")):
            page.goto(home + path)
            page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true })")
            for kind, start in (("SVG", "<svg"), ("CSV", ("judge", "run,date"))):
                with page.expect_download() as got:
                    link = page.locator(figure).first.locator(".figure-files")
                    link.locator("a, button", has_text=kind).first.click()
                assert got.value.suggested_filename.endswith(f".{kind.lower()}")
                assert Path(got.value.path()).read_text().startswith(start), path


def test_keys_alone_lead_from_all_runs_to_a_comparison(browser: Browser, server: Server) -> None:
    with opened(browser, server.access.url("/")) as page:

        def tab_to(wanted: str) -> None:
            for _ in range(80):
                page.keyboard.press("Tab")
                if page.evaluate("wanted => document.activeElement.matches(wanted)", wanted):
                    return
            pytest.fail(f"no {wanted} in 80 tabs")

        for _ in range(2):
            tab_to("table.runs input[value^='1:planted']")
            page.keyboard.press("Space")
        tab_to("#compare-two")
        page.keyboard.press("Enter")
        page.locator("#forest-h").wait_for()


@pytest.mark.parametrize(
    "path",
    [
        "history",
        "together?side=1:planted/first&side=1:planted/coin&side=3:" + quote(SHARP),
        "differing?first=1:planted/first&second=1:planted/probit",
        "run/4/",
    ],
)
def test_pages_over_several_judges_are_accessible(browser: Browser, server: Server, path: str) -> None:
    with opened(browser, server.access.url("/"), bypass_csp=True) as page:
        page.goto(page.url + path)
        page.locator("main h1, header h1").first.wait_for()
        assert complaints_in_every_look(page, LOOKS[:2]) == []


def test_pages_of_trust_are_accessible(browser: Browser, tmp_path: Path) -> None:
    shutil.copy(Path(__file__).parents[1] / "examples" / "verdicts.csv", tmp_path)
    run_command(
        tmp_path, "trust", "fit", "verdicts.csv", "--people", "human", "--columns", "item=id",
        "--error", "0.08", "-j", "quick", "--signal", "quick=quick_sure", "--html", "fit.html",
    )  # fmt: skip
    run_command(tmp_path, "trust", "apply", "trust.json", "verdicts.csv", "--out", "decided.csv")
    run_command(tmp_path, "trust", "check", "trust.json", "decided.csv", "--html", "check.html")
    for name, words in (("fit", "Accept "), ("check", "Nothing speaks against")):
        with opened(browser, (tmp_path / f"{name}.html").as_uri(), bypass_csp=True) as page:
            assert page.title().startswith(words)
            assert page.locator("h1").inner_text() == page.title()
            assert "`" not in page.locator("main").inner_text()
            assert complaints_in_every_look(page, LOOKS[:2]) == []


def test_a_bundle_is_whole_where_others_open_it(browser: Browser, runs: Path, tmp_path: Path) -> None:
    written = StartedCommand(["view", "--bundle", "out", runs / "b-five"], tmp_path, os.environ)
    assert written.wait() == 0, written.communicate()
    shutil.move(tmp_path / "out", tmp_path / "elsewhere")
    start = (tmp_path / "elsewhere" / "run-0.html").as_uri()
    with opened(browser, start, accept_downloads=True) as page:
        page.locator(MARK).first.press("Enter")
        page.locator("table.calls tbody th a").first.click()
        page.locator("#reply-h").wait_for()
        page.locator("h1 a").click()
        page.locator("table.said").wait_for()
        assert page.locator("table.said thead th").count() == 3
        page.goto(start)
        with page.expect_download() as got:
            page.locator("#evidence").get_by_role("button", name="CSV").click()
        assert "judge" in Path(got.value.path()).read_text()
