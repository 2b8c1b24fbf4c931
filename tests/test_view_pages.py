"""The viewer over real runs and real HTTP: filters that count, pages that lead to each other."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest

from commands import Command, run_command
from review_sessions import Client, serving
from servers import ScriptedServer, fails
from steelyard.commands.call_index import CallFilter
from steelyard.commands.viewed_run import ViewedRun
from steelyard.errors import ConfigError
from steelyard.run_folder.run_folder import RunFolder
from steelyard.web.view_app import PAGE_SIZE, ViewPages

JUDGES = ("planted/probit?name=shaky&s=0.6&beta=0.5&seed=3", "planted/first")


def measured(out: Path, *arguments: str) -> Path:
    run_command(out.parent, "measure", *arguments, "--out", out)
    return out


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    judges = [word for judge in JUDGES for word in ("-j", judge)]
    return measured(tmp_path_factory.mktemp("view") / "pairs", *judges, "-p", "vacuum", "-p", "ladder")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("view")
    call = {"judge": "j", "probe": "position", "task": "t", "pair": "p", "answer": "1", "kind": "natural"}
    lines = "".join(json.dumps({**call, "first": first}) + "\n" for first in "uv")
    (folder / "verdicts.jsonl").write_text(lines)
    run_command(folder, "import", "verdicts.jsonl", "--out", "imported")
    return folder / "imported"


@pytest.fixture(scope="module")
def client(pairs: Path, recorded: Path) -> Iterator[Client]:
    pages = ViewPages([pairs, recorded])
    for run in pages.runs:
        run.load()
    with serving(lambda _: pages.app()) as server:
        yield Client.of(server)


def rows(text: str) -> list[str]:
    """Addresses of the calls in a list."""
    return [html.unescape(link) for link in re.findall(r'<th scope="row"><a href="([^"]+)"', text)]


def test_the_overview_shows_runs_judges_and_their_verdicts(client: Client, pairs: Path) -> None:
    text = client.get("/").text
    assert re.search(r"\b2 runs, 3 judges\b", text)
    assert str(pairs) in text
    assert text.count('<tr class="run-row"') == 3
    assert re.findall(r'data-label="date"[^>]*>([^<]+)</td>', text) == ["not recorded"]  # of the import
    for judge in ("shaky", "planted/first", "j"):
        assert f'data-sort="{judge}"' in text
    for head in ("judge", "verdict", "tells good from bad", "calls", "price", "date", "certificate"):
        assert re.search(rf"<button class=.sort.[^>]*>{head}</button>", text), head


def listed(text: str) -> list[str]:
    """Judges of the overview, from the top."""
    return re.findall(r'<th scope="row" data-sort="([^"]+)"', text)


def test_the_overview_sorts_and_filters_without_scripts(client: Client) -> None:
    assert listed(client.get("/?sort=judge").text) == ["j", "planted/first", "shaky"]
    down = client.get("/?sort=-judge").text
    assert listed(down) == ["shaky", "planted/first", "j"]
    assert 'aria-sort="descending"' in down
    # What was not measured comes last, whichever way the others are sorted.
    for way in ("", "-"):
        assert listed(client.get(f"/?sort={way}figure0").text)[-1] == "j"
    assert listed(client.get("/?find=PAIRS+shaky").text) == ["shaky"]
    assert listed(client.get("/?study=verdicts").text) == ["j"]
    assert listed(client.get("/?verdict=unfit").text) == ["planted/first"]
    assert listed(client.get("/?certificate=valid").text) == []
    assert listed(client.get("/?sort=nonsense&find=").text) == listed(client.get("/").text)


def test_ticked_judges_are_compared_or_shown_on_one_page(client: Client) -> None:
    two = urlencode([("side", "0:shaky"), ("side", "0:planted/first")])
    assert client.get(f"/compare?{two}").status == 200
    for few in (urlencode([("side", "0:shaky")]), two + "&side=1%3Aj"):
        answer = client.get(f"/compare?{few}")
        assert (answer.status, "tick two" in answer.text) == (400, True)
    page = client.get(f"/together?{two}&side=1%3Aj").text
    assert "3 judges on" in page
    assert page.count("not measured") > 0
    row = page.partition('<th scope="row">Reacts to nothing</th>')[2].partition("</tr>")[0]
    assert row.count('<a class="behind" href="/run/0/calls?figure=') == 2
    assert row.count("not measured") == 1
    assert client.get("/together?side=9:nobody").status == 400


def test_every_number_of_the_datasheet_leads_to_its_calls(client: Client) -> None:
    text = client.get("/run/0/").text
    links = {html.unescape(link) for link in re.findall(r'class="behind" href="([^"]+)"', text)}
    assert len(links) > 20
    for link in sorted(links)[::14]:
        assert client.get(link).status == 200
    assert all(link.startswith("/run/0/calls?figure=") for link in links)


def test_the_calls_behind_a_figure_are_those_that_it_counts(client: Client, pairs: Path) -> None:
    sheet = json.loads((pairs / "datasheet.json").read_text())
    checked = 0
    for estimate in sheet["estimates"]:
        if estimate["metric"] == "dark_current" and estimate["numerator"] is not None:
            group = {key: str(value) for key, value in estimate["group"].items()}
            query = {"judge": estimate["judge"], "probe": "vacuum", "outcome": "wrong", **group}
            found = list(
                csv.DictReader(io.StringIO(client.get(f"/run/0/files/calls.csv?{urlencode(query)}").text))
            )
            assert len(found) == estimate["numerator"], group
            checked += 1
    assert checked > 4


def test_from_a_number_to_the_raw_reply_in_two_clicks(client: Client) -> None:
    sheet = client.get("/run/0/").text
    links = map(html.unescape, re.findall(r'class="behind" href="([^"]+)"', sheet))
    number = next(link for link in links if "of planted/first" in client.get(link).text)
    listed = rows(client.get(number).text)
    call = client.get(listed[0]).text
    assert "Raw reply" in call
    assert "{&#34;winner&#34;: &#34;1&#34;}" in call
    assert "Prompt, as it" in call
    assert "candidate 1" in call


def test_outcomes_count_as_show_counts_them(client: Client, pairs: Path) -> None:
    run = ViewedRun(pairs)
    index = run.load().index
    calls = index.calls
    first = index.mask(CallFilter(judge="planted/first"))
    counts = index.counts(first)
    assert counts["unreadable"].total == counts["failed"].total == 0
    # A judge that always says 1 names another content in each order: every pair flips by its position.
    assert counts["positional"] == counts["flip"] == index.count(first)
    wrong = index.rows(first & index.outcomes["wrong"])
    assert len(wrong) == sum(
        call.winner != getattr(call.stimulus.expectation, "content", "tie")
        for call in calls.take(index.rows(first))
    )


def test_pages_follow_each_other_and_hold_every_call_once(client: Client, pairs: Path) -> None:
    total = len(ViewedRun(pairs).load().index.calls)
    seen: list[str] = []
    number = 1
    while True:
        text = client.get(f"/run/0/calls?page={number}").text
        seen += rows(text)
        if 'rel="next"' not in text:
            break
        number += 1
    assert len(seen) == len(set(seen)) == total
    assert number == -(-total // PAGE_SIZE)
    for odd in ("0", "-1", "999999", "x", ""):
        assert client.get(f"/run/0/calls?page={odd}").status == 200


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("judge=nobody", "No call passes"),
        ("text=zzzz-nothing", "No call passes"),
        ("delta=nonsense", "No call passes"),
        ("probe=nobody", "of baselines</small></h1>"),
        ("outcome=nothing", "of baselines</small></h1>"),
        ("text=%25", "No call passes"),
        ("text=%27%3B--", "No call passes"),
    ],
)
def test_filters_that_nothing_passes_are_told(client: Client, query: str, told: str) -> None:
    answer = client.get(f"/run/0/calls?{query}")
    assert answer.status == 200
    assert told in answer.text


def test_a_column_sorts_the_list_its_pages_and_the_way_through_it(client: Client, pairs: Path) -> None:
    def tokens(query: str) -> list[int]:
        text = client.get(f"/run/0/calls?judge=planted%2Ffirst&{query}").text
        return [int(first) for first in re.findall(r'data-label="tokens">(\d+) \+ \d+</td>', text)]

    down, up = tokens("sort=-tokens"), tokens("sort=tokens")
    assert down == sorted(down, reverse=True)
    assert up == sorted(up)
    assert down[0] > up[0]
    text = client.get("/run/0/calls?sort=-tokens").text
    assert 'aria-sort="descending"' in text
    call = client.get(rows(text)[1]).text
    assert "2 of " in call
    assert "sort=-tokens" in call
    every = client.get("/run/0/calls?sort=judge&page=999").text  # baselines come last, however it is sorted
    assert re.findall(r'data-label="judge">([^<]+)</td>', every)[-1] in ("coin", "longest", "tie", "first")
    assert "Baselines</th>" in every


def test_words_are_looked_for_in_stimuli_and_in_replies(client: Client) -> None:
    assert "No call passes" not in client.get("/run/0/calls?text=EVERY").text
    by_reply = client.get("/run/0/calls?judge=planted%2Ffirst&text=%22winner%22").text
    assert len(rows(by_reply)) == PAGE_SIZE


def test_a_pair_stands_in_both_orders_side_by_side_with_every_judge(client: Client) -> None:
    call = rows(client.get("/run/0/calls?probe=vacuum").text)[0]
    link = re.search(r'href="(/run/0/stimulus\?id=[^"]+)"', client.get(call).text)
    assert link is not None
    text = client.get(html.unescape(link[1])).text
    assert "u first" in text
    assert "v first" in text
    assert "Content u" in text
    # Judges come first, and what no one asked about after them.
    places = [text.index(f">{name}<") for name in ("planted/first", "shaky", "Baselines", "coin")]
    assert places == sorted(places)


def test_the_map_counts_wrong_calls_and_leads_to_them(client: Client) -> None:
    text = client.get("/run/0/map").text
    tiles = re.findall(r'<a href="([^"]+)" title="(\d+) of ([\d,]+) calls?"', text)
    assert tiles
    for link, wrong, _ in tiles:
        assert re.search(rf'<h1 class="long">{int(wrong):,} (of|call)', client.get(html.unescape(link)).text)


def test_two_judges_are_compared_with_a_forest(client: Client, pairs: Path) -> None:
    answer = client.get("/compare?first=0:shaky&second=0:planted%2Ffirst")
    assert answer.status == 200
    assert "<svg" in answer.text
    assert str(pairs) not in answer.text  # a folder by its name
    assert re.search(r"<h1[^>]*>[^<]*(better|alike|Neither)[^<]*</h1>", answer.text)
    for side in ("A better", "B better"):
        assert side in re.findall(r"<svg.*?</svg>", answer.text, re.DOTALL)[1]
    for odd in ("", "?first=9:x&second=0:y", "?first=0:nobody&second=0:shaky", "?first=../../etc&second=0:x"):
        assert client.get(f"/compare{odd}").status == 400


def test_calls_that_differ_stand_with_both_replies_side_by_side(client: Client) -> None:
    sides = urlencode({"first": "0:shaky", "second": "0:planted/first"})
    compared = client.get(f"/compare?{sides}").text
    total = int(re.search(r"(\d+) calls answered differently", compared)[1])  # type: ignore[index]
    assert compared.count('<pre dir="auto">') == 2 * 8
    text = client.get(f"/differing?{sides}").text
    assert f"{total} calls answered differently" in text
    row = text.split("<tr>")[2]
    assert len(re.findall(r'<a class="behind" href="(/run/0/call/[^"]+)"', row)) == 2
    answers = re.findall(r"<b>([^<]+)</b></a>", row)
    assert len(answers) == 2
    assert answers[0] != answers[1]
    assert "{&#34;winner&#34;: &#34;1&#34;}" in row
    parts = [
        int(re.search(r"(\d+) calls? of", client.get(f"/differing?{sides}&right={who}").text)[1])  # type: ignore[index]
        for who in ("A", "B", "none")
    ]
    assert 0 < sum(parts) <= total
    listing = client.get("/run/0/calls?judge=shaky&differs=0:planted%2Ffirst").text
    assert f'<h1 class="long">{total} of' in listing or f'<h1 class="long">{total} calls' in listing
    assert '<option value="0:planted/first" selected>' in listing
    same = client.get(f"/differing?{urlencode({'first': '0:shaky', 'second': '0:shaky'})}").text
    assert "they share alike" in same
    assert client.get("/differing?first=9:x&second=0:y").status == 400


def test_recorded_verdicts_say_that_texts_are_not_known(client: Client) -> None:
    listed = rows(client.get("/run/1/calls").text)
    assert len(listed) == 2
    text = client.get(listed[0]).text
    assert "reply was not" in text
    assert client.get("/run/1/").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/run/7/",
        "/run/7/calls",
        "/run/0/call/nothing",
        "/run/0/stimulus?id=x",
        "/run/0/files/run.db",
        "/run/0/files/..%2Frun.db",
        "/run/x/",
    ],
)
def test_what_is_not_there_is_told(client: Client, path: str) -> None:
    assert client.get(path).status in (404, 500)


def test_downloads_are_files_with_every_call_that_passes(client: Client) -> None:
    answer = client.get("/run/0/files/calls.json?judge=shaky&probe=vacuum")
    assert answer.headers["content-disposition"] == 'attachment; filename="pairs-calls.json"'
    assert {call["judge"] for call in answer.body} == {"shaky"}
    assert answer.body[0]["messages"][-1]["role"] == "user"
    assert client.get("/run/0/files/datasheet.json").body["study"]["name"]


@pytest.mark.parametrize("path", ["/", "/history", "/run/0/", "/run/0/calls", "/run/0/map"])
def test_a_page_without_scripts_says_what_is_missing(client: Client, path: str) -> None:
    assert re.search(r"<noscript>.*JavaScript.*whole", client.get(path).text)


def test_a_run_that_is_deleted_while_it_is_viewed_is_told(pairs: Path, tmp_path: Path) -> None:
    shutil.copytree(pairs, tmp_path / "run")
    pages = ViewPages([tmp_path / "run"])
    pages.runs[0].load()
    with serving(lambda _: pages.app()) as server:
        client = Client.of(server)
        assert client.get("/run/0/calls").status == 200
        shutil.rmtree(tmp_path / "run")
        for path in ("/run/0/", "/run/0/calls", "/run/0/map", "/run/0/files/calls.csv"):
            answer = client.get(path)
            assert (answer.status, "folder is gone" in answer.text) == (404, True), path
        assert "folder is gone" in client.get("/").text


def test_the_viewer_changes_nothing(client: Client, pairs: Path) -> None:
    before = {
        path.name: path.stat().st_size for path in pairs.iterdir() if not path.name.startswith("run.db-")
    }
    for path in ("/", "/run/0/", "/run/0/calls", "/run/0/map"):
        client.get(path)
        assert client.post(path, {}).status == 405
    after = {
        path.name: path.stat().st_size for path in pairs.iterdir() if not path.name.startswith("run.db-")
    }
    assert before == after


def test_a_run_that_was_cut_is_looked_at_as_far_as_it_went(pairs: Path, tmp_path: Path) -> None:
    """A folder that a measurement still holds: some calls, no datasheet, the lock taken."""
    cut = tmp_path / "cut"
    cut.mkdir()
    for name in ("study.yaml", "stimuli.jsonl", "run.db"):
        (cut / name).write_bytes((pairs / name).read_bytes())
    with closing(sqlite3.connect(cut / "run.db")) as database, database:
        database.execute("DELETE FROM replies WHERE trial IN (SELECT trial FROM replies LIMIT 40)")
    with RunFolder(cut).locked():
        pages = ViewPages([cut])
        loaded = pages.runs[0].load()
        assert loaded.planned - 40 == len(loaded.index.calls)
        with closing(sqlite3.connect(cut / "run.db")) as database, database:
            bare = tmp_path / "bare"
            bare.mkdir()
            for name in ("study.yaml", "stimuli.jsonl"):
                (bare / name).write_bytes((pairs / name).read_bytes())
            with closing(sqlite3.connect(bare / "run.db")) as copy, copy:
                database.backup(copy)
                copy.execute("DELETE FROM replies")
        none_yet = ViewPages([bare])
        none_yet.runs[0].load()
        with serving(lambda _: none_yet.app()) as server:
            text = Client.of(server).get("/run/0/calls").text
            assert "No call was" in text
            assert "passes these" not in text
            assert rows(text) == []
        with serving(lambda _: pages.app()) as server:
            client = Client.of(server)
            assert "No datasheet yet" in client.get("/run/0/").text
            assert client.get("/run/0/progress").body == {
                "answered": loaded.planned - 40,
                "planned": loaded.planned,
                "opening": False,
            }
            assert client.get("/run/0/calls").status == 200


def test_a_run_with_failures_alone_says_so_and_counts_none_of_them_as_wrong(
    tmp_path: Path, command: Command
) -> None:
    with ScriptedServer(fails(500)) as server:
        model = f"openai/broken?base_url={server.url}"
        options = ("-p", "vacuum", "--attempts", "1", "--no-preflight", "--out", "run")
        assert command("measure", "-j", model, *options).code == 1
    pages = ViewPages([tmp_path / "run"])
    pages.runs[0].load()
    with serving(lambda _: pages.app()) as viewer:
        client = Client.of(viewer)
        assert "a readable verdict" in client.get("/run/0/").text
        text = client.get("/run/0/calls").text
        # Twelve calls of the judge; a baseline that always names a slot is wrong on every pair.
        counts = re.findall(r"(all|label|failed) <b>(\d+)</b>(?: <small[^>]*>\+ (\d+)<)?", text)
        assert counts[:1] == [("all", "12", "48")]
        assert ("label", "0", "24") in counts  # wrong against it
        assert ("failed", "12", "") in counts
        told = client.get(rows(client.get("/run/0/calls?outcome=failed").text)[0]).text
        assert "no reply (server_error)" in told


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected a folder that `measure` or `import` wrote"):
        ViewPages([tmp_path])


def test_a_damaged_run_is_told_on_the_page(pairs: Path, tmp_path: Path) -> None:
    (tmp_path / "run.db").write_bytes(b"nothing like a database" * 50)
    (tmp_path / "study.yaml").write_bytes((pairs / "study.yaml").read_bytes())
    (tmp_path / "stimuli.jsonl").write_bytes((pairs / "stimuli.jsonl").read_bytes())
    with serving(lambda _: ViewPages([tmp_path]).app()) as server:
        client = Client.of(server)
        assert client.get("/").status == 200
        answers = [client.get("/run/0/calls") for _ in range(200)]
        assert answers[-1].status in (200, 500)
        assert any("usable run file" in answer.text for answer in answers)


def test_a_figure_is_a_file_that_needs_nothing_else(client: Client) -> None:
    text = client.get("/run/0/").text
    links = re.findall(r'<a href="(/run/0/figures/[\w-]+\.svg)" download>', text)
    assert len(links) > 2
    for link in links:
        answer = client.get(link)
        assert answer.headers["content-type"] == "image/svg+xml"
        drawing = ElementTree.fromstring(answer.text)
        assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(--" not in answer.text
        assert 'href="http' not in answer.text
    assert client.get("/run/0/figures/nosuch.svg").status == 404
    assert client.get("/run/1/figures/..%2fx.svg").status == 404


def test_words_beside_a_reply_are_not_its_words(client: Client) -> None:
    assert rows(client.get("/run/0/calls?text=input_tokens").text) == []
    assert rows(client.get("/run/0/calls?text=WINNER").text)


def test_the_overview_tells_what_keeps_a_datasheet_from_being_read(pairs: Path, tmp_path: Path) -> None:
    shutil.copytree(pairs, tmp_path / "run")
    (tmp_path / "run" / "datasheet.json").write_text("{")
    with serving(lambda _: ViewPages([tmp_path / "run"]).app()) as server:
        client = Client.of(server)
        assert "not a datasheet" in client.get("/").text
        shutil.rmtree(tmp_path / "run")
        assert "folder is gone" in client.get("/").text


def test_an_answer_that_says_no_leads_back(client: Client) -> None:
    answer = client.get("/run/99/")
    assert answer.status == 404
    assert "no run 99" in answer.text
    assert 'href="/"' in answer.text
