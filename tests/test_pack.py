"""Validity gates of the built-in pack: every text is there, and differs from the others as it should."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from importlib.resources import files
from itertools import pairwise, product
from pathlib import Path
from statistics import correlation

import pytest
from pydantic import BaseModel, ValidationError

from each import for_each
from steelyard.core.content_hash import content_hash
from steelyard.tasks.pack import PackItem, PackTask, pack, pack_item, pack_items, parse_pack_task
from steelyard.tasks.task import Binary, Item, Ordinal, Pairwise, scale_name

FROZEN = "sha256:55f180d1c46764e5b24c8493f3399aaeade85fccde1994e0bed9478fc25b8027"
"""Hash of all that the pack holds: a change of any text is a change here too, and a line in the changelog."""

TASKS = pack()
ENTRIES = [(task, entry) for task in TASKS for entry in task.items]
BINARY = [entry for task, entry in ENTRIES if task.scale == Binary()]
GRADED = [entry for task, entry in ENTRIES if task.scale == Ordinal(1, 6)]

LEAKS = re.compile(
    r"\b(scor(e|es|ed|ing)|label(s|led|ling)?|rubrics?|judges?|rating|grad(e|es|ed|ing)|ambiguous|paraphrase|flip)\b"
)
"""Words of the laboratory, which a text under judgement has no reason to use."""

each_task = for_each("task", TASKS, lambda task: task.id)
each_entry = for_each(("task", "entry"), ENTRIES, lambda case: case[1].id)


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower())


def length(text: str) -> int:
    return len(text.split())


def shared_bigrams(one: str, other: str) -> float:
    """Share of the word pairs of the text with fewer of them that the other text has too."""
    first, second = (set(pairwise(words(text))) for text in (one, other))
    return len(first & second) / min(len(first), len(second))


def token_change(one: str, other: str) -> float:
    """0 for equal texts, 1 for texts without a common word."""
    return 1 - SequenceMatcher(None, words(one), words(other), autojunk=False).ratio()


def texts(entry: PackItem) -> Iterator[str]:
    """Everything a judge may be shown as a response."""
    yield from (text for text, _ in entry.labelled())
    if entry.ambiguous is not None:
        yield entry.ambiguous


def sentences(text: str) -> Iterator[str]:
    """Sentences of at least five words."""
    for sentence in re.split(r"(?<=[.!?:;])\s+", text):
        if len(words(sentence)) >= 5:
            yield " ".join(words(sentence))


def content(value: object) -> object:
    """A model as `content_hash` has a dataclass: its fields, and the name of its class."""
    if isinstance(value, BaseModel):
        return {"type": type(value).__name__, **{name: content(each) for name, each in value}}
    return [content(each) for each in value] if isinstance(value, tuple) else value


def test_the_pack_is_frozen() -> None:
    assert content_hash(content(TASKS)) == FROZEN


def test_helpers_by_hand() -> None:
    assert shared_bigrams("a b c", "b c d e") == 0.5
    assert token_change("one two three four", "one two three five") == pytest.approx(0.25)
    assert list(sentences("Too short here. This one is long enough.")) == ["this one is long enough"]


def test_size() -> None:
    assert len(ENTRIES) == len(BINARY) + len(GRADED)
    assert len(BINARY) >= 68
    assert len(GRADED) >= 42
    kinds = Counter(scale_name(task.scale) for task in TASKS)
    assert kinds["binary"] >= 5
    assert kinds["1-6"] >= 3
    assert sum(entry.ambiguous is not None for _, entry in ENTRIES) >= 42
    assert sum(bool(entry.ordinal) for entry in GRADED) >= 12
    assert not any(entry.ordinal for entry in BINARY)


def test_labels_are_balanced() -> None:
    held = Counter(entry.label for entry in BINARY)
    assert abs(held["0"] - held["1"]) <= 2
    for task in TASKS:
        if task.scale == Binary():
            assert min(Counter(entry.label for entry in task.items).values()) >= 2
    graded = Counter(entry.label for entry in GRADED)
    assert sorted(graded) == list("123456")
    assert max(graded.values()) - min(graded.values()) <= 2


def test_length_tells_nothing_about_the_label() -> None:
    ones, zeros = ([length(e.response) for e in BINARY if e.label == label] for label in "10")
    wins = sum((one > zero) + (one == zero) / 2 for one, zero in product(ones, zeros))
    assert 0.35 <= wins / (len(ones) * len(zeros)) <= 0.65
    sizes, labels = zip(*((length(e.response), int(e.label)) for e in GRADED), strict=True)
    assert abs(correlation(sizes, labels)) < 0.3


def test_domains_cross_tasks() -> None:
    """A stratum is more than another name for a task."""
    tasks: dict[str, set[str]] = {}
    for task, entry in ENTRIES:
        tasks.setdefault(entry.stratum, set()).add(task.id)
    assert len(tasks) >= 8
    assert sum(len(ids) >= 2 for ids in tasks.values()) >= 0.8 * len(tasks)
    assert min(Counter(entry.stratum for _, entry in ENTRIES).values()) >= 3


def test_ids() -> None:
    names = {entry.name for entry in files("steelyard.tasks").joinpath("pack").iterdir()}
    assert names == {f"{task.id}.yaml" for task in TASKS}
    for task in TASKS:
        assert [entry.id for entry in task.items] == [
            f"{task.id}-{number:02}" for number in range(1, len(task.items) + 1)
        ]


@each_task
def test_a_rubric_is_a_list_that_says_what_each_answer_means(task: PackTask) -> None:
    assert len(re.findall(r"^[1-9]\. ", task.rubric, re.MULTILINE)) >= 2
    if task.scale == Binary():
        assert len(re.findall(r"^Give 1 if ", task.rubric, re.MULTILINE)) == 1
        assert len(re.findall(r"^Give 0 if ", task.rubric, re.MULTILINE)) == 1
    else:
        assert tuple(re.findall(r"^(\d): ", task.rubric, re.MULTILINE)) == task.scale.answers
    assert "do not count" in task.rubric


@each_entry
def test_labels_are_on_the_scale(task: PackTask, entry: PackItem) -> None:
    assert {label for _, label in entry.labelled()} <= set(task.scale.answers)
    assert entry.why.endswith(".")
    assert entry.label_flip.why.endswith(".")


@each_entry
def test_lengths(task: PackTask, entry: PackItem) -> None:
    whole = length(entry.response)
    assert 40 <= whole <= 130
    assert 1.6 <= length(entry.long) / whole <= 2.6
    assert 0.4 <= length(entry.short) / whole <= 0.75
    assert 0.7 <= length(entry.paraphrase) / whole <= 1.3


@each_entry
def test_a_paraphrase_is_no_copy(task: PackTask, entry: PackItem) -> None:
    assert shared_bigrams(entry.response, entry.paraphrase) < 0.35


@each_entry
def test_a_flip_is_a_small_edit_with_another_label(task: PackTask, entry: PackItem) -> None:
    flip = entry.label_flip
    most, least = (0.2, 1) if task.scale == Binary() else (0.35, 2)
    assert 0 < token_change(entry.response, flip.response) <= most
    assert 0.8 <= length(flip.response) / length(entry.response) <= 1.25
    assert abs(int(flip.label) - int(entry.label)) >= least


def test_edits_are_small_as_a_whole() -> None:
    changes = [token_change(entry.response, entry.label_flip.response) for entry in BINARY]
    assert sum(changes) / len(changes) < 0.12


@each_entry
def test_levels_are_complete_and_of_like_length(task: PackTask, entry: PackItem) -> None:
    if not entry.ordinal:
        return
    assert tuple(label for label, _ in entry.ordinal) == task.scale.answers
    sizes = [length(text) for _, text in entry.ordinal]
    assert max(sizes) <= 1.5 * min(sizes)


@each_entry
def test_texts_give_nothing_away(task: PackTask, entry: PackItem) -> None:
    for text in (entry.request, *texts(entry)):
        assert not LEAKS.search(text.lower()), LEAKS.search(text.lower())


@each_entry
def test_texts_are_plain_and_tidy(task: PackTask, entry: PackItem) -> None:
    notes = (task.instruction, task.rubric, entry.why, entry.label_flip.why)
    for text in (*notes, entry.request, *texts(entry)):
        assert text.isascii()
        assert text == text.strip()
    for text in texts(entry):
        assert "  " not in text
        assert not re.search(r"[\n{}<>`*]|==|--|\.\.|\s[,.;:!?]", text), text
        assert text[-1] in ".?!"


@pytest.mark.parametrize(
    ("number", "call", "result"),
    [
        (1, 'keep(["b", "a", "b"])', ["b", "a"]),
        (2, "total(5)", 10),
        (3, 'count("noon")', {"n": 2, "o": 2}),
        (4, 'same("Anna")', True),
        (5, "put(3)", [1, 2, 3]),
        (6, "middle([9, 2, 5])", 5),
        (7, 'turn({"a": 1, "b": 1})', {1: "b"}),
        (8, "steps(20)", 4),
        (9, "pick([3, 8, 6])", 8),
        (10, "a", [1, 2, 3]),
    ],
)
def test_code_in_the_requests_does_what_the_labels_assume(number: int, call: str, result: object) -> None:
    (entry,) = (entry for _, entry in ENTRIES if entry.id == f"code-explanation-{number:02}")
    question, code = entry.request.split("\n\n", 1)
    names: dict[str, object] = {}
    exec(code, names)
    assert eval(call, names) == result
    assert call in question or "print" in question


def test_all_texts_are_distinct() -> None:
    shown = [text for _, entry in ENTRIES for text in texts(entry)]
    assert len({content_hash(" ".join(words(text))) for text in shown}) == len(shown)
    assert len({entry.request for _, entry in ENTRIES}) == len(ENTRIES)


def test_no_sentence_belongs_to_two_items() -> None:
    homes: dict[str, set[str]] = {}
    for _, entry in ENTRIES:
        for text in texts(entry):
            for sentence in sentences(text):
                homes.setdefault(sentence, set()).add(entry.id)
    assert [sentence for sentence, ids in homes.items() if len(ids) > 1] == []


@each_entry
def test_only_the_flip_shares_sentences_with_the_response(task: PackTask, entry: PackItem) -> None:
    """Variants are written anew; a stray sentence in common is a copy that slipped in."""
    own = set(sentences(entry.response))
    for text in (entry.paraphrase, entry.long, entry.short, *(text for _, text in entry.ordinal)):
        assert own.isdisjoint(sentences(text))


def test_items_for_a_study() -> None:
    items = pack_items()
    assert len(items) == len(ENTRIES)
    assert [item.id for item in items] == sorted(item.id for item in items)
    assert {len(item.responses) for item in items} == {1}
    assert all(item.cluster == item.id for item in items)
    assert pack_items(Pairwise()) == ()
    assert len(pack_items(Binary())) == len(BINARY)
    for item, (task, entry) in zip(items, ENTRIES, strict=True):
        assert (item.rubric, item.instruction, item.scale) == (task.rubric, task.instruction, task.scale)
        assert (item.label, item.stratum, item.request) == (entry.label, entry.stratum, entry.request)


def test_the_way_back_to_the_variants() -> None:
    item = pack_items()[0]
    assert pack_item(item) is TASKS[0].items[0]
    assert pack_item(Item(item.id, item.request, ("Another text.",), item.cluster)) is None
    assert pack_item(Item("elsewhere", item.request, item.responses, item.cluster)) is None


def test_the_page_names_what_is_there() -> None:
    page = (Path(__file__).parent.parent / "docs" / "stimuli.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.splitlines()
        if line.startswith("| `")
    ]
    listed = [[f"`{task.id}`", scale_name(task.scale), str(len(task.items)), spread(task)] for task in TASKS]
    assert [[row[0], row[1], row[3], row[4]] for row in rows] == listed
    shown = sum(1 for _, entry in ENTRIES for _ in texts(entry))
    total = f"{len(ENTRIES)} items in {len(TASKS)} tasks and {len({e.stratum for _, e in ENTRIES})} domains"
    assert total in " ".join(page.split())
    assert f"{shown} texts" in page
    assert FROZEN in page


def spread(task: PackTask) -> str:
    """How often each answer is the reference, as in `3 / 2`."""
    held = Counter(entry.label for entry in task.items)
    return " / ".join(str(held[answer]) for answer in task.scale.answers)


FILE = """
id: t
instruction: I.
rubric: R.
scale: 1-6
items:
  - {id: t-01, stratum: s, request: Q, response: A, label: "2", why: W., paraphrase: P, long: L, short: S,
     label_flip: {response: F, label: "4", why: W.}, ordinal: {"2": two, "1": one}}
"""


def test_a_file_is_read_strictly() -> None:
    (entry,) = parse_pack_task(FILE).items
    assert entry.ordinal == (("1", "one"), ("2", "two"))
    assert entry.ambiguous is None
    assert list(entry.labelled())[-3:] == [("F", "4"), ("one", "1"), ("two", "2")]
    with pytest.raises(ValidationError, match="valid string"):
        parse_pack_task(FILE.replace('label: "2"', "label: 2"))
    with pytest.raises(ValidationError, match="reponse"):
        parse_pack_task(FILE.replace("request: Q", "reponse: Q"))
