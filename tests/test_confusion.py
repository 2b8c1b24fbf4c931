from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from commands import Command
from pairs import pair
from scores import call
from steelyard.datasheet.datasheet import Confusion, confusions
from steelyard.datasheet.render.data_files import dumps
from steelyard.run_folder.published_files import read_datasheet
from steelyard.verdicts.observations import Observation, Observations


def matrices(*rows: Observation) -> list[Confusion]:
    return confusions("j", Observations.of(rows))


def within(stratum: str, observation: Observation) -> Observation:
    return replace(observation, stimulus=replace(observation.stimulus, stratum=stratum))


def test_labels_are_rows_and_answers_columns_with_losses_where_there_are_any() -> None:
    (matrix,) = matrices(
        call("a", 1, 1),
        call("b", 0, 1),
        call("c", 1, 0),
        call("d", "unreadable", 0),
        call("e", 1),
        call("f", 1, 1),
    )
    assert (matrix.labels, matrix.answers) == (("0", "1"), ("0", "1", "unreadable"))
    assert matrix.calls == ((0, 1, 1), (1, 2, 0))  # the item without a label is in no cell


def test_of_a_pair_the_content_counts_and_not_the_slot() -> None:
    rows = [
        *pair("p", ("1", "2"), "u", probe="position", kind="natural"),
        *pair("q", ("1", "1"), "v", probe="position", kind="natural"),
        *pair("r", ("tie", "abstain"), probe="position", kind="natural"),
    ]
    (matrix,) = matrices(*rows)
    assert matrix.answers == ("u", "v", "tie", "abstain")
    assert matrix.calls == ((2, 0, 0, 0), (1, 1, 0, 0), (0, 0, 1, 1))


def test_edited_texts_are_in_no_matrix_and_scales_stand_apart() -> None:
    rows = [call("a", 1, 1), call("a", 0, 1, probe="typos"), call("b", 3, 2, scale="1-3")]
    binary, ordinal = sorted(matrices(*rows), key=lambda matrix: matrix.scale, reverse=True)
    assert (binary.scale, binary.calls) == ("binary", ((0, 0), (0, 1)))
    assert (ordinal.scale, ordinal.calls) == ("1-3", ((0, 0, 0), (0, 0, 1), (0, 0, 0)))


def test_the_matrices_of_strata_add_up_to_the_whole() -> None:
    rows = [within("ab"[n % 2], call(f"i{n}", n % 3 % 2, n // 3 % 2)) for n in range(30)]
    whole, *parts = matrices(*rows)
    assert (whole.stratum, [part.stratum for part in parts]) == (None, ["a", "b"])
    added = [
        [sum(cells) for cells in zip(*rows, strict=True)]
        for rows in zip(*(p.calls for p in parts), strict=True)
    ]
    assert tuple(map(tuple, added)) == whole.calls


def test_a_scale_of_many_levels_and_data_without_labels_have_none() -> None:
    assert matrices(call("a", 3, 2, scale="0-100")) == []
    assert matrices(call("a", 1)) == []


def test_the_matrix_of_a_run_stands_in_every_report_and_agrees_with_the_figures(
    command: Command, tmp_path: Path
) -> None:
    rater = "planted/rater?sensitivity=0.9&specificity=0.7&noise=0"
    assert command("measure", "--scale", "binary", "-j", rater, "-p", "typos", "--out", "run").code == 0
    text = (tmp_path / "run" / "datasheet.json").read_text()
    sheet = read_datasheet(tmp_path / "run")
    assert dumps(sheet) == text
    whole = next(matrix for matrix in sheet.confusion if matrix.stratum is None)
    right = sheet.find("planted/rater", "accuracy", "original", protocol="base")
    assert right is not None
    assert sum(whole.calls[n][n] for n in range(2)) == right.numerator
    assert sum(map(sum, whole.calls)) == right.denominator
    cells = "| " + " | ".join(["0", *map(str, whole.calls[0])]) + " |"
    assert cells in (tmp_path / "run" / "datasheet.md").read_text()
    assert 'id="confusion"' in (tmp_path / "run" / "datasheet.html").read_text()
    assert json.loads(text)["confusion"][0]["labels"] == ["0", "1"]
