"""Data without labels: what needs none is measured, what needs one says so before anything is spent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from authored_study import KEPT, write_study
from authoring_server import Cast
from commands import Command
from servers import ScriptedServer


def figures(rows: list[dict[str, Any]], metric: str, judge: str = "grader") -> dict[str, Any]:
    return {
        row["probe"]: (row["numerator"], row["denominator"]) if row["value"] is not None else row["note"]
        for row in rows
        if (row["judge"], row["metric"], row["group"]) == (judge, metric, {"protocol": "base"})
    }


def test_other_words_and_other_lengths_need_no_label(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    write_study(tmp_path, server, labelled=False, probes=KEPT)
    planned = json.loads(command("plan", "study.yaml", "--out", "run", "--json").out)["rows"]
    calls = {role: sum(r["calls"] for r in planned if r["judge"] == role) for role in ("author", "validator")}
    done = command("measure", "study.yaml", "--out", "run", "--json")
    assert done.code == 0, done.err
    # 12 texts; a score and the meaning of each, and the score of each of 4 items once for all probes
    assert cast.calls == {"writer": 12, "checker": 12 + 12 + 4, "grader": 4 + 12}
    assert calls == {"author": 12, "validator": 28}
    assert figures(done.rows, "invariance") == dict.fromkeys(KEPT, (4, 4))
    assert all("label" in note for note in figures(done.rows, "accuracy").values())
    lines = [json.loads(line) for line in (tmp_path / "run" / "stimuli.jsonl").read_text().splitlines()]
    assert {line["expectation"]["type"] for line in lines} == {"Unknown"}
    written = next(line for line in lines if line["id"] == "sky-0/semantic_paraphrase/0")
    assert written["lineage"]["validation"] == (
        "openai/checker gave 1, as for the item's own response; openai/checker finds the meaning kept"
    )


def test_a_text_that_earns_another_score_than_its_item_is_rejected(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    cast.grade = lambda text, low, high: int(text.startswith("On a clear day"))
    write_study(tmp_path, server, labelled=False, probes=["semantic_paraphrase"])
    done = command("generate", "study.yaml", "--out", "run")
    assert "4 rejected (validator gave another score 4)" in done.out
    assert cast.calls == {"writer": 4 * 3, "checker": 4 + 4}  # the same text is not asked about again


@pytest.mark.parametrize("name", ["plan", "measure", "generate"])
def test_a_named_probe_that_needs_labels_is_refused_before_a_call(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer, name: str
) -> None:
    write_study(tmp_path, server, labelled=False, probes=["label_flip", "semantic_paraphrase"])
    done = command(name, "study.yaml", "--out", "run")
    assert done.code == 2
    assert done.err == (
        "steelyard: probe 'label_flip': needs items with a reference label (map a column as label, or name a "
        "judge under data.reference), and none of the 4 items has what it needs; leave the probe out.\n"
    )
    assert not cast.calls
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["plan", "measure"])
def test_through_a_suite_it_is_left_out_with_a_warning(
    command: Command, tmp_path: Path, server: ScriptedServer, name: str
) -> None:
    write_study(tmp_path, server, labelled=False, probes=["reliability"])
    done = command(name, "study.yaml", "--out", "run")
    assert done.code == 0, done.err
    assert "label_flip was left out: it needs items with a reference label" in done.err
    if name == "measure":
        sheet = json.loads((tmp_path / "run" / "datasheet.json").read_text())
        probes = {row["probe"] for row in sheet["estimates"]}
        assert "label_flip" not in probes
        assert set(KEPT) < probes


@pytest.mark.parametrize(
    ("probe", "needed"),
    [
        ("score_range", "an ordinal scale"),
        ("synthetic_ordinal", "an ordinal scale"),
        ("rubric_order", "a list of points"),
    ],
)
def test_every_named_probe_with_nothing_to_show_is_refused(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer, probe: str, needed: str
) -> None:
    write_study(tmp_path, server, labelled=False, probes=[probe, "format_invariance_1"])
    done = command("measure", "study.yaml", "--out", "run")
    assert done.code == 2
    assert f"probe {probe!r}: needs" in done.err
    assert needed in done.err
    assert not cast.calls


def test_a_rater_without_noise_is_invariant_on_unlabelled_items(
    command: Command, tmp_path: Path, server: ScriptedServer
) -> None:
    layouts = [f"format_invariance_{n}" for n in (1, 2, 3)]
    rater = {"name": "rater", "model": "planted/rater?noise=0&specificity=0.6"}
    write_study(tmp_path, server, labelled=False, count=12, judges=[rater], probes=[*layouts, "typos", *KEPT])
    done = command("measure", "study.yaml", "--out", "run", "--json")
    assert done.code == 0, done.err
    kept = figures(done.rows, "invariance", "rater")
    assert kept == {**dict.fromkeys([*layouts, *KEPT], (12, 12)), "typos": (36, 36)}
