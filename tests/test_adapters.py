"""Every adapter reads a file of its benchmark's layout, written here with texts of our own."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from published_data import published
from steelyard.core.registry import Spec
from steelyard.errors import ConfigError, DataError, UnknownNameError
from steelyard.stimuli.rubric_edits import rewrite_range
from steelyard.study.study_file import load_config
from steelyard.tasks.adapters import ADAPTERS, Adapter, category, human_majority_vote
from steelyard.tasks.data_config import DataConfig
from steelyard.tasks.task import Binary, Item, Ordinal, Pairwise

LLMBAR_ITEMS = published("llmbar") / "items.jsonl"


def data_config(body: dict[str, Any], where: str) -> DataConfig:
    """The `data` key of a study file."""
    data = load_config(None, {"data": body}, where).data
    assert data is not None
    return data


def adapter(name: str) -> Adapter:
    return ADAPTERS.build(Spec(name))


def load(name: str, path: Path, **more: Any) -> tuple[Item, ...]:
    config = data_config({"path": path.name, "adapter": name, **more}, "study.yaml")
    return config.split_items(path.parent, adapter(name).task.scale, 7)[0]


def write_csv(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    pyarrow.parquet.write_table(arrow.Table.from_pylist(rows), path)
    return path


GENERATION = 'First line,\r"quoted" and\nnext; a bare\rreturn, and \r\n the end'


def harmbench(row: int) -> dict[str, Any]:
    return {
        "idx": row,
        "behavior_id": f"behaviour_{row // 2}",
        "behavior_description": "Describe how to fold a paper boat",
        "SemanticCategory": "paper" if row % 2 else "boats",
        "test_case": "zq!! fold {{ boat }}",
        "generation": GENERATION + str(row),
        "human_consensus": row % 2,
        "human_mean": 0.66,
        "human_sum": 2,
    }


def test_harmbench(tmp_path: Path) -> None:
    items = load("harmbench", write_csv(tmp_path / "h.csv", [harmbench(row) for row in range(6)]))
    assert items[3] == Item(
        id="3",
        request="Describe how to fold a paper boat",
        responses=(GENERATION + "3",),
        cluster="behaviour_1",
        label="1",
        stratum="paper",
    )
    assert Counter(item.cluster for item in items) == {f"behaviour_{number}": 2 for number in range(3)}


def test_a_part_may_be_mapped_otherwise_and_a_sample_drawn(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "h.csv", [harmbench(row) for row in range(20)])
    items = load("harmbench", path, columns={"request": "test_case"}, sample={"per_stratum": 2})
    assert Counter(item.stratum for item in items) == {"paper": 2, "boats": 2}
    assert {item.request for item in items} == {"zq!! fold {{ boat }}"}
    assert {item.stratum for item in load("harmbench", path, stratify="behavior_id")} >= {"behaviour_0"}


def fortress(tmp_path: Path) -> tuple[Path, Path]:
    prompts = [
        {
            "ID": number,
            "adversarial_prompt": f"Please {number}",
            "rubric": [f"Does it say {part}?" for part in "abcde"],
            "risk_domain": "Boats",
            "risk_subdomain": "Paper boats",
            "benign_prompt": f"Kindly {number}",
        }
        for number in range(3)
    ]
    answers = [
        {"ID": number, "adversarial_response": f"No {number}", "benign_response": f"Yes {number}"}
        for number in (2, 0)
    ]
    return write_jsonl(tmp_path / "f.jsonl", prompts), write_jsonl(tmp_path / "r.jsonl", answers)


def test_fortress_joins_its_second_file_and_has_a_rubric_per_item(tmp_path: Path) -> None:
    path, _ = fortress(tmp_path)
    responses = {"path": "r.jsonl", "key": "ID"}
    items = load("fortress", path, responses=responses)
    assert [(item.id, item.request, item.responses, item.label) for item in items] == [
        ("2", "Please 2", ("No 2",), None),
        ("0", "Please 0", ("No 0",), None),
    ]
    assert items[0].rubric == "\n".join(f"{n}. Does it say {p}?" for n, p in enumerate("abcde", start=1))
    assert items[0].stratum == "Paper boats"
    benign = load(
        "fortress",
        path,
        responses=responses,
        columns={"request": "benign_prompt", "response": "benign_response"},
    )
    assert benign[0].responses == ("Yes 2",)
    with pytest.raises(DataError, match=r"expected a second file of responses; name it under responses"):
        load("fortress", path)


def test_persuade(tmp_path: Path) -> None:
    row = {"essay_id": "E1", "holistic_essay_score": "4.0", "essay_word_count": 3, "full_text": "It\ris so."}
    row |= {"prompt_name": "Phones", "assignment": "Write about phones.", "grade_level": 8}
    items = load("persuade", write_csv(tmp_path / "p.csv", [row]))
    expected = Item("E1", "Write about phones.", ("It\ris so.",), "Phones", "4", stratum="Phones")
    assert items == (expected,)
    kinds = write_csv(tmp_path / "k.csv", [{**row, "discourse_type": "Independent"}])
    assert load("persuade", kinds)[0].stratum == "Independent"
    unnamed = {key: value for key, value in row.items() if key != "prompt_name"}
    assert load("persuade", write_csv(tmp_path / "u.csv", [unnamed]))[0].cluster == "Write about phones."
    outside = write_csv(tmp_path / "o.csv", [{**row, "holistic_essay_score": 7}])
    with pytest.raises(
        DataError, match=r"row 1: column 'holistic_essay_score' holds '7', expected one of 1, 2"
    ):
        load("persuade", outside)


def test_agentharm_lists_behaviours_and_asks_for_a_log(tmp_path: Path) -> None:
    row = {"id": "1-1", "id_original": "1", "name": "x", "category": "Fraud", "prompt": "Do it."}
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"canary": "x", "behaviors": [row, {**row, "id": "1-2"}]}))
    own = adapter("agentharm")
    assert [
        (item.id, item.cluster, item.stratum, item.responses) for item in own.items(own.opener(path, None))
    ] == [
        ("1-1", "1", "Fraud", ()),
        ("1-2", "1", "Fraud", ()),
    ]
    with pytest.raises(
        DataError, match=r"a\.json: AgentHarm is judged on transcripts of agents, and this list"
    ):
        load("agentharm", path)


@pytest.mark.parametrize("write", [write_parquet, write_jsonl])
def test_rewardbench(tmp_path: Path, write: Any) -> None:
    rows = [
        {
            "prompt": "2+2?",
            "chosen": "4",
            "chosen_model": "a",
            "rejected": "5",
            "rejected_model": "b",
            "id": 31,
        }
        | {"subset": subset}
        for subset in ("math", "chat")
    ]
    path = write(tmp_path / ("r.parquet" if write is write_parquet else "r.jsonl"), rows)
    items = load("rewardbench", path)
    assert [item.id for item in items] == ["math/31", "chat/31"]
    assert items[0] == Item("math/31", "2+2?", ("4", "5"), "math/31", "1", stratum="math", authors=("a", "b"))


def test_judgebench(tmp_path: Path) -> None:
    row = {"pair_id": "p1", "original_id": "q7", "source": "math", "question": "2+2?", "response_model": "m"}
    row |= {"response_A": "5", "response_B": "4", "label": "B>A"}
    items = load(
        "judgebench", write_jsonl(tmp_path / "j.jsonl", [row, {**row, "pair_id": "p2", "label": "A>B"}])
    )
    assert items[0] == Item("p1", "2+2?", ("5", "4"), "q7", "2", stratum="math", authors=("m", "m"))
    assert items[1].label == "1"


def test_llmbar_reads_a_folder_of_subsets_or_one_file(tmp_path: Path) -> None:
    for folder, label in (("Natural", 1), ("Adversarial/Manual", 2)):
        (tmp_path / "LLMBar" / folder).mkdir(parents=True)
        row = {"input": "Say hi.", "output_1": "hi", "output_2": "ho", "label": label}
        (tmp_path / "LLMBar" / folder / "dataset.json").write_text(json.dumps([row, row]))
    items = load("llmbar", tmp_path / "LLMBar")
    assert [(item.id, item.stratum, item.label) for item in items] == [
        ("Adversarial/Manual/1", "Adversarial/Manual", "2"),
        ("Adversarial/Manual/2", "Adversarial/Manual", "2"),
        ("Natural/1", "Natural", "1"),
        ("Natural/2", "Natural", "1"),
    ]
    single = load("llmbar", tmp_path / "LLMBar" / "Natural" / "dataset.json")
    assert [item.stratum for item in single] == ["Natural", "Natural"]
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match=r"no dataset\.json found in the folder"):
        load("llmbar", tmp_path / "none")


def vote(
    winner: str, judge: str, *, turn: int = 1, swapped: bool = False, question: int = 83
) -> dict[str, Any]:
    def talk(name: str) -> list[dict[str, str]]:
        said = [("user", "Q1"), ("assistant", f"{name}1"), ("user", "Q2"), ("assistant", f"{name}2")]
        return [{"role": role, "content": content} for role, content in said]

    first, second = ("zeta", "alpha") if swapped else ("alpha", "zeta")
    return {
        "question_id": question,
        "model_a": first,
        "model_b": second,
        "winner": winner,
        "judge": judge,
        "conversation_a": talk(first),
        "conversation_b": talk(second),
        "turn": turn,
    }


@pytest.mark.parametrize("write", [write_parquet, write_jsonl])
def test_mt_bench_gathers_votes(tmp_path: Path, write: Any) -> None:
    votes = [
        vote("model_a", "expert_1"),
        vote("model_b", "expert_0", swapped=True),  # zeta first, alpha wins
        vote("tie", "expert_2"),
        vote("model_a", "expert_1", turn=2),
        vote("model_b", "expert_2", turn=2),
    ]
    path = write(tmp_path / ("m.parquet" if write is write_parquet else "m.jsonl"), votes)
    first, second = load("mt_bench", path)
    assert first == Item(
        id="83/1/alpha/zeta",
        request="Q1",
        responses=("alpha1", "zeta1"),
        cluster="83",
        label="1",
        stratum="writing",
        votes=("1", "1", "tie"),
        authors=("alpha", "zeta"),
    )
    assert second.label == "tie"
    assert second.request == "Turn 1:\nQ1\n\nTurn 2:\nQ2"
    assert second.responses == ("Turn 1:\nalpha1\n\nTurn 2:\nalpha2", "Turn 1:\nzeta1\n\nTurn 2:\nzeta2")


def test_mt_bench_says_what_is_wrong(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "m.jsonl", [vote("model_c", "x")])
    with pytest.raises(
        DataError, match=r"line 1: winner is 'model_c', expected model_a, model_b or tie; correct it"
    ):
        load("mt_bench", path)
    write_jsonl(path, [{**vote("tie", "x"), "conversation_b": "text"}])
    with pytest.raises(DataError, match=r"conversation_b holds no messages with role and content"):
        load("mt_bench", path)
    write_jsonl(path, [{**vote("tie", "x"), "judge": None}])
    with pytest.raises(DataError, match=r"line 1: judge is empty, expected a value"):
        load("mt_bench", path)
    with pytest.raises(ConfigError, match=r"adapter 'mt_bench': columns or stratify found, expected none"):
        load("mt_bench", path, stratify="turn")


@pytest.mark.parametrize(
    ("votes", "label"),
    [("1", "1"), ("12", "tie"), ("112", "1"), ("1t", "tie"), ("tt2", "tie"), ("22t1", "2"), ("1122t", "tie")],
)
def test_the_majority_needs_more_votes_than_any_other(votes: str, label: str) -> None:
    assert human_majority_vote(tuple("tie" if vote == "t" else vote for vote in votes)) == label


@given(st.lists(st.sampled_from(["1", "2", "tie"]), min_size=1, max_size=9), st.randoms())
def test_the_majority_does_not_know_order_and_turns_with_the_slots(votes: list[str], rng: Any) -> None:
    turned = {"1": "2", "2": "1", "tie": "tie"}
    assert human_majority_vote(tuple(rng.sample(votes, len(votes)))) == human_majority_vote(tuple(votes))
    assert (
        human_majority_vote(tuple(turned[vote] for vote in votes))
        == turned[human_majority_vote(tuple(votes))]
    )


def test_categories_follow_the_numbers_of_the_questions() -> None:
    assert Counter(category(str(number)) for number in range(81, 161)) == dict.fromkeys(
        ("writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities"), 10
    )
    assert [category(question) for question in ("80", "90", "91", "160", "161", "x")] == [
        None,
        "writing",
        "roleplay",
        "humanities",
        None,
        None,
    ]


@pytest.mark.parametrize("name", ADAPTERS.names())
def test_every_adapter_asks_a_full_question(name: str) -> None:
    own = adapter(name)
    assert own.name == name
    assert len(own.task.instruction.split()) >= 8
    assert own.stratify
    scale = own.task.scale
    text = own.task.instruction + "\n" + own.task.rubric
    if isinstance(scale, Binary):
        assert "Score 1" in text
    elif isinstance(scale, Ordinal):
        assert [line[:2] for line in own.task.rubric.splitlines() if line[1:2] == ":"] == [
            f"{answer}:" for answer in reversed(scale.answers)
        ]
        assert rewrite_range(own.task.rubric, scale, Ordinal(0, 10)) is not None
    else:
        assert scale == Pairwise()
        assert own.columns["response_1"] != own.columns["response_2"]


def test_an_unknown_adapter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown adapter 'harmbnch': did you mean 'harmbench'\?"):
        load("harmbnch", tmp_path / "x.csv")


@pytest.mark.skipif(not LLMBAR_ITEMS.exists(), reason="the LLMBar items are not beside the project")
def test_the_real_llmbar_items(tmp_path: Path) -> None:
    items = load("llmbar", LLMBAR_ITEMS, where={"subset": "LLMBar/Natural"})
    assert len(items) == 100
    everything = load("llmbar", LLMBAR_ITEMS)
    assert Counter(item.label for item in everything) == {"1": 596, "2": 604}
    sample = load("llmbar", LLMBAR_ITEMS, sample=26)
    assert set(Counter(item.stratum for item in sample).values()) == {2}


def test_the_real_evalbiasbench_items() -> None:
    items = load("evalbiasbench", published("evalbiasbench") / "items.jsonl")
    assert len(items) == 80
    assert {item.label for item in items} == {"1"}
    assert Counter(item.stratum for item in items)["length bias"] == 17
