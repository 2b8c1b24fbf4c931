"""Several reviewers: how far they agree, by hand; decisions as lines of JSON, out and in again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from authored_study import KEPT, write_study
from authoring_server import Cast
from commands import Command
from review_sessions import Client, lines, serving, written_folder
from servers import ScriptedServer
from steelyard.errors import DataError
from steelyard.review.progress import ReviewProgress, agreement, review_progress
from steelyard.review.session import ReviewSession, VoteRequest
from steelyard.review.vote_file import export_votes as decision_lines
from steelyard.review.vote_file import import_votes
from steelyard.run_folder.run_folder import RunFolder
from steelyard.web.review_app import ReviewPages

FLIP, SAME = "sky-0/label_flip/0", "sky-0/semantic_paraphrase/0"


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return written_folder(tmp_path / "run")


@pytest.fixture
def session(folder: RunFolder) -> Iterator[ReviewSession]:
    session = ReviewSession(folder.path, reviewers=2)
    yield session
    session.close()


def decide(session: ReviewSession, name: str, who: str, verdict: VoteRequest) -> None:
    items = session.items()
    session.decide(items[name], who, verdict, session.statuses(items)[name].newest)


# Agreement

TABLE = {("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15}
"""Two raters on fifty things: agreement .70, by chance .50, so κ is .40; of 100 ratings 55 are yes, so that
α = 1 - (30/100) / (2 · 55 · 45 / (100 · 99)) = .40."""


def test_agreement_of_two_by_hand() -> None:
    pairs = [pair for pair, count in TABLE.items() for _ in range(count)]
    found = agreement("label", {str(n): {"a": one, "b": other} for n, (one, other) in enumerate(pairs)})
    assert found.shared == 50
    assert found.alpha == pytest.approx(0.4)
    (pair,) = found.pairs
    assert (pair.both, pair.same) == (50, 35)
    assert pair.kappa == pytest.approx(0.4)


def test_agreement_of_three_leaves_out_what_one_alone_has_seen() -> None:
    ratings = {
        "1": {"a": "x", "b": "x", "c": "y"},
        "2": {"a": "y", "b": "y"},
        "3": {"a": "x"},
        "4": {"b": "x", "c": "x"},
    }
    found = agreement("decision", ratings)
    assert found.shared == 3
    assert [(p.first, p.second, p.both, p.same) for p in found.pairs] == [
        ("a", "b", 2, 2),
        ("a", "c", 1, 0),
        ("b", "c", 2, 1),
    ]
    # Seven ratings, four of them x. One unit of three disagrees in 4 of its 6 ordered pairs, weight 1/2.
    assert found.alpha == pytest.approx(1 - (2 / 7) / (2 * 4 * 3 / (7 * 6)))


@pytest.mark.parametrize("said", [{}, {"1": {"a": "x"}}, {"1": {"a": "x", "b": "x"}}])
def test_agreement_that_is_undefined_is_none(said: dict[str, dict[str, str]]) -> None:
    found = agreement("decision", said)
    assert found.alpha is None
    assert all(pair.kappa is None for pair in found.pairs)


def test_the_status_and_the_page_tell_how_far_reviewers_agree(session: ReviewSession) -> None:
    for name in (FLIP, SAME):
        decide(session, name, "Ada", VoteRequest("accepted"))
    decide(session, FLIP, "Grace", VoteRequest("rejected"))
    decide(session, SAME, "Grace", VoteRequest("accepted"))
    status = review_progress(session)
    assert (status.decided, status.waiting, status.counts["disputed"]) == (1, 5, 1)
    assert status.agreement[0].pairs[0].same == 1
    assert "Ada and Grace 1 of 2" in status.sentence
    with serving(lambda _: ReviewPages(session, "Ada").app()) as server:
        client = Client.of(server)
        assert "Ada, Grace" in client.get("/agreement").text
        exported = client.get("/decisions.jsonl").text
        assert len(exported.splitlines()) == 4
    with serving(lambda _: ReviewPages(session, "Ada", blind=True).app()) as server:
        client = Client.of(server)
        assert client.get("/agreement").status == 403
        assert client.get("/decisions.jsonl").status == 403


# Lines


def test_decisions_go_out_and_come_into_another_folder(
    session: ReviewSession, folder: RunFolder, tmp_path: Path
) -> None:
    decide(
        session,
        SAME,
        "Ada",
        VoteRequest("edited", "Most say blue.\nSo do I.", "0", reason="why not", note="a note"),
    )
    decide(session, SAME, "Grace", VoteRequest("accepted"))
    decide(session, FLIP, "Ada", VoteRequest("accepted"))
    session.undo("Ada")
    path = tmp_path / "decisions.jsonl"
    path.write_text("".join(decision_lines(session)))
    written = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line.get("undone") for line in written] == [None, None, True]
    other = ReviewSession(written_folder(tmp_path / "other").path, reviewers=2)
    assert import_votes(other, path, "x").kept == 2
    again = import_votes(other, path, "x")
    assert (again.kept, again.known) == (0, 2)
    kept = other.log.votes()
    assert [(d.reviewer, d.decision, d.text, d.label) for d in kept] == [
        ("Ada", "edited", "Most say blue.\nSo do I.", "0"),
        ("Grace", "accepted", None, None),
    ]
    other.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("nonsense", "line 2: not valid JSON"),
        ("[1]", "line 2: found a list, expected one JSON object"),
        ('{"stimulus": "x", "decision": "accepted"}', "no stimulus 'x'"),
        (f'{{"stimulus": "{FLIP}"}}', "line 2: no key 'decision' found"),
        (f'{{"stimulus": "{FLIP}", "decision": "maybe"}}', "no decision 'maybe'"),
        (f'{{"stimulus": "{FLIP}", "decision": "accepted", "colour": 1}}', "unknown key 'colour'"),
        (
            f'{{"stimulus": "{FLIP}", "decision": "accepted", "text": 7}}',
            "line 2: text: found 7",
        ),
        (f'{{"stimulus": "{FLIP}", "decision": "accepted", "base": "sha256:0"}}', "another text"),
        (f'{{"stimulus": "{SAME}", "decision": "edited", "label": "0"}}', "needs a reason"),
    ],
)
def test_a_line_that_makes_no_sense_keeps_the_others_out(
    session: ReviewSession, tmp_path: Path, line: str, told: str
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(f'{{"stimulus": "{SAME}", "decision": "accepted"}}\n{line}\n')
    with pytest.raises(DataError, match=re.escape(told)):
        import_votes(session, path, "Ada")
    assert session.log.votes() == []


def test_the_command_takes_in_writes_out_and_tells_the_status(
    command: Command, folder: RunFolder, tmp_path: Path
) -> None:
    given = "".join(
        json.dumps({"stimulus": name, "decision": "accepted"}) + "\n"
        for name, line in lines(folder).items()
        if line["lineage"]["review"] == "pending"
    )
    (tmp_path / "in.jsonl").write_text(given)
    waiting = command("review", "run", "--status")
    assert (waiting.code, waiting.out) == (1, "0 of 6 texts decided (6 pending).\n")
    done = command("review", "run", "--import", "in.jsonl", "--reviewer", "Ada", "--export", "out.jsonl")
    assert done.code == 0, done.err
    assert "6 votes taken in, 0 known already." in done.out
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 6
    finished = command("review", "run", "--status", "--json")
    assert finished.code == 0
    assert json.loads(finished.out)["reviewers"] == {"Ada": 6}
    assert {line["lineage"]["review"] for line in lines(folder).values()} == {None, "accepted"}
    assert command("review", "run", "--json").code == 2
    assert command("review", "nowhere", "--status").code == 2


def test_votes_on_a_measured_run_count_after_finish_and_that_is_said(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ScriptedServer(Cast()) as server:
        write_study(tmp_path, server, count=2, probes=KEPT[:2], review=True)
        command("measure", "study.yaml", "--out", "run", "--accept-all")
        command("review", "run", "--export", "votes.jsonl")
        votes = [json.loads(line) for line in Path("votes.jsonl").read_text(encoding="utf-8").splitlines()]
        mine = [
            {**vote, "decision": "rejected", "reviewer": "Ada"}
            for vote in votes
            if KEPT[0] in vote["stimulus"]
        ]
        for vote in mine:
            del vote["at"]
        Path("in.jsonl").write_text("".join(json.dumps(vote) + "\n" for vote in mine), encoding="utf-8")
        taken = command("review", "run", "--import", "in.jsonl")
        assert "2 texts were decided otherwise since; that counts after --finish" in taken.out
        assert json.loads(command("review", "run", "--status", "--json").out)["pending"] == 2
        command("measure", "study.yaml", "--out", "run")
        assert KEPT[0] in Path("run/results.jsonl").read_text(encoding="utf-8")
        assert command("review", "run", "--finish").out == "Finished: version 2.\n"
        assert json.loads(command("review", "run", "--status", "--json").out)["pending"] == 0
        command("measure", "study.yaml", "--out", "run")
        assert KEPT[0] not in Path("run/results.jsonl").read_text(encoding="utf-8")


def test_a_review_in_which_texts_wait_is_not_finished(folder: RunFolder, command: Command) -> None:
    done = command("review", str(folder.path), "--finish")
    assert done.code == 1
    assert "not finished" in done.err


def test_every_count_of_a_long_review_is_grouped_alike() -> None:
    counts = {"accepted": 1200, "pending": 3800}
    progress = ReviewProgress(1200, 5000, counts, {"ann": 1200}, (), None)
    assert (
        progress.sentence
        == "1,200 of 5,000 texts decided (1,200 accepted, 3,800 pending); reviewer: ann 1,200."
    )
