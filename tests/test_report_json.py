"""What `--json` prints of figures: plain numbers and truth values, on every scale and of every draw."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import Command

SCALES = {
    "yes or no": (0, 1),
    "levels": (1, 2, 3, 4, 5),
    "shares": (0, 0.25, 0.5, 1),
    "differences": (-1, 0, 1),
    "pairs": ("a", "b"),
}
ROWS = 240
PEOPLE = ("--people", "ann", "--people", "bob")


def write_ratings(folder: Path, scale: Sequence[object], odds: Sequence[float] = ()) -> None:
    """Rows of two strata and 60 tasks; two people labelled every third, and seldom disagree.

    `odds` are those of each verdict.
    """
    rng = np.random.default_rng(5)
    places = rng.integers(0, len(scale), (3, ROWS))
    rows = []
    for n, (judge, other, people) in enumerate(places.T):
        people = judge if rng.random() < 0.7 else people
        second = other if n % 15 == 0 else people
        labels = (scale[people], scale[second]) if n % 3 == 0 else ("", "")
        names = (n, "m0", "m1") if isinstance(scale[0], str) else (n // 2, f"m{n % 2}", "")
        chance = odds[judge] if odds else ""
        rows.append((*names, n // 4, "xy"[n // 2 % 2], chance, scale[judge], scale[other], *labels))
    columns = "id,system_a,system_b" if isinstance(scale[0], str) else "id,system,unused"
    lines = [",".join(map(str, row)) + "\n" for row in rows]
    (folder / "r.csv").write_text(f"{columns},task,stratum,odds,j,k,ann,bob\n" + "".join(lines))


def refuse(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


def body(command: Command, name: str, *arguments: object, columns: str = "item=id") -> dict[str, Any]:
    done = command(*name.split(), "r.csv", "--columns", columns, *arguments, "--json")
    assert (done.code, done.err) == (0, "")
    return dict(json.loads(done.out, parse_constant=refuse))


@pytest.mark.parametrize("of", ["items", "population"])
@pytest.mark.parametrize("design", ["random", "by-verdict", "strata", "odds", "recorded"])
@pytest.mark.parametrize("scale", SCALES)
def test_estimates(command: Command, tmp_path: Path, scale: str, design: str, of: str) -> None:
    levels = SCALES[scale]
    known = design in ("odds", "recorded")
    write_ratings(tmp_path, levels, [(2 + place) / 10 for place in range(len(levels))] if known else ())
    told = ("--judge", "j", *PEOPLE, "--system", "m1", "--of", of, "--by", "stratum", "--html", "page.html")
    given = () if design == "recorded" else ("--design", design)
    found = body(command, "estimate", *told, *given, columns="item=id" + ",p_drawn=odds" * known)
    assert found["design"] == ("by-verdict" if design == "recorded" else design)
    assert found["corrected"]["low"] < found["corrected"]["value"] < found["corrected"]["high"]


@pytest.mark.parametrize("scale", SCALES)
def test_ranks_people_exchange_rates_and_plans(command: Command, tmp_path: Path, scale: str) -> None:
    write_ratings(tmp_path, SCALES[scale])
    ranked = ("--judge", "j", *PEOPLE, "--design", "random", "--baseline", "m0")
    assert body(command, "leaderboard", *ranked)["corrected"]["systems"]
    assert body(command, "people", "--judge", "j", *PEOPLE)["judges"][0]["gap"]["low"] > -1
    if scale != "pairs":
        exchange = ("--from", "j", "--to", "k", *PEOPLE, "--where", "system=m1")
        assert body(command, "bridge", *exchange)["anchors"] == 120
    assert body(command, "labels plan", "--judge", "j", *PEOPLE, "--system", "m1", "-n", 40)["designs"]


def test_labels_from_elsewhere(command: Command, tmp_path: Path) -> None:
    rows = "".join(f"{n},{(n % 10 < 8) == (n % 2)},{n % 2 if n < 100 else ''}\n" for n in range(300))
    (tmp_path / "r.csv").write_text("id,j,h\n" + rows)
    told = ("--judge", "j", "--people", "h", "--design", "elsewhere")
    assert body(command, "estimate", *told)["corrected"]["method"] == "rogan_gladen"
