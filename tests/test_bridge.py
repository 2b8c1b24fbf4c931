"""The exchange rate between two judges: by hand, on planted judges, and what is refused."""

from __future__ import annotations

import json
from itertools import combinations
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from commands import Command
from steelyard.estimation.raters import PERMUTATIONS, Channel, offset, strata_p


def rate(passed: float) -> dict[float, float]:
    return {1.0: passed, 0.0: 1 - passed}


def channel_of(kept: tuple[int, int], turned: tuple[int, int]) -> Channel:
    """Passes of the new judge, and anchors, where the old one passed, and where it failed."""
    parts = [(1.0, 1.0, kept[0]), (1.0, 0.0, kept[1] - kept[0])]
    parts += [(0.0, 1.0, turned[0]), (0.0, 0.0, turned[1] - turned[0])]
    old, new = (np.repeat([part[n] for part in parts], [part[2] for part in parts]) for n in (0, 1))
    return Channel.of(old, new, np.arange(len(old)))


def test_the_channel_by_hand() -> None:
    # 45 of 50 passes stay, 10 of 50 fails turn: r′ = .8·.9 + .2·.2; Wilson [.7864, .9565], [.1124, .3304].
    figure = channel_of((45, 50), (10, 50)).translate(rate(0.8), 10**9)
    assert figure.value == pytest.approx(0.76)
    low = 0.76 - sqrt((0.8 * (0.9 - 0.7864)) ** 2 + (0.2 * (0.2 - 0.1124)) ** 2)
    high = 0.76 + sqrt((0.8 * (0.9565 - 0.9)) ** 2 + (0.2 * (0.3304 - 0.2)) ** 2)
    assert (figure.low, figure.high) == pytest.approx((low, high), abs=1e-4)


def test_few_items_of_the_history_add_chance() -> None:
    channel = channel_of((450, 500), (100, 500))
    wide, narrow = (channel.translate(rate(0.8), items).half_width or 0.0 for items in (50, 50_000))
    assert wide > 1.5 * narrow


def test_the_same_judge_translates_to_itself() -> None:
    old = np.repeat([1.0, 0.0], [60, 40])
    channel = Channel.of(old, old, np.arange(100))
    assert channel.counts.tolist() == [[40, 0], [0, 60]]
    assert channel.translate(rate(0.37), 100).value == pytest.approx(0.37)
    assert offset(old, old, np.arange(100)).value == 0


def test_the_channel_of_scores_by_hand() -> None:
    # Old 1: new 1 eight times, 2 twice; old 2: 2 six times, 3 four times; old 3: 3 ten times.
    old = np.repeat([1.0, 2.0, 3.0], 10)
    new = np.repeat([1.0, 2.0, 2.0, 3.0, 3.0], [8, 2, 6, 4, 10])
    channel = Channel.of(old, new, np.arange(30))
    assert channel.counts.tolist() == [[8, 2, 0], [0, 6, 4], [0, 0, 10]]
    assert channel.means()[0] == pytest.approx([1.2, 2.4, 3.0])
    figure = channel.translate({1.0: 0.2, 2.0: 0.3, 3.0: 0.5}, 10**9)
    assert figure.value == pytest.approx(0.2 * 1.2 + 0.3 * 2.4 + 0.5 * 3.0)
    # On the scale 1 to 5 the means are shares .05, .35 and .5; their variances .16/10, .24/10 and 0 are those
    # of shares in 47.5, 151.7 and, without spread, 10 anchors. Wilson's limits of these, joined by MOVER:
    wilson = [(0.0152, 0.1521), (0.2786, 0.4288), (0.2366, 0.7634)]
    assert np.array(channel.mean_limits()) == pytest.approx(1 + 4 * np.array(wilson), abs=4e-4)
    parts = zip((0.2, 0.3, 0.5), (0.05, 0.35, 0.5), wilson, strict=True)
    low = sum((r * 4 * (p - ends[0])) ** 2 for r, p, ends in parts)
    assert figure.low == pytest.approx(figure.value - sqrt(low), abs=1e-3)
    # P(new = 2 | old = 2): 6 of 10.
    assert channel.share_limits()[1][1] == pytest.approx((0.3127, 0.8318), abs=1e-4)


def test_intervals_of_translated_scores_cover() -> None:
    rng, held, runs = np.random.default_rng(5), 0, 150
    for _ in range(runs):
        old = rng.choice([1.0, 2, 3, 4, 5], 1000, p=[0.05, 0.1, 0.15, 0.3, 0.4])
        new = np.clip(old + rng.choice([-2, -1, 0, 1], 1000, p=[0.1, 0.3, 0.5, 0.1]), 1, 5)
        some = np.arange(120)
        levels, counts = np.unique(old, return_counts=True)
        shares = dict(zip(levels.tolist(), (counts / 1000).tolist(), strict=True))
        figure = Channel.of(old[some], new[some], some).translate(shares, 1000)
        held += (figure.low or 0) <= new.mean() <= (figure.high or 0)
    assert held / runs >= 0.95 - 2 * sqrt(0.95 * 0.05 / runs)


def test_anchors_of_one_task_count_once() -> None:
    rng = np.random.default_rng(3)
    old = np.repeat([1.0, 0.0], 50)
    new = (rng.random(100) < np.where(old == 1, 0.8, 0.3)).astype(float)
    alone = Channel.of(old, new, np.arange(100))
    copied = Channel.of(np.tile(old, 4), np.tile(new, 4), np.tile(np.arange(100), 4))
    for one, four in zip(alone.mean_limits(), copied.mean_limits(), strict=True):
        assert four == pytest.approx(one, abs=0.01)  # but for 50/49, the correction for few tasks


def test_intervals_of_translated_figures_cover() -> None:
    held, runs = 0, 150
    for run in range(runs):
        rng = np.random.default_rng(run)
        old = rng.random(2552) < 0.576
        new = rng.random(2552) < np.where(old, 0.6, 0.083)
        some = rng.permutation(2552)[:200]
        channel = Channel.of(old[some].astype(float), new[some].astype(float), some)
        figure = channel.translate(rate(float(old.mean())), 2552)
        assert figure.low is not None
        assert figure.high is not None
        held += figure.low <= new.mean() <= figure.high
    assert held / runs >= 0.95 - 2 * sqrt(0.95 * 0.05 / runs)


@pytest.mark.slow
def test_strata_with_another_channel_are_seen() -> None:
    rng = np.random.default_rng(4)
    old, strata = (rng.random(200) < 0.6).astype(float), np.arange(200) % 2
    alike = (rng.random(200) < np.where(old == 1, 0.9, 0.2)).astype(float)
    apart = (rng.random(200) < np.where((old == 1) & (strata == 0), 0.95, 0.4)).astype(float)
    assert strata_p(old, alike, strata, 7) > 0.05
    assert strata_p(old, apart, strata, 7) < 0.01


@pytest.mark.parametrize(
    "new",
    [(1, 1, 0, 0, 0, 1), (1, 1, 1, 0, 0, 0), (1, 1, 1, 1, 0, 0, 0, 0, 1, 1), (1, 1, 1, 1, 1, 0, 0, 0, 1, 0)],
)
def test_statistics_that_tie_count_as_beyond(new: tuple[int, ...]) -> None:
    """Yes and no in two strata of one old level: by all deals of the strata."""
    half = len(new) // 2
    apart = [abs(sum(new[n] for n in first) - sum(new) / 2) for first in combinations(range(len(new)), half)]
    exact = np.mean([each >= abs(sum(new[:half]) - sum(new) / 2) for each in apart])
    found = strata_p(np.ones(len(new)), np.array(new, dtype=float), np.repeat([0, 1], half), 7)
    assert found == pytest.approx(exact, abs=4 * sqrt(exact * (1 - exact) / PERMUTATIONS) + 1 / PERMUTATIONS)


def write(folder: Path, apart: bool = False, shift: float = 0.0, items: int = 400) -> None:
    rng = np.random.default_rng(9)
    rows = []
    for n in range(items):
        old = rng.random() < 0.6
        keep = 0.5 if apart and n % 2 else 0.95 - shift
        new = rng.random() < (keep if old else 0.05)
        rows.append(f"{n},{int(old)},{int(new)},{'ab'[n % 2]},{int(old) if n < 50 else ''}\n")
    (folder / "a.csv").write_text("item,old,new,stratum,human\n" + "".join(rows))
    (folder / "h.csv").write_text("period,value,items\nMay,0.78,500\n")


TOLD = ("bridge", "a.csv", "--from", "old", "--to", "new")


def test_the_command_translates_history(command: Command, tmp_path: Path) -> None:
    write(tmp_path, shift=0.3)
    done = command(*TOLD, "--people", "human", "--history", "h.csv", "--margin", "0.08")
    assert done.code == 0, done.err
    text = " ".join(done.out.split())
    assert text.startswith("old to new: translatable; translated figures are certain to 0.0")
    assert "Mean distance from people on 50 labelled anchors: old 0.000, new" in text
    body = json.loads(command(*TOLD, "--history", "h.csv", "--json").out)
    assert body["verdict"] == "not comparable"  # within .03 more anchors are needed
    assert body["anchors_needed"] > 400
    assert body["history"][0]["translated"]["value"] == pytest.approx(0.78 * 0.65 + 0.22 * 0.05, abs=0.06)


def test_scores_by_level_are_translated_by_the_channel(command: Command, tmp_path: Path) -> None:
    # Where the old judge gave 1, the new one gives 1 or 2; where it gave 3, always 3; it never gave 2.
    rows = "".join(f"{n},{1 if n % 2 else 3},{3 if n % 2 == 0 else 1 + n % 4 // 3}\n" for n in range(80))
    (tmp_path / "a.csv").write_text("item,old,new\n" + rows)
    (tmp_path / "h.csv").write_text("period,1,3\nMay,30,10\n")
    body = json.loads(command(*TOLD, "--history", "h.csv", "--json").out)
    assert body["channel"]["counts"] == [[20, 20, 0], [0, 0, 40]]
    (row,) = body["history"]
    assert (row["value"], row["items"]) == (1.5, 40)
    assert (row["translated"]["value"], row["translated"]["method"]) == (0.75 * 1.5 + 0.25 * 3, "channel")
    text = " ".join(command(*TOLD, "--history", "h.csv").out.split())
    assert "the old judge anchors mean of the new one [95 %] new 1 new 2 new 3" in text
    assert " 1 40 1.500 [" in text
    (tmp_path / "h.csv").write_text("period,value,items\nMay,1.5,40\n")  # the mean alone: moved by the offset
    (row,) = json.loads(command(*TOLD, "--history", "h.csv", "--json").out)["history"]
    assert (row["translated"]["value"], row["translated"]["method"]) == (1.75, "offset")


def test_a_judge_that_differs_from_itself_is_said(command: Command, tmp_path: Path) -> None:
    # Three repeats of the old judge; the last differs on a quarter of the anchors: in 2 of 3 pairs there.
    rows = [(n, "old", n % 2 if run < 2 or n % 4 else 1) for n in range(40) for run in range(3)]
    rows += [(n, "new", n % 2) for n in range(40)]
    text = "".join(f"{item},{rater},judge,{value}\n" for item, rater, value in rows)
    (tmp_path / "a.csv").write_text("item,rater,kind,value\n" + text)
    assert json.loads(command(*TOLD, "--json").out)["repeats_that_differ"] == [
        {"numerator": 20, "denominator": 120},
        {"numerator": 0, "denominator": 0},
    ]
    said = " ".join(command(*TOLD).out.split())
    assert "Repeats on one anchor that differ, noise of the judge itself: old 20 of 120 pairs." in said


def test_judges_that_agree_are_comparable(command: Command, tmp_path: Path) -> None:
    for anchors, verdict in ((50, "not comparable"), (200, "comparable")):
        rows = "".join(f"{n},{n % 5},{n % 5}\n" for n in range(anchors))
        (tmp_path / "a.csv").write_text("item,old,new\n" + rows)
        body = json.loads(command(*TOLD, "--json").out)
        assert (body["verdict"], body["shift"]["value"]) == (verdict, 0)
        # No anchor differs; one step either way more is a standard error of √2/n.
        assert body["shift"]["error"] == pytest.approx(sqrt(2) / anchors)


def test_strata_that_disagree_are_refused_or_translated_apart(command: Command, tmp_path: Path) -> None:
    write(tmp_path, apart=True)
    done = command(*TOLD, "--history", "h.csv")
    assert (done.code, done.out) == (2, "")
    assert "strata differ in the exchange rate" in done.err
    assert json.loads(command(*TOLD, "--json").out)["verdict"] == "not comparable"
    (tmp_path / "h.csv").write_text("period,value,items,stratum\nMay,0.8,500,a\nMay,0.8,500,b\n")
    rows = json.loads(command(*TOLD, "--history", "h.csv", "--json").out)["history"]
    assert rows[0]["translated"]["value"] > rows[1]["translated"]["value"] + 0.2


def test_judges_that_no_anchor_tells_apart_are_refused(command: Command, tmp_path: Path) -> None:
    write(tmp_path)
    done = command(*TOLD[:-1], "old")
    assert (done.code, done.out) == (2, "")
    assert "--from and --to: 'old' found twice, expected two judges" in done.err
    (tmp_path / "a.csv").write_text("item,old,new\n" + "".join(f"{n},1,{n % 2}\n" for n in range(40)))
    done = command(*TOLD)
    assert (done.code, done.out) == (2, "")
    assert "the anchors hold one verdict of the old judge alone, expected passes and fails" in done.err


@pytest.mark.parametrize(
    ("anchors", "history", "told"),
    [
        (
            "item,old,new\n1,1,1\n",
            "period,value,items\nMay,1,5\n",
            "1 item rated by both 'old' and 'new' found",
        ),
        (None, "period,value,items\nMay,1.5,5\n", "expected a share between 0 and 1"),
        (None, "period,value,items\nMay,much,5\n", "row 1: value or items is no number"),
        (None, "period,value\nMay,1\n", "no column 'items' for the history"),
        (None, "period,value,items\nMay,nan,5\n", "row 1: value or items is no number"),
        (None, "period,value,items\nMay,0.5,inf\n", "row 1: value or items is no number"),
        (None, "period,0,1,2\nMay,5,5,5\n", "gave 2 to items of 'May' and to no anchor"),
        (None, "period,0,1\nMay,5,-1\n", "column '1' holds '-1', expected the number of items"),
        (None, "period,0,1\nMay,,\n", "no items at any level found"),
        (
            "item,old,new\n" + "".join(f"{n},1,1\n" for n in range(40)),
            "period,value,items\nMay,0.5,5\n",
            "gave 0 to items of 'May' and to no anchor",
        ),
    ],
)
def test_what_cannot_be_translated_is_refused(
    command: Command, tmp_path: Path, anchors: str | None, history: str, told: str
) -> None:
    write(tmp_path)
    if anchors:
        (tmp_path / "a.csv").write_text(anchors)
    (tmp_path / "h.csv").write_text(history)
    done = command(*TOLD, "--history", "h.csv")
    assert (done.code, done.out) == (2, "")
    assert told in done.err
