"""Decisions about written stimuli: what they come to, what is refused, and that nothing is lost."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.applications import Starlette

from authored_study import write_study
from authoring_server import TASK, Cast, items
from commands import Command, StartedCommand
from review_sessions import Client, authored, is_released, lines, serving, written_folder
from servers import ScriptedServer
from steelyard.errors import ConfigError, SteelyardError, StoreError
from steelyard.review.session import RefusedError, ReviewSession, VoteRequest
from steelyard.review.votes import BY_HAND, add_arrival, in_order
from steelyard.run_folder.run_folder import RunFolder
from steelyard.stimuli.original import original_of
from steelyard.store.review_log import Choice, ReviewLog, StaleError
from steelyard.web.review_app import LISTED, ReviewPages
from steelyard.web.server import Access, Server, usual_port

FLIP, SAME = "sky-0/label_flip/0", "sky-0/semantic_paraphrase/0"
ACCEPT, REJECT, DEFER = (
    VoteRequest("accepted"),
    VoteRequest("rejected", reason="not natural"),
    VoteRequest("deferred"),
)
TEXT = "Nobody has ever called this sky anything but green."


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return written_folder(tmp_path / "run")


@pytest.fixture
def session(folder: RunFolder) -> Iterator[ReviewSession]:
    session = ReviewSession(folder.path)
    yield session
    session.close()


def decide(
    session: ReviewSession, name: str, verdict: VoteRequest, who: str = "Ada", seen: int | None = None
) -> None:
    items = session.items()
    newest = session.statuses(items)[name].newest if seen is None else seen
    session.decide(items[name], who, verdict, newest)


def status(session: ReviewSession, name: str) -> str:
    return session.statuses(session.items())[name].status


def test_the_session_shows_what_waits_with_its_original(session: ReviewSession) -> None:
    items = session.items()
    assert len(items) == 6
    assert all(item.waits for item in items.values())
    assert items[FLIP].original is not None
    assert items[FLIP].original.texts[0].endswith("blue to most people.")
    assert items[FLIP].label == "0"
    assert items[FLIP].answers == ("0", "1")
    assert items[FLIP].doubted
    assert not items[SAME].doubted
    assert items[FLIP].similarity > items[SAME].similarity  # type: ignore[operator]


@pytest.mark.parametrize(
    ("verdict", "word"), [(ACCEPT, "accepted"), (REJECT, "rejected"), (DEFER, "deferred")]
)
def test_a_decision_is_in_the_log_and_in_the_file(
    session: ReviewSession, folder: RunFolder, verdict: VoteRequest, word: str
) -> None:
    decide(session, SAME, verdict)
    assert status(session, SAME) == word
    assert lines(folder)[SAME]["lineage"]["review"] == ("pending" if word == "deferred" else word)


def test_an_edit_changes_text_and_label_with_who_and_why(session: ReviewSession, folder: RunFolder) -> None:
    decide(session, SAME, VoteRequest("edited", TEXT, "0", reason="it says green"), "Grace")
    line = lines(folder)[SAME]
    assert line["texts"] == [TEXT]
    assert line["expectation"] == {"type": "Label", "value": "0"}
    assert line["lineage"]["review"] == "edited"
    (kept,) = session.log.votes(SAME)
    assert (kept.reviewer, kept.reason, kept.label) == ("Grace", "it says green", "0")


def test_an_unchanged_text_is_accepted_and_not_edited(session: ReviewSession) -> None:
    made = session.items()[SAME].made
    decide(session, SAME, VoteRequest("edited", made.texts[0], "1"))
    assert status(session, SAME) == "accepted"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "verdict", "told"),
    [
        (SAME, VoteRequest("edited", " \n", "1"), "the text is empty"),
        (SAME, VoteRequest("edited", TEXT, "7", reason="why"), "not on the scale (0, 1)"),
        (SAME, VoteRequest("edited", TEXT, "0"), "needs a reason"),
        (FLIP, VoteRequest("edited", TEXT, "1", reason="why"), "nothing was flipped"),
        (FLIP, VoteRequest("judged"), "no decision 'judged'"),
        (FLIP, VoteRequest("undone"), "no decision 'undone'"),
    ],
)
def test_what_no_judge_can_be_measured_with_is_refused(
    session: ReviewSession, name: str, verdict: VoteRequest, told: str
) -> None:
    with pytest.raises(RefusedError, match=re.escape(told)):
        decide(session, name, verdict)
    assert session.log.votes() == []


def test_undo_goes_back_one_decision_at_a_time_and_leaves_a_trace(
    session: ReviewSession, folder: RunFolder
) -> None:
    decide(session, SAME, ACCEPT)
    decide(session, SAME, VoteRequest("edited", TEXT))
    decide(session, FLIP, REJECT)
    assert [session.undo("Ada").stimulus for _ in range(2)] == [FLIP, SAME]  # type: ignore[union-attr]
    assert status(session, SAME) == "accepted"
    assert lines(folder)[SAME]["texts"] != [TEXT]
    assert lines(folder)[FLIP]["lineage"]["review"] == "pending"
    assert session.undo("Grace") is None
    session.undo("Ada")
    assert session.undo("Ada") is None
    assert [d.decision for d in session.log.votes()].count("undone") == 3


def test_who_comes_second_is_told(session: ReviewSession) -> None:
    decide(session, SAME, ACCEPT, "Ada", seen=0)
    with pytest.raises(StaleError):
        decide(session, SAME, REJECT, "Grace", seen=0)
    assert status(session, SAME) == "accepted"
    decide(session, SAME, REJECT, "Grace")
    assert status(session, SAME) == "rejected"


def test_a_line_that_was_changed_by_hand_is_a_decision(folder: RunFolder) -> None:
    held = lines(folder)
    held[SAME]["lineage"]["review"] = "accepted"
    held[FLIP]["texts"], held[FLIP]["lineage"]["review"] = [TEXT], "edited"
    write = lambda: folder.stimuli.write_text("".join(json.dumps(line) + "\n" for line in held.values()))  # noqa: E731
    write()
    session = ReviewSession(folder.path)
    assert status(session, SAME) == "accepted"
    assert {d.reviewer for d in session.log.votes()} == {BY_HAND}
    decide(session, SAME, REJECT)
    assert lines(folder)[FLIP]["texts"] == [TEXT]
    held = lines(folder)
    held[SAME]["lineage"]["review"] = "pending"
    write()
    decide(session, "sky-1/label_flip/0", ACCEPT)
    assert status(session, SAME) == "pending"
    session.close()
    again = ReviewSession(folder.path)
    assert len(again.log.votes()) == 6
    again.close()


def test_two_reviewers_must_say_the_same_or_somebody_settles_it(folder: RunFolder) -> None:
    session = ReviewSession(folder.path, reviewers=2)
    decide(session, SAME, ACCEPT, "Ada")
    assert status(session, SAME) == "pending"
    decide(session, SAME, ACCEPT, "Grace")
    assert status(session, SAME) == "accepted"
    decide(session, FLIP, ACCEPT, "Ada")
    decide(session, FLIP, REJECT, "Grace")
    assert status(session, FLIP) == "disputed"
    assert lines(folder)[FLIP]["lineage"]["review"] == "pending"
    with serving(lambda _: ReviewPages(session, "Ada").app()) as server:
        page = Client.of(server).get(f"/?item={FLIP}").text
        assert "Reviewers disagree." in page
        assert "another reviewer has still to vote" not in page
    decide(session, FLIP, VoteRequest("rejected", final=True), "Edsger")
    assert status(session, FLIP) == "rejected"
    session.close()


def test_a_review_comes_back_at_its_link_and_elsewhere_where_the_port_is_taken(tmp_path: Path) -> None:
    """What a browser keeps of a text belongs to the port; two reviews at once still both start."""
    port = usual_port("review", tmp_path)
    assert port == usual_port("review", tmp_path / "x" / "..")
    assert port not in (usual_port("review", tmp_path / "other"), usual_port("view", tmp_path))
    with serving(lambda _: Starlette(), "review", tmp_path) as first:
        assert first.access.port == port
        with serving(lambda _: Starlette(), "review", tmp_path) as second:
            assert second.access.port not in (0, port)
        with serving(lambda _: Starlette(), "view", tmp_path) as other:
            assert other.access.token != first.access.token
    with serving(lambda _: Starlette(), "review", tmp_path) as again:
        assert again.access == first.access
        assert len({again.access.token, again.access.session, again.access.csrf}) == 3
    with serving(lambda _: Starlette()) as unnamed, serving(lambda _: Starlette()) as another:
        assert unnamed.access.token != another.access.token


def test_a_link_without_a_place_for_its_key_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "file"))
    first, second = (Access.lasting("127.0.0.1", 1, "review") for _ in range(2))
    assert first.token != second.token


def test_a_file_of_decisions_that_cannot_be_written_is_told(folder: RunFolder) -> None:
    log = ReviewLog(folder.path / "review.db")
    log._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match="cannot be written; make it and its folder writable"):
        log.set_meta("x", 1)
    log.close()


def test_finish_waits_for_the_last_text_and_freezes_a_version(
    session: ReviewSession, folder: RunFolder
) -> None:
    decide(session, FLIP, REJECT)
    with pytest.raises(RefusedError, match="5 texts wait"):
        session.finish("Ada")
    first = session.finish("Ada", accept_waiting=True)
    assert (first.version, first.parent, first.reviewer) == (1, None, "Ada")
    assert {line["lineage"]["review"] for line in lines(folder).values()} == {None, "accepted", "rejected"}
    assert session.finish("Grace") == first
    decide(session, SAME, VoteRequest("edited", TEXT))
    second = session.finish("Grace")
    assert (second.version, second.parent) == (2, first.hash)
    assert second.hash != first.hash


def test_a_text_that_the_checks_turned_down_waits_for_nobody_and_may_be_rescued(tmp_path: Path) -> None:
    made = authored(1)
    lost = made[0].stimulus
    rejected = type(lost.lineage)(**{**vars(lost.lineage), "review": "rejected"})
    texts = [type(made[0])(type(lost)(**{**_plain(lost), "lineage": rejected}), made[0].tries), made[1]]
    folder = written_folder(tmp_path / "run", 1, texts=texts)
    session = ReviewSession(folder.path)
    assert not session.items()[FLIP].waits
    decide(session, SAME, ACCEPT)
    session.finish("Ada")
    decide(session, FLIP, ACCEPT)
    assert lines(folder)[FLIP]["lineage"]["review"] == "accepted"
    session.close()


def _plain(stimulus: Any) -> dict[str, Any]:
    return {name: getattr(stimulus, name) for name in type(stimulus).__dataclass_fields__}


def test_a_folder_without_anything_written_is_no_bench(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="steelyard generate"):
        ReviewSession(tmp_path / "nowhere")
    (tmp_path / "run.db").write_bytes(b"")
    session = ReviewSession(tmp_path)
    assert session.items() == {}
    session.close()


def test_a_session_that_cannot_be_opened_holds_no_file(folder: RunFolder) -> None:
    folder.stimuli.write_text("no stimulus\n")
    with pytest.raises(SteelyardError) as refusal:
        ReviewSession(folder.path)
    assert is_released(folder.reviews), refusal


def test_a_damaged_log_is_told_in_a_sentence(folder: RunFolder) -> None:
    folder.reviews.write_bytes(b"no database at all, however long it is" * 100)
    with pytest.raises(StoreError, match="not a usable file of decisions"):
        ReviewLog(folder.reviews)


def test_a_vote_is_given_back_as_the_log_keeps_it(tmp_path: Path) -> None:
    log = ReviewLog(tmp_path / "review.db")
    given = [log.append(Choice("a", "hash", "Ada", each, final=True)) for each in ("accepted", "rejected")]
    assert log.votes() == given
    assert [vote.id for vote in given] == [1, 2]
    log.close()


def test_drafts_are_kept_for_each_reviewer_until_they_decide(session: ReviewSession) -> None:
    body = {"text": TEXT, "label": "1", "reason": "", "note": ""}
    session.log.save_draft(SAME, "Ada", body)
    assert session.log.draft(SAME, "Ada") == body
    assert session.log.draft(SAME, "Grace") is None
    decide(session, SAME, REJECT, "Grace")
    assert session.log.draft(SAME, "Ada") == body
    decide(session, SAME, ACCEPT, "Ada")
    assert session.log.draft(SAME, "Ada") is None


# Through the commands


def test_measure_waits_for_the_page_and_judges_what_was_decided_on_it(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    write_study(tmp_path, server, review=True, probes=["semantic_paraphrase"])
    assert command("generate", "study.yaml", "--out", "run").code == 0
    session = ReviewSession(tmp_path / "run")
    for n, verdict in enumerate((ACCEPT, REJECT, VoteRequest("edited", "Most would say blue, I think."))):
        decide(session, f"sky-{n}/semantic_paraphrase/0", verdict)
    refused = command("measure", "study.yaml", "--out", "run")
    assert refused.code == 2
    assert "1 of 4 written stimuli waits" in refused.err
    assert cast.calls["grader"] == 0
    decide(session, "sky-3/semantic_paraphrase/0", ACCEPT)
    done = command("measure", "study.yaml", "--out", "run")
    assert done.code == 0, done.err
    assert cast.calls["grader"] == 3 + 3
    prompts = [json.dumps(request.body) for request in cast.received if request.body["model"] == "grader"]
    assert sum("Most would say blue, I think." in prompt for prompt in prompts) == 1

    # A later look makes another version; it is judged once it is finished, and pays for what changed alone.
    decide(session, "sky-0/semantic_paraphrase/0", VoteRequest("edited", "They all call it blue over there."))
    assert "No calls" in command("measure", "study.yaml", "--out", "run").out
    assert session.finish("Ada").version == 2
    assert command("report", "run").code == 0
    again = command("measure", "study.yaml", "--out", "run")
    assert again.code == 0, again.err
    assert cast.calls["grader"] == 3 + 3 + 1
    assert command("report", "run").code == 0
    assert "No calls" in command("measure", "study.yaml", "--out", "run").out
    session.close()


def test_an_acknowledged_decision_outlives_kill_9(
    folder: RunFolder, tmp_path: Path, environment: dict[str, str]
) -> None:
    script = ["review", folder.path, "--no-browser", "--reviewer", "Ada"]
    process = StartedCommand(script, tmp_path, environment)
    link = re.search(r"http://127\.0\.0\.1:(\d+)(\S+)", process.first_lines()[0])
    assert link is not None
    client = Client(int(link[1]))
    client.cookie = client.get(link[2]).headers["set-cookie"].partition(";")[0]
    client.csrf = re.search(r'name="csrf" content="([^"]+)"', client.get("/").text)[1]  # type: ignore[index]
    body = {"item": SAME, "decision": "edited", "text": TEXT, "label": "1", "seen": 0}
    answer = client.post("/decide", body)
    process.kill()
    assert answer.body["kept"] == "edited"
    again = ReviewSession(folder.path)
    (kept,) = again.log.votes()
    assert (kept.reviewer, kept.text) == ("Ada", TEXT)
    assert lines(folder)[SAME]["texts"] == [TEXT]
    again.close()


# Through the pages


@pytest.fixture
def client(session: ReviewSession) -> Iterator[Client]:
    def pages(server: Server) -> Any:
        return ReviewPages(session, "Ada", stopping=lambda: server.stopping, finished=server.stop).app()

    with serving(pages) as server:
        yield Client.of(server)


def test_a_page_that_is_out_of_date_is_told_who_was_faster(client: Client, session: ReviewSession) -> None:
    decide(session, SAME, REJECT, "Grace")
    answer = client.post("/decide", {"item": SAME, "decision": "accepted", "seen": 0})
    assert answer.status == 409
    assert "Grace has rejected it" in answer.body["refused"]
    newest = answer.body["newest"]
    assert client.post("/decide", {"item": SAME, "decision": "accepted", "seen": newest}).status == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"item": "nothing", "decision": "accepted", "seen": 0}, 404),
        ({"item": SAME, "decision": "accepted"}, 422),
        ({"item": SAME, "decision": "accepted", "seen": "0"}, 422),
        ({"item": SAME, "decision": ["accepted"], "seen": 0}, 422),
        ({"item": SAME, "decision": "edited", "text": "", "seen": 0}, 422),
    ],
)
def test_a_decision_that_makes_no_sense_is_told_in_a_sentence(
    client: Client, body: dict[str, Any], status: int
) -> None:
    answer = client.post("/decide", body)
    assert answer.status == status
    assert answer.body["refused"].endswith(".")


def test_filters_choose_and_the_next_text_comes_from_them(client: Client, session: ReviewSession) -> None:
    assert "2 of" not in client.get("/?probe=label_flip&item=" + SAME).text
    page = client.get("/?probe=label_flip&doubt=no").text
    assert page.count('class="row-name"') == 2
    nothing = client.get("/?text=zebra").text
    assert nothing.count("No text passes these filters") == 2  # beside the queue, and in the text's place
    assert "No text has arrived yet" not in nothing
    answer = client.post("/decide?probe=label_flip", {"item": FLIP, "decision": "accepted", "seen": 0})
    assert answer.body["next"] == "sky-1/label_flip/0"
    assert "1 of 6" in client.get("/").text
    assert client.get("/?status=accepted").text.count('class="row-name"') == 1
    assert client.get("/?likeness=near").text.count('class="row-name"') == 3
    assert client.get("/?likeness=far").text.count('class="row-name"') == 3


def test_a_blind_reviewer_sees_neither_validator_nor_others(session: ReviewSession) -> None:
    decide(session, SAME, VoteRequest("rejected", reason="a secret reason"), "Grace")
    with serving(lambda server: ReviewPages(session, "Ada", blind=True).app()) as server:
        client = Client.of(server)
        page = client.get(f"/?item={SAME}").text
        assert "Grace" not in page
        assert "a secret reason" not in page
        assert "Checks and validator" not in page
        assert client.post("/decide", {"item": SAME, "decision": "accepted", "seen": 0}).status == 200
    assert session.statuses(session.items())[SAME].votes.keys() == {"Grace", "Ada"}


def test_nothing_in_a_blind_page_tells_what_the_checks_thought(tmp_path: Path) -> None:
    doubted, passed, *_ = authored(2)
    refused = replace(
        passed,
        stimulus=replace(
            passed.stimulus, lineage=replace(passed.stimulus.lineage, review="rejected", validation="turned")
        ),
    )
    folder = written_folder(tmp_path / "run", 2, texts=[doubted, refused])
    session = ReviewSession(folder.path)
    session.finish("Grace", accept_waiting=True)
    with serving(lambda server: ReviewPages(session, "Ada", blind=True).app()) as server:
        client = Client.of(server)
        for path in ("/", "/queue", "/?doubt=yes", "/?doubt=no", f"/item?item={FLIP}"):
            text = client.get(path).text
            for word in ("doubt", "rejected by checks", "earns 1", "Grace", refused.stimulus.id):
                assert word not in text, (path, word)
        assert client.get("/?doubt=no").text.count('class="row-name"') == 1
    session.close()


def test_the_prompts_of_later_tries_are_hidden_from_a_blind_reviewer(
    tmp_path: Path, command: Command
) -> None:
    with ScriptedServer(Cast()) as server:
        write_study(tmp_path, server, review=True)
        assert command("generate", "study.yaml", "--out", "run").code == 0
    session = ReviewSession(tmp_path / "run")
    name = next(iter(session.items()))
    assert session.asked_about(name)
    for blind in (False, True):
        with serving(lambda server, blind=blind: ReviewPages(session, "Ada", blind=blind).app()) as server:  # type: ignore[misc]
            text = Client.of(server).get(f"/item?item={quote(name)}").text
            assert ("Try 1: author" in text) is not blind
    session.close()


def test_half_a_sign_in_a_draft_does_not_close_the_page(client: Client, session: ReviewSession) -> None:
    draft = json.dumps({"item": SAME, "text": "half \ud83d of a sign", "note": "\ud800"}).encode()
    assert client.post("/draft", draft).status == 200
    assert "half \ufffd of a sign" in client.get(f"/?item={SAME}").text
    rejected = json.dumps({"item": SAME, "decision": "rejected", "seen": 0, "note": "\ud800"}).encode()
    assert client.post("/decide", rejected).status == 200
    assert session.log.votes()[0].note == "\ufffd"


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 50_000])
def test_a_body_that_is_nested_too_deep_is_refused(client: Client, body: bytes) -> None:
    assert client.post("/decide", body).status == 400


def test_nothing_is_finished_where_nothing_was_written(tmp_path: Path) -> None:
    folder = written_folder(tmp_path / "run", 1, texts=[])
    session = ReviewSession(folder.path)
    for unseen in (False, True):
        with pytest.raises(RefusedError, match="no text has arrived yet"):
            session.finish("Ada", accept_waiting=unseen)
    assert session.log.sets() == []
    session.close()


def test_a_folder_that_is_gone_is_told(client: Client, folder: RunFolder) -> None:
    shutil.rmtree(folder.path)
    assert "its file of decisions is gone" in client.get("/").text
    answer = client.post("/decide", {"item": SAME, "decision": "accepted", "seen": 0})
    assert "its file of decisions is gone" in answer.body["refused"]


def test_a_name_is_kept_in_a_cookie_and_carried_by_decisions(client: Client, session: ReviewSession) -> None:
    answer = client.post("/reviewer", {"name": "  Grace <Hopper> ü "})
    client.cookie += "; " + answer.headers["set-cookie"].partition(";")[0]
    client.post("/decide", {"item": SAME, "decision": "accepted", "seen": 0})
    assert session.log.votes()[0].reviewer == "Grace <Hopper> ü"
    assert "Grace &lt;Hopper&gt; ü" in client.get("/").text
    assert client.post("/reviewer", {"name": " \t"}).status == 422


def test_finish_ends_the_server_and_undo_says_when_there_is_nothing(client: Client) -> None:
    assert client.post("/undo", {}).status == 422
    assert client.post("/finish", {}).status == 422
    answer = client.post("/finish", {"accept_waiting": True})
    assert (answer.status, answer.body["version"]) == (200, 1)


def test_a_session_reads_its_texts_once_and_again_when_they_change(
    folder: RunFolder, session: ReviewSession
) -> None:
    before = session.items()
    assert session.items() is before
    statuses = session.statuses(before)
    assert session.statuses(before) is statuses
    decide(session, SAME, REJECT)
    assert session.statuses(session.items())[SAME].status == "rejected"
    (late,) = (text for text in authored(4) if text.stimulus.id == "sky-3/label_flip/0")
    add_arrival(folder, {"sky-3": original_of(items(4)[3], TASK)}, late)
    assert "sky-3/label_flip/0" in session.items()


def test_names_are_read_in_their_order() -> None:
    assert sorted(["sky-10/a", "sky-2/b", "sky-2/a", "2", "10"], key=in_order) == [
        "2", "10", "sky-2/a", "sky-2/b", "sky-10/a",
    ]  # fmt: skip


def test_a_long_queue_is_listed_around_the_text_that_is_open(tmp_path: Path) -> None:
    folder = written_folder(tmp_path / "run", 150)
    session = ReviewSession(folder.path)
    try:
        with serving(lambda _: ReviewPages(session, "Ada").app()) as server:
            client = Client.of(server)
            names = list(session.items())
            assert len(names) > LISTED
            text = client.get(f"/queue?item={quote(names[-1])}").text
            listed = re.findall(r'data-item="([^"]+)"', text)
            assert listed == names[len(names) - 1 - LISTED // 2 :]
            assert f"{len(listed)} of {len(names)} texts around" in text
            assert len(re.findall(r'<li><a [^>]*data-item="', client.get("/").text)) == LISTED
    finally:
        session.close()
