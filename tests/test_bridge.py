"""The exchange rate between two judges: by hand, on planted judges, and what is refused."""

from __future__ import annotations

import json
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from commands import Command
from steelyard.estimation.bridge import AnchorCounts, offset, strata_p


def test_the_channel_by_hand() -> None:
    # 45 of 50 passes stay, 10 of 50 fails turn: r′ = .8·.9 + .2·.2; Wilson [.7864, .9565], [.1124, .3304].
    figure = AnchorCounts((45, 50), (10, 50)).translate(0.8, 10**9)
    assert figure.value == pytest.approx(0.76)
    low = 0.76 - sqrt((0.8 * (0.9 - 0.7864)) ** 2 + (0.2 * (0.2 - 0.1124)) ** 2)
    high = 0.76 + sqrt((0.8 * (0.9565 - 0.9)) ** 2 + (0.2 * (0.3304 - 0.2)) ** 2)
    assert (figure.low, figure.high) == pytest.approx((low, high), abs=1e-4)


def test_few_items_of_the_history_add_chance() -> None:
    channel = AnchorCounts((450, 500), (100, 500))
    wide, narrow = (channel.translate(0.8, items).half_width or 0.0 for items in (50, 50_000))
    assert wide > 1.5 * narrow


def test_the_same_judge_translates_to_itself() -> None:
    old = np.repeat([1.0, 0.0], [60, 40])
    channel = AnchorCounts.of(old, old, np.arange(100))
    assert (channel.kept, channel.turned) == ((60, 60), (0, 40))
    assert channel.translate(0.37, 100).value == pytest.approx(0.37)
    assert offset(old, old, np.arange(100)).value == 0


def test_anchors_of_one_task_count_once() -> None:
    rng = np.random.default_rng(3)
    old = np.repeat([1.0, 0.0], 50)
    new = (rng.random(100) < np.where(old == 1, 0.8, 0.3)).astype(float)
    alone = AnchorCounts.of(old, new, np.arange(100))
    copied = AnchorCounts.of(np.tile(old, 4), np.tile(new, 4), np.tile(np.arange(100), 4))
    for one, four in zip(alone.limits(), copied.limits(), strict=True):
        assert four == pytest.approx(one, abs=0.01)  # but for 50/49, the correction for few tasks


def test_intervals_of_translated_figures_cover() -> None:
    held, runs = 0, 300
    for run in range(runs):
        rng = np.random.default_rng(run)
        old = rng.random(2552) < 0.576
        new = rng.random(2552) < np.where(old, 0.6, 0.083)
        some = rng.permutation(2552)[:200]
        channel = AnchorCounts.of(old[some].astype(float), new[some].astype(float), some)
        figure = channel.translate(float(old.mean()), 2552)
        assert figure.low is not None
        assert figure.high is not None
        held += figure.low <= new.mean() <= figure.high
    assert held / runs >= 0.95 - 2 * sqrt(0.95 * 0.05 / runs)


def test_strata_with_another_channel_are_seen() -> None:
    rng = np.random.default_rng(4)
    old, strata = (rng.random(200) < 0.6).astype(float), np.arange(200) % 2
    alike = (rng.random(200) < np.where(old == 1, 0.9, 0.2)).astype(float)
    apart = (rng.random(200) < np.where((old == 1) & (strata == 0), 0.95, 0.4)).astype(float)
    assert strata_p(old, alike, strata, 7) > 0.05
    assert strata_p(old, apart, strata, 7) < 0.01


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
