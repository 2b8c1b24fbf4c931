"""A job that many ask for is done once for all of them, and after each of them."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from review_sessions import lines, written_folder
from steelyard.core.threads import Debouncer
from steelyard.review import votes
from steelyard.review.session import ReviewSession, VoteRequest
from steelyard.review.votes import UNDONE
from steelyard.stimuli.stimulus import ACCEPTED, PENDING, REJECTED, Stimulus
from steelyard.store.review_log import Choice


def test_all_who_ask_while_it_is_at_work_are_served_by_one_more_doing() -> None:
    begun, go_on, done = threading.Event(), threading.Event(), []

    def job() -> None:
        begun.set()
        assert go_on.wait(300)
        done.append(len(done))

    job_for_all = Debouncer(job)
    job_for_all.trigger()
    assert begun.wait(300)
    for _ in range(50):
        job_for_all.trigger()
    go_on.set()
    job_for_all.flush()
    assert done == [0, 1]
    job_for_all.close()
    assert done == [0, 1]


def test_it_waits_for_quiet_unless_somebody_waits_for_it() -> None:
    done: list[int] = []
    patient = Debouncer(lambda: done.append(1), quiet=1000.0)
    for _ in range(5):
        patient.trigger()
    assert done == []
    patient.flush()
    assert done == [1]
    patient.trigger()
    patient.close()
    assert done == [1, 1]


def test_what_it_ends_with_is_raised_to_who_waits_and_the_next_doing_may_be_sound() -> None:
    faults: list[Exception] = [OSError("no room")]

    def job() -> None:
        if faults:
            raise faults.pop()

    job_for_all = Debouncer(job)
    job_for_all.trigger()
    with pytest.raises(OSError, match="no room"):
        job_for_all.flush()
    job_for_all.trigger()
    job_for_all.close()


def test_a_fault_of_the_last_doing_ends_its_thread_too() -> None:
    def job() -> None:
        raise OSError("no room")

    before = threading.active_count()
    job_for_all = Debouncer(job)
    job_for_all.trigger()
    with pytest.raises(OSError, match="no room"):
        job_for_all.close()
    assert threading.active_count() == before


def test_nobody_asked_and_nothing_is_begun() -> None:
    job_for_all = Debouncer(lambda: pytest.fail("nobody asked"))
    job_for_all.flush()
    job_for_all.close()


def test_votes_are_in_the_log_at_once_and_in_the_file_once_the_bench_is_closed(tmp_path: Path) -> None:
    folder = written_folder(tmp_path / "run", 4)
    session = ReviewSession(folder.path, waits_for_file=False)
    items = session.items()
    first, second, third, *rest = items
    for name, word in ((first, REJECTED), (second, ACCEPTED), (third, REJECTED)):
        session.decide(items[name], "Ada", VoteRequest(word, reason="as it should be"), 0)
    session.undo("Ada")
    assert len(session.log.votes()) == 4
    session.close()
    words = {name: line["lineage"]["review"] for name, line in lines(folder).items() if name in items}
    assert words == {first: REJECTED, second: ACCEPTED} | dict.fromkeys((third, *rest), PENDING)


def test_a_finished_version_is_in_the_file_before_it_is_told(tmp_path: Path) -> None:
    folder = written_folder(tmp_path / "run", 2)
    session = ReviewSession(folder.path, waits_for_file=False)
    session.finish("Ada", accept_waiting=True)
    names = list(session.items())
    assert {lines(folder)[name]["lineage"]["review"] for name in names} == {ACCEPTED}
    session.close()


def test_a_vote_that_comes_while_the_file_is_written_is_not_taken_for_an_edit_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written_folder(tmp_path / "run", 2)
    session = ReviewSession(folder.path)
    name, item = next(iter(session.items().items()))
    written = votes.write_stimuli

    def slow(path: Path, stimuli: Iterable[Stimulus]) -> None:
        written(path, stimuli)
        session.log.append(Choice(name, item.base, "Ada", UNDONE, undoes=1))

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(votes, "write_stimuli", slow)
        session.decide(item, "Ada", VoteRequest(REJECTED, reason="says nothing"), 0)
    assert lines(folder)[name]["lineage"]["review"] == REJECTED
    session.publish()
    assert [vote.reviewer for vote in session.log.votes()] == ["Ada", "Ada"]
    assert lines(folder)[name]["lineage"]["review"] == PENDING
    session.close()
