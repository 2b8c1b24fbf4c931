"""A datasheet read back from its JSON is the datasheet."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from example_datasheet import example
from own_judges import measured, study_of
from steelyard.datasheet.conclude import concluded
from steelyard.datasheet.conclusion import NextStep
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.render import data_files, html, markdown, terminal
from steelyard.datasheet.render.data_files import dumps, to_json
from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.faults import FigureFault
from steelyard.run_folder.published_files import read_datasheet
from steelyard.stimuli.brief import Bucket, ProbeReport

WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
NUMBERS = st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False)
COUNTS = st.integers(0, 10**6)
TALLIES = st.dictionaries(WORDS, COUNTS, max_size=2)
MAYBE_NUMBER, MAYBE_WORD, MAYBE_COUNT = st.none() | NUMBERS, st.none() | WORDS, st.none() | COUNTS

INTERVALS = st.builds(Interval, WORDS, MAYBE_NUMBER, MAYBE_NUMBER, NUMBERS)
DETAILS = {
    "rival": WORDS,
    "answer": st.integers(-9, 9),
    "extreme_probe": WORDS,
    "slot_calls": st.tuples(COUNTS, COUNTS),
    "high_fails": st.just(True),
    "row_events": st.tuples(COUNTS, COUNTS),
    "crossing": NUMBERS,
}
ESTIMATES = st.builds(
    Estimate,
    judge=WORDS,
    probe=WORDS,
    metric=WORDS,
    group=st.dictionaries(WORDS, WORDS | NUMBERS, max_size=3),
    unit=WORDS,
    value=MAYBE_NUMBER,
    numerator=MAYBE_COUNT,
    denominator=MAYBE_COUNT,
    intervals=st.lists(INTERVALS, max_size=2).map(tuple),
    n_calls=COUNTS,
    n_units=COUNTS,
    n_clusters=COUNTS,
    design_effect=MAYBE_NUMBER,
    excluded=TALLIES,
    bounds=st.none() | st.tuples(NUMBERS, NUMBERS),
    censored=MAYBE_WORD,
    chance=MAYBE_NUMBER,
    status=MAYBE_WORD,
    minimum_detectable=MAYBE_NUMBER,
    note=MAYBE_WORD,
    calls_needed=MAYBE_COUNT,
    reading=MAYBE_WORD,
    p=MAYBE_NUMBER,
    p_corrected=MAYBE_NUMBER,
    reason=MAYBE_WORD,
    missing_decides=st.booleans(),
    effective_size=MAYBE_NUMBER,
    quantile=MAYBE_NUMBER,
    details=st.fixed_dictionaries({}, optional=DETAILS),
)
REPORTS = st.builds(
    ProbeReport,
    *(WORDS, COUNTS, COUNTS, COUNTS, TALLIES, TALLIES),
    st.lists(st.builds(Bucket, WORDS, COUNTS, COUNTS), max_size=3, unique_by=lambda b: b.level).map(tuple),
)
ASKED = st.fixed_dictionaries({"asked": COUNTS, "planned": COUNTS})
RUNS = st.fixed_dictionaries(
    {},
    optional={
        "partial": st.booleans(),
        "asked": COUNTS,
        "planned": COUNTS,
        "unfinished": st.dictionaries(WORDS, ASKED, max_size=2),
        "refused": st.dictionaries(WORDS, TALLIES, max_size=2),
        "finished": MAYBE_WORD,
        "latency_ms": st.dictionaries(WORDS, MAYBE_NUMBER, max_size=2),
    },
)


def several(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=2).map(tuple)


SHEETS = st.builds(
    Datasheet,
    name=WORDS,
    seed=st.integers(),
    stimulus_set=WORDS,
    version=WORDS,
    profile=WORDS,
    judges=several(st.builds(JudgeEntry, WORDS, WORDS, st.booleans(), st.dictionaries(WORDS, WORDS))),
    estimates=several(ESTIMATES),
    run=RUNS,
    authored=several(REPORTS),
    form=st.sampled_from(["pairwise", "pointwise"]),
    reference=MAYBE_WORD,
    panel=several(ESTIMATES),
    faults=several(st.builds(FigureFault, WORDS, WORDS, WORDS)),
    own_data=st.booleans(),
    asked=several(WORDS),
)


@pytest.mark.slow
@settings(max_examples=30)
@given(SHEETS)
def test_any_datasheet_comes_back_whole(sheet: Datasheet) -> None:
    assert Datasheet.from_json(to_json(sheet)) == sheet
    text = dumps(sheet)
    again = Datasheet.loads(text)
    assert again == sheet
    assert dumps(again) == text
    assert dumps(concluded(again)) == dumps(concluded(sheet))


def on_a_terminal(sheet: Datasheet) -> str:
    console = Console(file=StringIO(), width=110, color_system=None)
    terminal.render(sheet, console)
    stream = console.file
    assert isinstance(stream, StringIO)
    return stream.getvalue()


def check_whole(sheet: Datasheet) -> None:
    """Equal in every field, in its bytes, and in everything that is shown of it."""
    assert concluded(Datasheet.from_json(to_json(sheet))) == sheet
    text = dumps(sheet)
    again = concluded(Datasheet.loads(text))
    assert again == sheet
    assert dumps(again) == text
    assert markdown.render(again) == markdown.render(sheet)
    assert data_files.to_csv(again) == data_files.to_csv(sheet)
    assert on_a_terminal(again) == on_a_terminal(sheet)


def test_a_sheet_with_everything_on_it_comes_back_and_looks_the_same() -> None:
    report = ProbeReport("typos", 9, 6, 2, {"by a person": 1}, {"too short": 3}, (Bucket("1", 2, 3),), 0, 4)
    run = {"partial": True, "asked": 3, "planned": 9, "unfinished": {"GPT-4o": {"asked": 3, "planned": 9}}}
    sheet = replace(
        example(),
        next_steps={"Qwen14B": NextStep("measure again", "steelyard measure", "12 calls, free", 12, 0.0)},
        run={**run, "refused": {"GPT-4o": {"temperature": 3}}},
        authored=(report,),
        reference="GPT-4o",
        faults=(FigureFault("", "plate", "ValueError: no room"),),
    )
    sheet = concluded(sheet)
    assert sheet.verdicts[1].command == "steelyard measure"
    check_whole(sheet)
    again = concluded(Datasheet.from_json(to_json(sheet)))
    assert html.render(again) == html.render(sheet)
    assert "2 waiting for review" in markdown.render(again)
    assert "4 of them changed by reviewers" in markdown.render(again)
    assert "6 (4 of them changed by reviewers)" in html.render(again)


@pytest.mark.slow
def test_a_review_that_changed_nothing_is_on_the_sheet() -> None:
    report = ProbeReport("typos", 9, 6, 0, {}, {}, reviewed=6)
    sheet = Datasheet.from_json(to_json(concluded(replace(example(), authored=(report,)))))
    for page in (markdown.render(sheet), html.render(sheet), on_a_terminal(sheet)):
        assert "0 of 6 texts changed by reviewers" in " ".join(page.split())


RATERS = ["planted/rater?noise=0.1", "planted/rater?noise=0.3"]


@pytest.mark.parametrize(
    ("judges", "options"),
    [
        (["planted/probit", "planted/first"], {"probes": ["vacuum"]}),
        (RATERS, {"task": {"scale": "1-6"}, "probes": ["typos"]}),
    ],
    ids=["pairwise", "pointwise"],
)
def test_measured_sheets_come_back_and_look_the_same(
    judges: list[Any], options: dict[str, Any], tmp_path: Path
) -> None:
    sheet = measured(study_of({"judges": judges, **options}, ("coin", "constant")), tmp_path / "run")
    check_whole(sheet)
    read = read_datasheet(tmp_path / "run")
    assert read == sheet
    assert dumps(read) == (tmp_path / "run" / "datasheet.json").read_text()


# What older programs wrote, and what is no datasheet


def least() -> dict[str, Any]:
    """The keys without which nothing is known."""
    study = {"name": "n", "seed": 1, "stimulus_set": "sha256:0", "version": "0.1"}
    estimate = {"judge": "j", "probe": "p", "metric": "m", "group": {"delta": 1}, "unit": "call", "value": 1}
    judge = {"name": "j", "model": "a/b", "baseline": False, "protocols": {}}
    schema = "steelyard.datasheet/2"
    return {"schema": schema, "study": study, "judges": [judge], "estimates": [{**estimate, "later": []}]}


def estimate(**change: object) -> dict[str, Any]:
    """The same file with another value in its only estimate."""
    return {"estimates": [{**least()["estimates"][0], **change}]}


def test_keys_that_are_missing_have_defaults_and_those_of_later_programs_are_left_aside() -> None:
    sheet = Datasheet.from_json({**least(), "later": 1})
    assert (sheet.profile, sheet.form, sheet.reference, sheet.partial) == ("", "pairwise", None, None)
    assert (sheet.panel, sheet.findings, sheet.authored, sheet.faults, sheet.run) == ((), (), (), (), {})
    assert sheet.estimates == (Estimate("j", "p", "m", {"delta": 1}, "call", 1),)
    report = {"probe": "typos", "asked": 1, "usable": 1, "rejected": {}, "turned_down": {}}
    assert Datasheet.from_json({**least(), "authored": [report]}).authored[0].pending == 0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"schema": "steelyard.datasheet/3"}, 'schema: found "steelyard.datasheet/3", expected'),
        ({"study": None}, "study: found null, expected an object"),
        ({"study": {"name": "n"}}, "study.seed: missing, expected a whole number"),
        ({"judges": {}}, "judges: found {}, expected a list"),
        ({"judges": [{"name": 3}]}, "judges.0.name: found 3, expected text"),
        (estimate(value="x"), 'estimates.0.value: found "x", expected'),
        (estimate(value=float("nan")), "estimates.0.value: found NaN"),
        (estimate(n_calls=True), "estimates.0.n_calls: found true, expected a whole"),
        (estimate(group={"a": None}), "estimates.0.group.a: found null, expected text"),
        (estimate(bounds=[1]), "estimates.0.bounds: found [1], expected a list of 2"),
        (estimate(intervals=[{}]), "estimates.0.intervals.0.method: missing, expected"),
        ({"run": {"partial": True, "asked": "3"}}, 'run.asked: found "3", expected a whole number'),
        ({"run": {"unfinished": {"j": 3}}}, "run.unfinished.j: found 3, expected an object"),
        ({"authored": [{"levels": []}]}, "authored.0.levels: found [], expected an object"),
        ({"faults": ["x" * 100]}, 'faults.0: found "xxx'),
    ],
)
def test_what_is_no_datasheet_is_told_with_its_place(
    change: dict[str, Any], told: str, tmp_path: Path
) -> None:
    (tmp_path / "datasheet.json").write_text(json.dumps({**least(), **change}))
    with pytest.raises(ConfigError) as caught:
        read_datasheet(tmp_path)
    said = str(caught.value)
    assert said.startswith(f"{tmp_path / 'datasheet.json'}: not a datasheet ({told}")
    assert said.endswith("); write it again with `steelyard report`.")
    assert "\n" not in said


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "[" * 100_000, b"\xff\xfe"])
def test_a_file_that_is_no_object_is_no_datasheet(text: str | bytes, tmp_path: Path) -> None:
    (tmp_path / "datasheet.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError, match="not a datasheet"):
        read_datasheet(tmp_path)


def test_the_reference_judge_is_named_by_itself_and_in_files_that_only_tell_of_it() -> None:
    awkward = "verdicts of judge x on the originals: accuracy"
    sheet = replace(example(), reference=awkward)
    body = to_json(sheet)
    assert body["study"]["reference_judge"] == awkward
    assert Datasheet.from_json(body).reference == awkward
    del body["study"]["reference_judge"]
    body["study"]["reference"] = replace(sheet, reference="GPT-4o").reference_sentence
    assert Datasheet.from_json(body).reference == "GPT-4o"


def test_a_datasheet_of_schema_1_opens_with_the_status_words_of_schema_2() -> None:
    folder = Path(__file__).parent / "datasheet_schema_1"
    text = (folder / "datasheet.json").read_text()
    assert text.count('"underpowered"') == 7
    sheet = read_datasheet(folder)
    words = {'"underpowered"': '"inconclusive"', '"Zero point"': '"Dark current"', "sheet/1": "sheet/2"}
    for old, new in words.items():
        text = text.replace(old, new)
    then, now = json.loads(text), to_json(sheet)
    then["study"]["asked"] = []
    made = ("readings", "verdicts", "not_measured")
    assert {key: then[key] for key in then if key not in made} == {
        key: now[key] for key in now if key not in made
    }
    # Sentences are made of the figures again; titles, words and the next step are those that were written.
    for key in ("judge", "title", "word"):
        assert [each[key] for each in now["readings"]] == [each[key] for each in then["readings"]]
    for key in ("judge", "verdict", "command", "calls", "dollars"):
        assert [each[key] for each in now["verdicts"]] == [each[key] for each in then["verdicts"]]
    assert now["verdicts"][0]["next"]["purpose"] == then["verdicts"][0]["next"]["purpose"]
    assert [e.status for e in sheet.of("old", "dark_current")] == ["inconclusive", "inconclusive"]
    assert sheet.findings[0].status == sheet.remedies[0].figures[0].estimate.status == "inconclusive"
