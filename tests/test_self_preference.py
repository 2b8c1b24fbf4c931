"""Self-preference: families by name, the figure by hand, judges that favour nobody, the whole pipe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from servers import Received, ScriptedServer, says
from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.run.self_preference import NO_FAMILY, NONE_ALIKE, NONE_OWN, vendor_of
from steelyard.probes.probe import Design
from steelyard.probes.unchanged_items import SelfPreference
from steelyard.stimuli.original import natural_pair, original_of
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.task import Item, Ordinal, Pairwise, Task
from steelyard.trials.builtin_prompts import parse_score_prompt
from steelyard.trials.judge import Usage
from steelyard.verdicts.observations import Observation
from steelyard.verdicts.verdict import Decided, Failed, Tie, Verdict

FIVE = Task("Score it.", "More is better.", Ordinal(1, 5))
PAIRS = Task("Compare.", "More is better.", Pairwise())


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("openai/gpt-4o", "openai"),
        ("gpt4-turbo", "openai"),
        ("o3-mini", "openai"),
        ("openai/NAME", None),
        ("bedrock/anthropic.claude-3-haiku", "anthropic"),
        ("Meta-Llama3-8B-Instruct", "meta"),
        ("vllm/Qwen2.5-7B", "alibaba"),
        ("embedded/smollm2-135m", "hugging face"),
        ("philosopher", None),
        ("planted/rater", None),
    ],
)
def test_families_by_name(name: str, family: str | None) -> None:
    assert vendor_of(name) == family


def test_a_given_family_goes_before_the_name() -> None:
    assert vendor_of("gpt-4o", {"gpt-4o": "Mine"}) == "mine"


def scored(number: int, author: str, label: int, answer: int | None) -> Observation:
    item = Item(f"i{number}", "Why?", (f"Text {number}.",), f"c{number}", str(label), authors=(author,))
    verdict: Verdict = Failed("timeout") if answer is None else Decided(str(answer))
    return Observation("gpt-4o", "base", original_of(item, FIVE), "uv", 0, verdict, Usage(), "")


def paired(
    number: int, authors: tuple[str, str], label: str, first: Verdict, second: Verdict
) -> list[Observation]:
    item = Item(f"p{number}", "Why?", ("One.", "Two."), f"c{number}", label, authors=authors)
    shown = natural_pair(item, "position")
    return [
        Observation("gpt-4o", "base", shown, order, 0, verdict, Usage(), "")
        for order, verdict in (("uv", first), ("vu", second))
    ]


def estimate(observations: list[Observation], judge: str = "gpt-4o") -> Estimate:
    (found,) = SelfPreference().estimates(judge, observations, 7)
    return found


def test_the_difference_by_hand() -> None:
    """Label 2: own 3, 4 against 2 → (0.5 + 0.75)/2 − 0.25 = 0.375. Label 4: own 5 against 5, 4 → 0.125.

    Weighted by own calls: (2 · 0.375 + 0.125)/3. The label 1 has no text of the family and tells nothing.
    """
    rows = [("gpt-4", 2, 3), ("gpt-3.5", 2, 4), ("claude", 2, 2), ("gpt-4", 4, 5), ("claude", 4, 5)]
    rows += [("llama", 4, 4), ("llama", 1, 1)]
    found = estimate([scored(n, *row) for n, row in enumerate(rows)])
    assert found.value == pytest.approx((2 * 0.375 + 0.125) / 3)
    assert (found.n_calls, found.n_units, found.n_clusters) == (7, 7, 7)
    assert "own 0.75 in 3 calls, others 0.50 in 4" in (found.note or "")


def test_the_share_of_pairs_by_hand() -> None:
    """Own text preferred by people: wins 1, 1, ½ (tie), 0 → .625. The other's preferred: 1, 0, 0, 0 → .25."""
    won, lost, tie = Decided("1"), Decided("2"), Tie()
    own, other = ("gpt-4", "claude"), ("claude", "gpt-4")
    rows = [
        *paired(0, own, "1", won, lost),
        *paired(1, own, "1", tie, won),
        *paired(2, other, "1", won, won),
        *paired(3, own, "2", won, lost),
        *paired(4, ("claude", "llama"), "1", won, lost),
        *paired(5, own, "tie", won, lost),
    ]
    found = estimate(rows)
    assert found.value == pytest.approx(0.625 - 0.25)
    assert found.n_units == 4


def test_what_cannot_be_said() -> None:
    own, other = scored(0, "gpt-4", 2, 3), scored(1, "claude", 3, 3)
    assert estimate([own, other], "my-judge").note == NO_FAMILY
    assert estimate([other]).note == NONE_OWN
    assert estimate([own, other]).note == NONE_ALIKE
    lost = estimate([scored(0, "gpt-4", 2, None), other])
    assert (lost.value, lost.note, lost.excluded["failed"]) == (None, NONE_OWN, 1)


def test_calls_without_a_verdict_bound_the_preference() -> None:
    # Label 3 on a scale from 1 to 5. Own: ½, ½ and a lost call; others: ½ and a lost one. (1 + 0)/3 against
    # (½ + 1)/2 at worst, (1 + 1)/3 against (½ + 0)/2 at best.
    answers = [("gpt-4", 3), ("gpt-4", 3), ("gpt-4", None), ("llama-3", 3), ("llama-3", None)]
    found = estimate([scored(number, author, 3, answer) for number, (author, answer) in enumerate(answers)])
    assert (found.value, found.n_calls) == (0.0, 3)
    assert found.bounds == (pytest.approx(1 / 3 - 3 / 4), pytest.approx(2 / 3 - 1 / 4))


def test_a_judge_that_is_silent_about_its_own_texts_is_not_cleared() -> None:
    def word(lost: int) -> str | None:
        own = [scored(n, "gpt-4", 3, None if n < lost else 3) for n in range(400)]
        return estimate([*own, *(scored(n, "llama-3", 3, 3) for n in range(400, 800))]).status

    assert word(0) == "clear"
    assert word(200) == "inconclusive"


@pytest.mark.parametrize(("lift", "word"), [(0.0, {"clear", "inconclusive"}), (0.35, {"flagged"})])
def test_a_noisy_judge_is_flagged_only_where_it_favours_its_own(lift: float, word: set[str]) -> None:
    """Own texts are worse on the whole, which a judge that is noisy must not be blamed for."""
    rng = np.random.default_rng(5)
    observations = []
    for number in range(120):
        own = number % 2 == 0
        label = int(rng.integers(1, 4 if own else 6))
        noisy = label if rng.random() > 0.4 else int(rng.integers(1, 6))
        answer = min(5, noisy + 2) if own and rng.random() < lift * 2 else noisy
        observations.append(scored(number, "gpt-4" if own else "claude", label, answer))
    assert estimate(observations).status in word


def test_always_the_first_slot_favours_nobody() -> None:
    first = Decided("1")
    rows = [row for n in range(12) for row in paired(n, ("gpt-4", "claude"), "12"[n % 2], first, first)]
    assert (estimate(rows).value, estimate(rows).status) == (0.0, "inconclusive")


def test_authors_are_kept_with_the_stimulus_and_change_no_other() -> None:
    item = Item("i", "Why?", ("Because.",), "c", "1")
    plain, named = (
        original_of(i, FIVE) for i in (item, Item("i", "Why?", ("Because.",), "c", "1", authors=("gpt",)))
    )
    assert "authors" not in plain.to_json()
    assert plain.hash != named.hash
    assert Stimulus.from_json(json.loads(json.dumps(named.to_json()))) == named


@pytest.mark.parametrize("task", [FIVE, PAIRS])
def test_items_without_authors_are_refused(task: Task) -> None:
    design = Design(7, task=task, items=(Item("i", "Why?", ("A.", "B."), "c", "1"),))
    with pytest.raises(ConfigError, match="no item says who wrote its text; map a column as author"):
        SelfPreference().showings(design, ["base"])


@pytest.mark.parametrize("families", [["openai"], {"j": 1}])
def test_families_that_make_no_sense(families: Any) -> None:
    with pytest.raises(ConfigError, match="expected names with their families"):
        SelfPreference(families)


def test_a_vain_judge_over_http(steelyard: Any, tmp_path: Path) -> None:
    lines = ["request,response,label,author"]
    for number in range(24):
        author, end = ("gpt-4o", "Yours G.") if number % 2 else ("claude-3", "Bye.")
        lines.append(f"Question {number}?,Answer {number}. {end},{number // 2 % 2},{author}")
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "rubric.md").write_text("A good answer is right.\n")

    def vain(request: Received) -> Any:
        """The highest score for texts of its own family, which it knows by their ending."""
        asked = parse_score_prompt(request.user)
        assert "gpt-4o" not in request.user
        return says(json.dumps({"score": asked.high if "Yours G." in asked.response else asked.low}))

    with ScriptedServer(vain) as server:
        done = steelyard(
            "measure",
            "--data",
            "data.csv",
            "--columns",
            "request=request,response=response,label=label,author=author",
            "--rubric",
            "rubric.md",
            "--scale",
            "binary",
            "-p",
            "self_preference",
            "-j",
            f"openai/gpt-4o?base_url={server.url}",
            "--out",
            "run",
            "--json",
            OPENAI_API_KEY="k",
        )
    assert done.returncode == 0, done.stderr
    (found,) = [
        e
        for e in json.loads(done.stdout)["estimates"]
        if (e["judge"], e["metric"]) == ("openai/gpt-4o", "self_preference")
    ]
    assert (found["value"], found["finding"]) == (1.0, "flagged")
