"""Judges that name the best of several responses: figures by hand, recovery over HTTP, data and prompts."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import Command
from review_sessions import Client, serving
from servers import planted_server
from steelyard.api import measure
from steelyard.errors import ConfigError, DataError, UsageError
from steelyard.metrics.comparison.comparison import Comparison, compare
from steelyard.metrics.comparison.unit_events import unit_events
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.findings import FLAGGED
from steelyard.metrics.merit import merit_estimates
from steelyard.metrics.scores.best_of import SLOT_PREFERENCE, best_of_estimates
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.scores.shares import NO_LABELS
from steelyard.probes.probe_metadata import metrics_of
from steelyard.stimuli.original import response_in_slot, rotations
from steelyard.study.judge_config import parse_judge
from steelyard.study.study import Study
from steelyard.study.study_file import build_study, load_config
from steelyard.tasks.sources.items import Columns, items_of
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.task import BestOf, Item, Task, parse_scale, scale_name
from steelyard.trials.builtin_prompts import parse_best_of_prompt
from steelyard.trials.judge import Reply, Usage
from steelyard.trials.trial import Trial
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.readers import JsonReader
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Unreadable, Verdict
from steelyard.web.view_app import ViewPages
from strategies import find

CONTEXT = EstimateContext.for_protocol("j", "best_of", "base", 7)


def item(name: str, label: int | None, responses: int = 3) -> Item:
    texts = tuple(f"{name} answer {number}" for number in range(1, responses + 1))
    return Item(name, f"{name}?", texts, name, label=None if label is None else str(label))


def calls(given: Item, verdicts: Sequence[int | Verdict], replicate: int = 0) -> Iterator[Observation]:
    """The judge's answer to each rotation of an item; a number names a slot."""
    for shown, said in zip(rotations(given), verdicts, strict=True):
        verdict = Decided(str(said)) if isinstance(said, int) else said
        yield Observation("j", "base", shown, "uv", replicate, verdict, Usage(), "")


def figures(*sets: Iterator[Observation]) -> list[Estimate]:
    return best_of_estimates(CONTEXT, collect_scores(Observations.of([call for one in sets for call in one])))


def counts(found: list[Estimate], metric: str, **group: int) -> tuple[int | None, int | None]:
    estimate = find(found, metric, **group)
    return estimate.numerator, estimate.denominator


def test_every_response_stands_in_every_slot_once() -> None:
    shown = list(rotations(item("a", 2)))
    assert [[int(text[-1]) for text in one.texts] for one in shown] == [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    best = [one.texts[int(one.expectation.value) - 1] for one in shown]  # type: ignore[union-attr]
    assert best == ["a answer 2"] * 3
    assert {one.unit for one in shown} == {"a"}


def test_figures_by_hand() -> None:
    """Of a, response 2 is the best and is always named; of b, response 1 is, and slot 1 is named."""
    found = figures(calls(item("a", 2), (2, 1, 3)), calls(item("b", 1), (1, 1, 1)))
    assert counts(found, "accuracy") == (4, 6)
    assert find(found, "accuracy").chance == pytest.approx(1 / 3)
    # The best stands in slot 1 for a in the second rotation and for b in the first.
    assert counts(found, "accuracy", slot=1) == (2, 2)
    # Of b it stands in slot 3 in the second rotation and in slot 2 in the third: both are missed.
    assert counts(found, "accuracy", slot=2) == (1, 2)
    assert find(found, "kappa").value == pytest.approx((4 / 6 - 1 / 3) / (2 / 3))
    assert counts(found, "rotation_consistency") == (1, 2)
    assert counts(found, "rotation_vote_accuracy") == (1, 2)  # each response of b has one vote
    assert [counts(found, "slot_share", slot=slot) for slot in (1, 2, 3)] == [(4, 6), (1, 6), (1, 6)]
    preference = find(found, "slot_preference")
    assert (preference.value, preference.details["answer"]) == (pytest.approx(4 / 6 - 1 / 3), 1)


def test_a_lost_call_is_no_choice() -> None:
    """Its item has no vote and no place among the slots; what may have come of it bounds the figures."""
    found = figures(
        calls(item("a", 2), (2, 1, Failed("timeout"))),
        calls(item("b", 1), (1, Unreadable("empty"), 2)),
        calls(item("c", 3), (3, 2, 1)),
        calls(item("d", 3), (3, Abstained(), 1)),
    )
    assert counts(found, "accuracy") == (9, 10)  # the abstention is a verdict, and not right
    assert find(found, "accuracy").bounds == (9 / 12, 11 / 12)
    assert counts(found, "rotation_consistency") == (1, 2)  # c, of c and d
    assert find(found, "rotation_consistency").bounds == (1 / 4, 3 / 4)
    assert counts(found, "slot_share", slot=1) == (1, 3)  # c alone has a choice in every rotation
    assert find(found, "failed_rate").numerator == find(found, "unreadable_rate").numerator == 1


def test_an_abstention_settles_a_set_with_a_lost_call() -> None:
    """It cannot name one response throughout any more; a set with a lost call alone still may."""
    found = figures(
        calls(item("a", 3), (3, Abstained(), Failed("timeout"))),
        calls(item("b", 3), (3, 2, Failed("timeout"))),
        calls(item("c", 3), (3, 2, 1)),
    )
    assert counts(found, "rotation_consistency") == (1, 1)
    assert find(found, "rotation_consistency").bounds == (1 / 3, 2 / 3)


def test_without_labels_choices_are_compared_with_each_other_alone() -> None:
    found = figures(calls(item("a", None), (2, 1, 3)), calls(item("b", None), (1, 3, 2)))
    assert find(found, "accuracy").value is find(found, "kappa").value is None
    assert find(found, "rotation_vote_accuracy").note == NO_LABELS
    assert counts(found, "rotation_consistency") == (2, 2)


def test_repeats_of_a_rotation_are_compared() -> None:
    given = item("a", 2)
    found = figures(calls(given, (2, 1, 3)), calls(given, (2, 1, 1), replicate=1))
    assert counts(found, "self_agreement") == (2, 3)
    assert counts(found, "rotation_consistency") == (1, 2)
    assert find(found, "rotation_consistency").n_units == 1


@settings(max_examples=15)
@given(st.integers(3, 6), st.lists(st.integers(1, 6), min_size=2, max_size=8), st.integers(1, 6))
def test_a_judge_of_slots_has_no_merit_whatever_the_labels(
    responses: int, labels: list[int], slot: int
) -> None:
    """Right once in N, exactly: merit and κ are 0, and no item keeps its choice."""
    slot = min(slot, responses)
    rows = [
        call
        for number, label in enumerate(labels)
        for call in calls(item(f"i{number}", min(label, responses), responses), [slot] * responses)
    ]
    found = best_of_estimates(CONTEXT, collect_scores(Observations.of(rows)))
    assert counts(found, "accuracy") == (len(labels), responses * len(labels))
    assert find(found, "kappa").value == pytest.approx(0)
    assert counts(found, "rotation_consistency") == (0, len(labels))
    assert find(found, "slot_preference").value == pytest.approx(1 - 1 / responses)
    [merit] = merit_estimates("j", Observations.of(rows), {}, 7)
    assert (merit.probe, merit.value) == ("best_of", pytest.approx(0))


@pytest.mark.slow
def test_answers_at_random_are_seldom_taken_for_a_slot_preference() -> None:
    """At most 5 % of judges that favour nothing, by the interval that holds for all slots at once."""
    chance, given = np.random.default_rng(3), [item(f"i{number}", 1, 4) for number in range(25)]
    shown = collect_scores(Observations.of([call for one in given for call in calls(one, (1, 1, 1, 1))]))
    flagged = 0
    for _ in range(20):
        scores = replace(shown, score=chance.integers(1, 5, len(shown)))
        flagged += find(best_of_estimates(CONTEXT, scores), SLOT_PREFERENCE.id).status == FLAGGED
    assert flagged <= 3  # P(more | 5 %) = .016


@pytest.mark.parametrize(("text", "name"), [("best-of-4", "best-of-4"), ("Best of 12", "best-of-12")])
def test_scales_by_name(text: str, name: str) -> None:
    scale = parse_scale(text)
    assert scale_name(scale) == name
    assert scale.answers[-1] == name.removeprefix("best-of-")


@pytest.mark.parametrize("text", ["best-of-2", "best-of-21", "best-of"])
def test_other_numbers_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"3 to 20 responses|expected binary, pairwise"):
        parse_scale(text)


TEXTS = st.lists(st.text(alphabet="ab=\n {}", max_size=12), min_size=3, max_size=6)


@settings(max_examples=25)
@given(TEXTS, st.text(alphabet="q=\n", max_size=6))
def test_the_prompt_can_be_taken_apart_whatever_the_texts(texts: list[str], request: str) -> None:
    scale = BestOf(len(texts))
    judge = parse_judge("openai/m", Path(), scale)
    given = Item("i", request, tuple(texts), "i", reference="a = reference")
    for shown in rotations(given):
        trial = Trial(judge, "base", shown, Task("Name it.", "A rubric", scale))
        found = parse_best_of_prompt(trial.messages[-1].content)
        assert (found.request, found.responses) == (request, shown.texts)


HARNESS = """## Instruction
{instruction}
## Rubric
{rubric}
Your score must be exactly 'Response_X'.
<request>{request}</request>
<response>{response}</response>
Respond in JSON format only. {"score": "<your-score>", "reasoning": "[...]"}"""


def test_a_template_of_the_harness_shows_all_responses_and_is_read(tmp_path: Path) -> None:
    (tmp_path / "multiclass_judge.md").write_text(HARNESS)
    given = {"model": "openai/m", "prompt": "multiclass_judge.md", "reader": {"json": "score"}}
    judge = parse_judge(given, tmp_path, BestOf(3))
    shown = next(rotations(item("a", 2)))
    asked = Trial(judge, "base", shown, Task("Choose.", "Truth.", BestOf(3))).messages[-1].content
    assert "<response>Response_1:\na answer 1\n\nResponse_2:\na answer 2\n\nResponse_3:" in asked
    assert '{"score": "<your-score>"' in asked
    read = JsonReader("score")
    said = Reply('{"score": "Response_2", "reasoning": "It is right."}')
    assert read(said, BestOf(3)) == Decided("2")
    assert isinstance(read(Reply('{"score": "Response_4"}'), BestOf(3)), Unreadable)


def load(folder: Path) -> Study:
    return build_study(load_config(folder / "study.json", {}), folder)


def rows_of(path: Path, count: int) -> None:
    rows = [
        {
            "q": f"Question {n}?",
            "said": [f"{n} {letter} {'x ' * (n % 5)}" for letter in "abcd"],
            "best": 1 + n % 4,
        }
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_responses_come_from_a_list_or_from_columns(tmp_path: Path) -> None:
    rows_of(tmp_path / "rows.jsonl", 3)
    (tmp_path / "rows.csv").write_text("q,a,b,c,best\nwhy,x,y,,Response_2\n")
    wide = items_of(
        read_table(tmp_path / "rows.csv"),
        Columns(request="q", responses=["a", "b", "c"], label="best"),
        BestOf(3),
    )
    assert (wide[0].responses, wide[0].label) == (("x", "y", ""), "2")
    columns = Columns(request="q", responses="said", label="best")
    assert items_of(read_table(tmp_path / "rows.jsonl"), columns, BestOf(4))[1].label == "2"
    with pytest.raises(DataError, match="holds a list of 4, expected a list of 3"):
        items_of(read_table(tmp_path / "rows.jsonl"), columns, BestOf(3))
    (tmp_path / "twice.csv").write_text("q,a,b,c,best\nwhy,x,y,y,2\n")
    with pytest.raises(DataError, match="responses 2 and 3 are the same text"):
        items_of(
            read_table(tmp_path / "twice.csv"),
            Columns(request="q", responses=["a", "b", "c"], label="best"),
            BestOf(3),
        )
    with pytest.raises(DataError, match="holds no list"):
        items_of(read_table(tmp_path / "rows.jsonl"), Columns(responses="q"), BestOf(3))
    with pytest.raises(ConfigError, match="names 2 columns, expected 4"):
        items_of(read_table(tmp_path / "rows.jsonl"), Columns(responses=["q", "said"]), BestOf(4))
    with pytest.raises(ConfigError, match="response is mapped, expected responses for the scale best-of-4"):
        items_of(read_table(tmp_path / "rows.jsonl"), Columns(responses="said", response="q"), BestOf(4))


STUDY = {
    "name": "best",
    "judges": ["planted/chooser"],
    "task": {"scale": "best-of-4", "rubric": "The best answer is right."},
    "data": {"path": "rows.jsonl", "columns": {"request": "q", "responses": "said", "label": "best"}},
}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"judges": ["embedded/smollm2-135m"]}, "cannot name the best of several texts"),
        ({"judges": ["planted/rater"]}, "cannot name the best of several texts.*planted/coin"),
        ({"judges": [{"consensus": "orders", "of": "planted/chooser"}]}, "neither two orders nor a mean"),
        ({"judges": [{"mean": 3, "of": "planted/chooser"}]}, "neither two orders nor a mean"),
        ({"probes": ["label_flip"]}, "needs a pointwise scale, found the scale 'best-of-4'"),
        ({"data": None}, "nothing built in holds several responses"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    rows_of(tmp_path / "rows.jsonl", 3)
    body = {key: value for key, value in {**STUDY, **change}.items() if value is not None}
    (tmp_path / "study.json").write_text(json.dumps(body))
    with pytest.raises(UsageError, match=sentence):
        load(tmp_path)


def value(rows: list[dict[str, Any]], judge: str, metric: str, **group: Any) -> dict[str, Any]:
    wanted = {"protocol": "base", **group}
    return next(r for r in rows if (r["judge"], r["metric"], r["group"]) == (judge, metric, wanted))


def test_a_run_recovers_what_was_planted_over_http(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Accuracy .9 with a lean of .4 to slot 2: right in .9 · .6 + .4 / 4, slot 2 in .4 + .6 / 4 of calls."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    rows_of(tmp_path / "rows.jsonl", 80)
    (tmp_path / "my_choices.py").write_text(
        "def longest(request, responses):\n"
        "    return 1 + max(range(len(responses)), key=lambda n: len(responses[n]))\n"
        "def flaky(request, responses):\n"
        "    if ' a ' in responses[0]:\n"
        "        raise ValueError('no answer')\n"
        "    return 'Response_2'\n"
    )
    (tmp_path / "study.json").write_text(json.dumps(STUDY))
    key = [shown for one in load(tmp_path).items for shown in rotations(one)]
    judge = parse_judge("planted/chooser?accuracy=0.9&bias=0.4&slot=2", Path(), BestOf(4))
    with planted_server(judge, key) as url:
        judges = (f"openai/chooser?base_url={url}", "python/my_choices:longest", "python/my_choices:flaky")
        named = (part for one in judges for part in ("-j", one))
        done = command("measure", "study.json", "--out", "out", "--json", *named)
    assert done.code == 0, done.err
    chooser = "openai/chooser"
    accuracy, lean = (value(done.rows, chooser, name) for name in ("accuracy", "slot_preference"))
    for found, planted in ((accuracy, 0.64), (lean, 0.30)):
        low, high = found["intervals"][0]["low"], found["intervals"][0]["high"]
        # The port is part of every key that noise is drawn from: four standard errors on either side.
        assert low - (high - low) / 2 < planted < high + (high - low) / 2
    assert (lean["details"]["answer"], lean["finding"], accuracy["chance"]) == (2, "flagged", 0.25)
    assert value(done.rows, "python/my_choices:longest", "failed_rate")["value"] == 0
    flaky = {
        name: value(done.rows, "python/my_choices:flaky", name)
        for name in ("accuracy", "slot_preference", "rotation_consistency")
    }
    assert (flaky["accuracy"]["denominator"], flaky["accuracy"]["excluded"]["failed"]) == (240, 80)
    assert flaky["slot_preference"]["value"] is flaky["rotation_consistency"]["value"] is None
    sheet = json.loads(done.out)
    assert sheet["study"]["level"] == "best_of"
    [verdict] = [one for one in sheet["verdicts"] if one["judge"] == chooser]
    assert verdict["verdict"] == "usable_with_care"
    assert verdict["facts"][0]["sentence"].startswith("favours slot 2")
    with (tmp_path / "out" / "results.csv").open() as lines:
        row = next(r for r in csv.DictReader(lines) if (r["judge"], r["id"]) == (chooser, "1/best_of/2"))
    assert row["winner"] == str((int(row["verdict"]) - 1 + 2) % 4 + 1)
    shown = command("show", "out", "-j", chooser, "-n", "1")
    assert re.search(r"slot 4 +│", shown.out)
    again = command("report", "out", "--format", "json")
    assert json.loads(again.out)["estimates"] == sheet["estimates"]


@pytest.fixture(scope="module")
def rotated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three judges and their jury on six rows."""
    folder = tmp_path_factory.mktemp("rotated")
    rows_of(folder / "rows.jsonl", 6)
    options = {"a": "bias=0.4", "b": "accuracy=0.7", "c": "accuracy=0.5&seed=3"}
    members = [{"name": name, "model": f"planted/chooser?{given}"} for name, given in options.items()]
    judges = [*members, {"name": "jury", "jury": members}]
    (folder / "study.json").write_text(json.dumps({**STUDY, "judges": judges}))
    measure(study=folder / "study.json", out=folder / "out")
    return folder


REFUSED = [
    ("measure study.json --until accuracy>0.5", "draws pairs or single texts, found rows of several"),
    ("measure study.json --until verdict", "does not change how many rows of your data are judged"),
    ("import out/results.csv --columns item=id,score=verdict --scale best-of-4 --out i", "every rotation"),
    ("import out/results.jsonl --out i", "a line of a run's results"),
    ("import export/trials.jsonl --out i", "a line of a run's results or of `steelyard export`"),
    ("export out --inspect --out i", "several responses are no sample of Inspect"),
    ("show out --outcome flip", "see rotation consistency"),
    ("show out --outcome positional", "see rotation consistency and slot preference"),
    ("review out --label --no-browser", "holds no single texts or pairs of your own data"),
    *(
        (f"{name} out", "no verdicts on single items as they are, expected a run of a scored task")
        for name in ("estimate", "leaderboard -j a", "people", "bridge --from a --to b", "labels plan -j a")
    ),
    ("labels draw -j a --out i out", "no verdicts on single items as they are"),
]
WORKS = [
    ("compare out:a out:b", r"accuracy, Best of"),
    ("gate out --policy gate.yaml", r"PASS[\s\S]*Certificate"),
    ("gate out --check", "Certificate holds: a, b, c, jury"),
    ("gate out --policy gate.yaml --reference older --margin 0.9", "not checked for drift"),
    ("show out --outcome wrong -j b", r"the best is response \d, in slot \d; 1 of 1\s+call named another"),
    ("export out --out export", r"trials.jsonl: \d+ rows"),
    ("overall out", r"\bb +best"),
    ("view out --bundle pages", "index.html"),
]


def test_every_command_takes_a_run_of_several_responses_or_says_why_not(
    rotated: Path, command: Command, tmp_path: Path
) -> None:
    shutil.copytree(rotated, tmp_path, dirs_exist_ok=True)
    shutil.copytree(rotated / "out", tmp_path / "older")
    (tmp_path / "gate.yaml").write_text("failed_rate: {max: 0.5}\nkappa: {min: -1}\nflags: allow\n")
    for line, sentence in WORKS:
        done = command(*line.split())
        assert done.code == 0, (line, done)
        assert re.search(sentence, done.out), (line, done.out)
    for line, sentence in REFUSED:
        done = command(*line.split())
        told = [each for each in done.err.splitlines() if "columns taken by name" not in each]
        assert (done.code, len(told)) == (2, 1), (line, done)
        assert sentence in done.err, (line, done.err)
    assert not (tmp_path / "i").exists()


def test_pages_name_the_response_behind_a_slot(rotated: Path) -> None:
    """Response 2 stands in slot 2, then 1, 4 and 3: a judge that names it each time is seen to."""
    stimuli = list(rotations(item("a", 2, responses=4)))
    assert [response_in_slot(shown, slot) for shown, slot in zip(stimuli, "2143", strict=True)] == [2] * 4
    with (rotated / "out" / "results.csv").open() as lines:
        wanted = next(r for r in csv.DictReader(lines) if (r["judge"], r["id"][-2:]) == ("a", "/3"))
    turned, response = wanted["id"], wanted["winner"]
    pages = ViewPages([rotated / "out"])
    pages.runs[0].load()
    with serving(lambda _: pages.app()) as server:
        client = Client.of(server)
        calls = client.get(f"/run/0/calls?judge=a&stimulus={quote(turned)}").text
        name = re.search(r"/run/0/call/(\w+)", calls)
        assert name is not None
        call = client.get(f"/run/0/call/{name[1]}").text
        texts = client.get(f"/run/0/stimulus?id={quote(turned)}").text
    assert "positional" not in calls
    named = f'<b class="answer">{wanted["verdict"]}</b> <span class="hint">response {response}</span>'
    assert all(named in page for page in (calls, call, texts))
    assert "<dd>response 4 in slot 1</dd>" in call
    assert "Slot 1, response 4" in texts


def test_a_jury_of_choosers_votes_rotation_by_rotation(rotated: Path) -> None:
    """Its answer to a rotation is the slot that most members name there; without one it abstains."""
    with (rotated / "out" / "results.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    said: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        said.setdefault((row["id"], row["replicate"]), {})[row["judge"]] = row["verdict"]
    agreed = 0
    for answers in said.values():
        votes = Counter(answers[name] for name in "abc").most_common()
        agreed += votes[0][1] > 1
        assert answers["jury"] == (votes[0][0] if votes[0][1] > 1 else "abstain")
    assert 0 < agreed < len(said) == 24


def compared_by_hand(*sides: list[Observation]) -> dict[tuple[str, object], Comparison]:
    first, second = (unit_events(calls, lambda shown: shown.id, metrics_of) for calls in sides)
    return {(row.metric, row.group.get("slot")): row for row in compare(first, second).rows}


def test_two_judges_are_compared_on_slots_and_on_choices_that_a_rotation_leaves() -> None:
    """A names response 1 wherever it stands, B slot 1; B loses a call of one item and abstains in another."""
    items = [item(f"i{number:02}", None) for number in range(14)]
    first = [call for one in items for call in calls(one, (1, 3, 2))]
    said: dict[int, list[int | Verdict]] = {12: [1, Unreadable("no answer"), 1], 13: [1, Abstained(), 1]}
    second = [call for number, one in enumerate(items) for call in calls(one, said.get(number, [1, 1, 1]))]
    rows = compared_by_hand(first, second)
    kept = rows["rotation_consistency", None]
    assert (kept.first, kept.second, kept.n_shared, kept.dropped_second.unreadable) == (1, 0, 13, 1)
    assert (kept.status, kept.bounds) == (FLAGGED, (-1.0, pytest.approx(-13 / 14)))
    shares = [rows["slot_preference", slot] for slot in (1, 2, 3)]
    assert [row.first for row in shares] == pytest.approx([0, 0, 0])
    assert [row.second for row in shares] == pytest.approx([2 / 3, -1 / 3, -1 / 3])
    assert {(row.n_shared, row.dropped_second.abstained) for row in shares} == {(12, 1)}
    # Slot 1 is named in 12 sets always; in the lost one never, or always.
    assert (shares[0].status, shares[0].bounds) == (FLAGGED, pytest.approx((23 / 39, 2 / 3)))
    # Of an item that was not asked in every rotation nothing is known.
    assert compared_by_hand(first, second[:-1])["rotation_consistency", None].n_shared == 12
    assert {row.difference for row in compared_by_hand(first, first).values()} == {0}
