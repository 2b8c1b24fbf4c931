"""People label items of a run: drawn with known odds, blind, each in an own order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from authoring_server import TASK, items
from browsers import LOOKS, chromium, complaints_in_every_look, opened
from commands import Command
from review_sessions import Client, is_released, serving
from steelyard.errors import ConfigError
from steelyard.review import labelling
from steelyard.review.labelling import LabelSession
from steelyard.review.stimuli_file import write_stimuli
from steelyard.run_folder.snapshot import save_snapshot
from steelyard.stimuli.original import NATURAL, original_of
from steelyard.stimuli.stimulus import Prefers, Stimulus
from steelyard.store.review_log import ReviewLog
from steelyard.study.study import DataSource
from steelyard.study.study_file import build_study, load_config
from steelyard.tasks.transcripts.transcript import Block, ToolCall, Transcript, Turn
from steelyard.web.review_app import LabelPages

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def folder_of(path: Path, count: int = 10, *, pairs: bool = False) -> Path:
    path.mkdir()
    made = [original_of(item, TASK) for item in items(count)]
    if pairs:
        made = [_paired(each) for each in made]
    write_stimuli(path / "stimuli.jsonl", made)
    return path


def _paired(item: Stimulus) -> Stimulus:
    texts = (f"{item.id} left", f"{item.id} right")
    return replace(item, kind=NATURAL, texts=texts, expectation=Prefers("u"), scale=None)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[LabelSession]:
    session = LabelSession(folder_of(tmp_path / "run"), size=4)
    yield session
    session.close()


def labels(session: LabelSession) -> list[dict[str, object]]:
    return [json.loads(line) for line in session.lines()]


def test_a_draw_has_known_odds_and_stays(session: LabelSession) -> None:
    assert len(session.draw.items) == len(set(session.draw.items)) == 4
    assert (session.draw.odds, session.draw.of) == (0.4, 10)
    again = LabelSession(session.folder.path)
    assert again.draw == session.draw
    again.close()
    with pytest.raises(ConfigError, match="a draw of 4 items was made here before") as refusal:
        LabelSession(session.folder.path, size=5)
    session.close()
    assert is_released(session.folder.path / "labels.db"), refusal


def test_who_draws_first_draws_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, usual = folder_of(tmp_path / "run"), labelling.rng_for

    def draw_between(*about: object) -> object:
        monkeypatch.setattr(labelling, "rng_for", usual)
        LabelSession(folder, size=5).close()
        return usual(*about)

    monkeypatch.setattr(labelling, "rng_for", draw_between)
    with pytest.raises(ConfigError, match="--draw 3: a draw of 5 items was made here before"):
        LabelSession(folder, size=3)
    with closing(LabelSession(folder)) as session:
        assert (len(session.draw.items), session.draw.odds) == (5, 0.5)


def test_each_annotator_has_an_own_order_that_stays(session: LabelSession) -> None:
    orders = {who: session.order(who) for who in ("Ada", "Grace", "Edsger", "Barbara")}
    assert all(sorted(order) == list(session.draw.items) for order in orders.values())
    assert len({tuple(order) for order in orders.values()}) > 1
    assert session.order("Ada") == orders["Ada"]


def test_labels_are_lines_with_annotator_and_odds(session: LabelSession) -> None:
    first, second, *_ = session.order("Ada")
    session.label(first, "Ada", "1", "sure")
    session.label(second, "Ada", None)
    assert len(session.waiting("Ada")) == 2
    (line,) = labels(session)
    assert {key: line[key] for key in ("stimulus", "annotator", "label", "note", "odds", "drawn_of")} == {
        "stimulus": first,
        "annotator": "Ada",
        "label": "1",
        "note": "sure",
        "odds": 0.4,
        "drawn_of": 10,
    }
    assert [session.undo("Ada").stimulus for _ in range(2)] == [second, first]  # type: ignore[union-attr]
    assert session.undo("Ada") is None
    assert labels(session) == []


def test_agreement_of_annotators(session: LabelSession) -> None:
    for n, name in enumerate(session.draw.items):
        session.label(name, "Ada", str(n % 2))
        session.label(name, "Grace", str(n % 2))
    found = session.agreement()
    assert (found.shared, found.alpha, found.pairs[0].kappa) == (4, 1.0, 1.0)


def test_slots_of_a_pair_are_kept_as_contents(tmp_path: Path) -> None:
    session = LabelSession(folder_of(tmp_path / "run", pairs=True))
    seen = set()
    for name in session.order("Ada"):
        item = session.item(name)
        assert item is not None
        first = session.shown_texts("Ada", item)[0]
        session.label(name, "Ada", "1")
        expected = "u" if first == item.texts[0] else "v"
        assert session.votes_in_force()[name]["Ada"].label == expected
        seen.add(expected)
    assert seen == {"u", "v"}  # chance decides which text stands first
    session.label(session.draw.items[0], "Grace", "tie")
    assert session.votes_in_force()[session.draw.items[0]]["Grace"].label == "tie"
    session.close()


def test_the_page_tells_nothing_of_labels_or_judges(session: LabelSession) -> None:
    with serving(lambda _: LabelPages(session, "Ada").app()) as server:
        client = Client.of(server)
        page = client.get("/").text
        assert "0 of 4" in page
        assert "drawn of 10" in page
        first = session.order("Ada")[0]
        assert client.post("/label", {"item": first, "answer": "7"}).status == 422
        assert client.post("/label", {"item": "sky-99/original", "answer": "1"}).status == 404
        assert client.post("/label", {"item": first, "answer": "1"}).body == {"left": 3}
        assert len(client.get("/labels.jsonl").text.splitlines()) == 1
        session.label(first, "Grace", "0")
        assert "Grace" not in client.get("/labels.jsonl").text
        assert client.post("/undo", {}).body == {"item": first}
        assert client.get("/label").status == 405


@pytest.mark.parametrize("lines", [None, "", '{"id": "x"}\n'])
def test_a_folder_without_items_is_refused(tmp_path: Path, lines: str | None) -> None:
    if lines is not None:
        (tmp_path / "stimuli.jsonl").write_text(lines)
    with pytest.raises(Exception, match=r"name another|restore"):
        LabelSession(tmp_path)


def test_the_command_refuses_a_draw_without_labelling(command: Command, tmp_path: Path) -> None:
    folder_of(tmp_path / "run")
    done = command("review", "run", "--draw", "3")
    assert done.code == 2
    assert re.search("--draw: .*--label", done.err)


STATUS = ("review", "run", "--label", "--status")


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_status_of_labelling_starts_no_server(
    command: Command, tmp_path: Path, session: LabelSession
) -> None:
    waiting = command(*STATUS, "--draw", "4")
    assert (waiting.code, re.findall(r"\d", waiting.out)) == (1, ["0", "4"])
    first, second, third, last = session.order("Ada")
    for name in (first, second, third):
        session.label(name, "Ada", "1")
    session.label(second, "Grace", "0")
    session.undo("Ada")
    assert json.loads(command(*STATUS, "--json").out)["waiting"] == 2
    session.label(third, "Ada", None)
    waiting = command(*STATUS)
    assert (waiting.code, waiting.err) == (1, "")
    assert re.match("2 of 4 .* 1 skipped; annotators: Ada 2, Grace 1. Agreement", waiting.out)
    session.label(last, "Grace", "0")
    done = command(*STATUS, "--json")
    assert done.code == 0
    body = json.loads(done.out)
    assert (body["labelled"], body["skipped"], body["waiting"], body["total"]) == (3, 1, 0, 4)
    assert (body["annotators"], body["agreement"]["shared"]) == ({"Ada": 2, "Grace": 2}, 1)
    mine = command(*STATUS, "--reviewer", "Ada")
    assert (mine.code, mine.out) == (1, "2 of 4 items labelled, 1 skipped; annotator: Ada 2.\n")
    wrong = command(*STATUS, "--draw", "5")
    assert (wrong.code, wrong.out) == (2, "")
    assert "draw of 4" in wrong.err


@pytest.mark.parametrize("left", [None, "labels.db"])
def test_the_status_of_a_folder_without_a_draw_draws_nothing(
    command: Command, tmp_path: Path, left: str | None
) -> None:
    folder = folder_of(tmp_path / "run")
    if left is not None:  # a kill came between the file and its draw
        ReviewLog(folder / left).close()
    before = files(folder)
    done = command(*STATUS, "--draw", "6", "--json")
    assert (done.code, done.out) == (1, "")
    assert "no items drawn" in done.err
    assert "--label --draw 6`" in done.err
    assert files(folder) == before
    assert command("review", "nowhere", "--label", "--status").code == 2


def test_labels_are_exported_without_a_server(
    command: Command, tmp_path: Path, session: LabelSession
) -> None:
    first, second, *_ = session.order("Ada")
    session.label(first, "Ada", "1")
    session.label(second, "Grace", "0")
    done = command("review", "run", "--label", "--export", "out.jsonl")
    assert (done.code, done.err) == (0, "")
    assert done.out == "Labels: out.jsonl\n2 of 4 items labelled; annotators: Ada 1, Grace 1.\n"
    assert (tmp_path / "out.jsonl").read_text().splitlines() == [line.strip() for line in session.lines()]


def test_labels_of_a_folder_without_a_draw_are_not_exported(command: Command, tmp_path: Path) -> None:
    before = files(folder_of(tmp_path / "run"))
    done = command("review", "run", "--label", "--export", "out.jsonl")
    assert done.code == 1
    assert "no items drawn" in done.err
    assert not (tmp_path / "out.jsonl").exists()
    assert files(tmp_path / "run") == before


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (("--reviewers", "2"), "--reviewers: works on generated texts under review, not with --label"),
        (("--blind",), "--blind: works on generated texts"),
        (("--import", "in.jsonl"), "--import: works on generated texts"),
        (("--finish",), "--finish: works on generated texts"),
        (("--finish", "--status"), "--finish: works on generated texts"),
        (("--json",), "--json: works only with --status"),
    ],
)
def test_labelling_refuses_what_belongs_to_a_review(
    command: Command, tmp_path: Path, option: tuple[str, ...], told: str
) -> None:
    folder = folder_of(tmp_path / "run")
    before = files(folder)
    done = command("review", "run", "--label", *option)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert files(folder) == before


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.mark.browser
def test_keys_label_skip_and_undo_in_a_browser(browser: Browser, session: LabelSession) -> None:
    with (
        serving(lambda _: LabelPages(session, "Ada").app()) as server,
        opened(browser, server.access.url(), bypass_csp=True) as page,
    ):
        listens = page.locator("html[data-ready]")
        listens.locator("#pane").wait_for()
        assert complaints_in_every_look(page) == []
        for key, done in (("1", 1), ("s", 2), ("u", 1), ("0", 2), ("0", 3)):
            page.keyboard.press(key)
            listens.locator(f"text={done} of 4").wait_for()
        page.keyboard.press("0")
        page.locator("text=All done").wait_for()
        assert complaints_in_every_look(page, LOOKS[:2]) == []
    assert [line["label"] for line in labels(session)].count("0") == 3


@pytest.mark.browser
def test_the_rubric_folds_once_it_was_read(browser: Browser, tmp_path: Path) -> None:
    """An item with a rubric of its own opens it again."""
    (tmp_path / "run").mkdir()
    made = [replace(original_of(item, TASK), rubric="Is the sky right?") for item in items(3)]
    write_stimuli(tmp_path / "run" / "stimuli.jsonl", [*made[:2], replace(made[2], rubric="Is it short?")])
    session = LabelSession(tmp_path / "run")
    kinds = [item.rubric for name in session.order("Ada") if (item := session.item(name))]
    with (
        serving(lambda _: LabelPages(session, "Ada").app()) as server,
        opened(browser, server.access.url()) as page,
    ):
        for place, kind in enumerate(kinds):
            page.locator("html[data-ready]").locator(f"text={place} of 3").wait_for()
            shown = page.get_by_text(str(kind)).is_visible()
            assert shown == (kind not in kinds[:place])
            page.keyboard.press("1")
        page.locator("text=All done").wait_for()
    session.close()


RUN = Transcript(
    "run-1",
    (
        Turn("system", (Block("text", "You mend things."),)),
        Turn("user", (Block("text", "Mend the gate."),)),
        Turn(
            "assistant",
            (Block("reasoning", "A hinge is loose."), Block("text", "I look.")),
            calls=(ToolCall("c1", "look", {"at": "gate"}),),
        ),
        Turn("tool", (Block("text", "one hinge is loose"),), call="c1", function="look", error="half dark"),
        Turn("assistant", (Block("text", "It is mended."),)),
    ),
)


@pytest.fixture
def agent_session(tmp_path: Path) -> Iterator[LabelSession]:
    (tmp_path / "run").mkdir()
    plain = original_of(items(1)[0], TASK)
    write_stimuli(tmp_path / "run" / "stimuli.jsonl", [replace(plain, transcript=RUN, failing="0")])
    session = LabelSession(tmp_path / "run")
    yield session
    session.close()


def test_a_run_is_shown_as_messages_and_answers_say_what_they_mean(agent_session: LabelSession) -> None:
    with serving(lambda _: LabelPages(agent_session, "Ada").app()) as server:
        text = Client.of(server).get("/").text
    assert "Run of the agent, 5 messages" in text
    parts = ("Mend the gate.", "A hinge is loose.", "I look.", "calls look", "half dark", "It is mended.")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)  # everything that a judge is shown, in its order
    assert '<li class="turn assistant">' in text
    assert "breaks the rubric" in text
    assert "keeps the rubric" in text
    assert "Without JavaScript this page shows items" in text


OWN_WORDS = {"sound": "1", "harmful": "0", "harmless": "1"}


@pytest.mark.parametrize(
    ("labels", "failing", "meanings"),
    [
        (OWN_WORDS, "0", {"0": "harmful", "1": "sound or harmless"}),
        ({"harmful": 1, "harmless": 0}, "0", {"0": "harmless", "1": "harmful"}),
        ({True: 1, False: False, "1": 1}, None, {"0": "False", "1": "True"}),
        (None, "0", {}),  # of a run of own data the lowest answer is taken for the failing one
        (None, None, {}),
    ],
)
def test_answers_mean_what_the_users_own_words_say(
    agent_session: LabelSession,
    labels: dict[object, object] | None,
    failing: str | None,
    meanings: dict[str, str],
) -> None:
    study = build_study(load_config(None, {"judges": ["planted/probit"]}), Path())
    settings = {"path": "rows.csv"} | ({} if labels is None else {"labels": labels})
    save_snapshot(agent_session.folder.study, replace(study, source=DataSource(settings, {})))
    item = agent_session.item(agent_session.draw.items[0])
    assert item is not None
    assert agent_session.meanings(replace(item, failing=failing)) == meanings


def test_ends_of_a_longer_scale_are_its_ends(agent_session: LabelSession) -> None:
    item = agent_session.item(agent_session.draw.items[0])
    assert item is not None
    longer = replace(item, scale="1-5", failing=None)
    assert agent_session.meanings(longer) == {"1": "lowest", "5": "highest"}
    assert agent_session.meanings(replace(longer, texts=("one", "two"))) == {}


@pytest.mark.browser
def test_the_page_of_a_run_is_accessible(browser: Browser, agent_session: LabelSession) -> None:
    with (
        serving(lambda _: LabelPages(agent_session, "Ada").app()) as server,
        opened(browser, server.access.url(), bypass_csp=True) as page,
    ):
        page.locator(".turns").wait_for()
        assert complaints_in_every_look(page, LOOKS[:2]) == []


@pytest.mark.browser
def test_the_page_of_a_pair_is_accessible(browser: Browser, tmp_path: Path) -> None:
    session = LabelSession(folder_of(tmp_path / "run", pairs=True))
    with (
        serving(lambda _: LabelPages(session, "Ada").app()) as server,
        opened(browser, server.access.url(), bypass_csp=True) as page,
    ):
        page.locator("#pane").wait_for()
        assert complaints_in_every_look(page, LOOKS[:2]) == []
    session.close()
