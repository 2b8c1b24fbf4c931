"""Authors and validators over real HTTP: what is asked, checked, turned down, kept and paid for."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from authoring_server import (
    ORDINAL_TASK,
    QUICK,
    TASK,
    WRITTEN,
    AuthorRequest,
    Cast,
    author_request,
    essays,
    items,
    obey,
    part,
)
from servers import Answer, ScriptedServer, fails, says
from steelyard.authoring.author import GenerationResult, author
from steelyard.core.registry import Spec
from steelyard.errors import BudgetError, ConfigError, DataError, RunError
from steelyard.run_folder.run_folder import RunFolder
from steelyard.stimuli.stimulus import Label, Unknown
from steelyard.study.role_config import parse_roles
from steelyard.study.roles import Roles
from steelyard.study.study import Study
from steelyard.tasks.task import Item, Task

TYPED = "A person wrote that the sky is green."


def study(*probes: str, data: Sequence[Item] = items(4), task: Task = TASK) -> Study:
    return Study("s", 7, "quick", 1, (), tuple(map(Spec, probes)), task, tuple(data))


def roles(server: ScriptedServer, fallback: bool = False, **settings: Any) -> Roles:
    def address(model: str) -> str:
        return f"openai/{model}?base_url={server.url}"

    validator = {"model": address("checker")}
    if fallback:
        validator["fallback"] = address("second")
    return parse_roles({"model": address("writer"), **settings}, validator)


def run(cast: Cast, made: Study, path: Path, fallback: bool = False, **settings: Any) -> GenerationResult:
    with ScriptedServer(cast) as server:
        return author(made, roles(server, fallback, **settings), RunFolder(path), QUICK)


def states(authored: GenerationResult) -> dict[str, str | None]:
    return {stimulus.id: stimulus.lineage.review for stimulus in authored.stimuli}


def test_every_goal_is_written_and_confirmed(tmp_path: Path) -> None:
    cast = Cast()
    made = run(cast, study(*WRITTEN, "verbosity_padding", "answer_ambiguity"), tmp_path / "run")
    assert set(states(made).values()) == {None}
    by_id = {stimulus.id: stimulus for stimulus in made.stimuli}
    assert by_id["sky-0/label_flip/0"].expectation == Label("0")
    assert "green" in by_id["sky-0/label_flip/0"].texts[0]
    assert by_id["sky-0/semantic_paraphrase/0"].expectation == Label("1")
    assert by_id["sky-0/answer_ambiguity/0"].expectation == Unknown()
    assert {s.lineage.author for s in made.stimuli} == {"openai/writer"}
    found = by_id["sky-1/verbosity_bias_long/0"].lineage.validation
    assert (found or "").count("openai/checker") == 2  # its grade, and what it says of the meaning
    # 24 texts, 4 of them twice the same; a grade for each of 16, the meaning of 16, the border of 4
    assert cast.calls == {"writer": 24, "checker": 16 + 16 + 4}
    assert {report.probe for report in made.report} == {*WRITTEN, "verbosity_padding", "answer_ambiguity"}
    assert {(report.asked, report.usable, report.pending) for report in made.report} == {(4, 4, 0)}
    assert not any(report.rejected or report.turned_down for report in made.report)
    about = [r.user for r in cast.received if r.user.startswith("Two responses")]
    assert sum("with more explanation" in asked for asked in about) == 4
    prompts = [r.user for r in cast.received if r.body["model"] == "writer"]
    assert sum("Spell out what" in asked for asked in prompts) == 4
    assert sum("Be wordier only" in asked for asked in prompts) == 4


def test_the_validator_is_not_told_what_is_wanted(tmp_path: Path) -> None:
    cast = Cast()
    run(cast, study("label_flip"), tmp_path / "run")
    grades = [r for r in cast.received if r.body["model"] == "checker"]
    assert len(grades) == 4
    for request in grades:
        text = json.dumps(request.body["messages"])
        assert TASK.rubric in text
        assert TASK.instruction in text
        assert not any(word in text for word in ("label_flip", "sky-", "expected", "rewritten", "intended"))


def test_a_validator_that_always_agrees_cannot_let_copies_through(tmp_path: Path) -> None:
    """It is not even asked: mechanical checks come first."""
    cast = Cast(write=lambda asked: asked.response.upper() + "!", same=lambda a, b: True)
    made = run(cast, study(*WRITTEN), tmp_path / "run")
    assert set(states(made).values()) == {"rejected"}
    assert cast.calls == {"writer": 4 * 4 * 3}
    assert {reason for report in made.report for reason in report.rejected} == {"copy"}
    assert re.match(r"copy: .*\(try 3 of 3\)$", made.stimuli[0].lineage.validation or "")


def test_a_flip_that_does_not_flip_is_rejected(tmp_path: Path) -> None:
    cast = Cast(write=lambda asked: asked.response.replace("most", "nearly all"))
    made = run(cast, study("label_flip"), tmp_path / "run")
    assert set(states(made).values()) == {"rejected"}
    (reason,) = made.report[0].rejected
    assert "another score" in reason
    assert made.report[0].rejected == {reason: 4}
    assert made.report[0].usable == 0
    assert made.report[0].turned_down == {reason: 12}
    assert f"4 rejected ({reason} 4)" in made.report[0].sentence()


def test_a_text_of_another_meaning_is_rejected(tmp_path: Path) -> None:
    made = run(Cast(same=lambda a, b: False), study("semantic_paraphrase"), tmp_path / "run")
    assert made.report[0].rejected == {"meaning changed": 4}


def test_a_text_with_a_plain_score_is_not_at_the_border(tmp_path: Path) -> None:
    made = run(Cast(border=False), study("answer_ambiguity"), tmp_path / "run")
    assert [(reason[-6:], count) for reason, count in made.report[0].rejected.items()] == [("border", 4)]


def test_the_next_try_is_warmer_and_knows_what_was_wrong(tmp_path: Path) -> None:
    asked: list[AuthorRequest] = []

    def second_time_right(author_request: AuthorRequest) -> str:
        asked.append(author_request)
        return obey(author_request) if author_request.retried else author_request.response

    cast = Cast(write=second_time_right)
    settings = {"temperature": 0.2, "temperature_cap": 1.0, "seed": 40, "max_tokens": 321, "attempts": 3}
    made = run(cast, study("label_flip", data=items(1)), tmp_path / "run", **settings)
    assert states(made) == {"sky-0/label_flip/0": None}
    assert [round(c.temperature, 6) for c in asked] == [0.2, 0.6]
    assert re.search(r"turned down: .*given response", asked[1].prompt)
    bodies = [r.body for r in cast.received if r.body["model"] == "writer"]
    assert [(b["seed"], b["max_tokens"]) for b in bodies] == [(40, 321), (41, 321)]
    grades = [r.body for r in cast.received if r.body["model"] == "checker"]
    assert {(b["temperature"], b["max_tokens"]) for b in grades} == {(0.0, 512)}
    assert made.report[0].turned_down == {"copy": 1}
    assert made.report[0].rejected == {}


@pytest.mark.parametrize(
    "refusal",
    [
        says("No.", finish="content_filter"),
        says("I am sorry, but I cannot grade this."),
        says('{"score": 7}'),
    ],
)
def test_a_fallback_is_asked_where_the_validator_gives_no_score(tmp_path: Path, refusal: Answer) -> None:
    cast = Cast()

    def script(request: Any) -> Answer:
        answer = cast(request)
        return refusal if request.body["model"] == "checker" else answer

    with ScriptedServer(script) as server:
        made = author(study("label_flip"), roles(server, fallback=True), RunFolder(tmp_path / "run"), QUICK)
        alone = author(study("label_flip"), roles(server), RunFolder(tmp_path / "alone"), QUICK)
    assert set(states(made).values()) == {None}
    assert (made.stimuli[0].lineage.validation or "").startswith("openai/second gave 0")
    assert alone.report[0].rejected == {"no validator verdict": 4}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (says("I'm sorry, I can't help with that."), "author refused"),
        (says("", finish="content_filter"), "author refused"),
        (says("Here it is: the sky is red."), "no text"),
        (says("<text> The sky over", finish="length"), "cut off"),
        (says("<text>\n \n</text>"), "empty"),
        (fails(400, "maximum context length exceeded"), "call failed"),
    ],
)
def test_replies_without_a_text_have_reasons(tmp_path: Path, reply: Answer, reason: str) -> None:
    made = run(Cast(write=lambda _: reply), study("label_flip", data=items(2)), tmp_path / "run", attempts=1)
    assert made.report[0].rejected == {reason: 2}
    assert {s.lineage.review for s in made.stimuli} == {"rejected"}
    assert made.stimuli[0].texts == ("",)


def test_rejected_texts_stay_visible_and_are_never_judged(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    made = run(Cast(write=lambda c: c.response), study("label_flip"), folder, attempts=1)
    lines = [json.loads(line) for line in (folder / "stimuli.jsonl").read_text().splitlines()]
    kept = {line["id"]: line for line in lines}
    assert kept["sky-0/label_flip/0"]["lineage"]["review"] == "rejected"
    assert kept["sky-0/label_flip/0"]["lineage"]["validation"].startswith("copy: ")
    assert "sky-0/original" in kept
    judged = replace(study("label_flip"), authored=made.stimuli)
    probe = judged.build_probes()[0]
    assert list(probe.showings(judged.design, ["base"])) == []


def test_a_finished_author_is_not_asked_again(tmp_path: Path) -> None:
    cast = Cast()
    with ScriptedServer(cast) as server:
        who, folder = roles(server), RunFolder(tmp_path / "run")
        first = author(study("label_flip"), who, folder, QUICK)
        calls = cast.keys.total()
        again = author(study("label_flip"), who, folder, QUICK)
        assert again.stimuli == first.stimuli
        assert again.report == first.report
        assert (again.session.calls, cast.keys.total()) == (0, calls)
        more = author(study("label_flip", "semantic_paraphrase"), who, folder, QUICK)
        assert [s for s in more.stimuli if s.probe == "label_flip"] == list(first.stimuli)
        assert cast.keys.total() == calls + 4 + 4 + 4
        with pytest.raises(ConfigError, match="other settings of author and validator; restore"):
            author(
                study("label_flip"),
                replace(who, own=who.own.model_copy(update={"attempts": 2})),
                folder,
                QUICK,
            )
        other = [replace(item, responses=("Changed.",)) for item in items(4)]
        with pytest.raises(ConfigError, match="item 'sky-0', its task or the items shown"):
            author(study("label_flip", data=other), who, folder, QUICK)


def test_an_author_that_cannot_be_reached_stops_and_goes_on(tmp_path: Path) -> None:
    cast = Cast()
    broken = True

    def script(request: Any) -> Answer:
        answer = cast(request)
        return fails(503) if broken and request.body["model"] == "checker" else answer

    with ScriptedServer(script) as server:
        who, folder = roles(server), RunFolder(tmp_path / "run")
        with pytest.raises(
            RunError, match=r"4 of 4 texts wait for a reply .*503.* is kept, run again to continue"
        ):
            author(study("label_flip"), who, folder, QUICK)
        assert not folder.stimuli.exists()
        broken = False
        written = cast.calls["writer"]
        made = author(study("label_flip"), who, folder, QUICK)
    assert set(states(made).values()) == {None}
    assert cast.calls["writer"] == written == 4


def test_authors_are_paid_from_the_budget(tmp_path: Path) -> None:
    cast = Cast()
    with ScriptedServer(cast) as server:
        dear = parse_roles(
            {"model": f"openai/gpt-4o?base_url={server.url}", "max_tokens": 100},
            f"openai/gpt-4o-mini?base_url={server.url}",
        )
        folder = RunFolder(tmp_path / "run")
        with pytest.raises(
            BudgetError, match=r"authoring: the budget of \$0.004 is reached.* raise --budget"
        ):
            author(study(*WRITTEN), dear, folder, replace(QUICK, budget=0.004))
        spent = cast.calls["gpt-4o"]
        assert 0 < spent < 16
        made = author(study(*WRITTEN), dear, folder, replace(QUICK, budget=1.0))
    assert cast.calls["gpt-4o"] == 16
    # 100 + 5 tokens each: 16 texts of gpt-4o ($2.5 and $10 a million), 28 answers of gpt-4o-mini (0.15, 0.6)
    assert made.session.dollars == pytest.approx(16 * (250e-6 + 50e-6) + 28 * (15e-6 + 3e-6))


def test_an_unknown_price_refuses_a_budget(tmp_path: Path) -> None:
    with ScriptedServer(Cast()) as server, pytest.raises(ConfigError, match="author: no price is known"):
        author(study("label_flip"), roles(server), RunFolder(tmp_path / "r"), replace(QUICK, budget=1.0))


def test_synthetic_texts_fill_every_level(tmp_path: Path) -> None:
    cast = Cast()
    made = run(cast, study("synthetic_ordinal", data=essays(3), task=ORDINAL_TASK), tmp_path / "run")
    assert [s.expectation for s in made.stimuli] == [Label(str(n)) for n in range(1, 6)] * 3
    assert made.report[0].even
    assert [(b.level, b.filled, b.wanted) for b in made.report[0].buckets] == [(n, 3, 3) for n in "12345"]
    assert "levels filled evenly" in made.report[0].sentence()
    prompts = [r.user for r in cast.received if r.body["model"] == "writer"]
    # the example for level 2 is the item whose label is 2, and never the item itself
    second = {part(p, "request"): p for p in prompts if "score 2 on" in p}
    assert "Observer 1 has" in second["Which planets does observer 0 know?"]
    own = second["Which planets does observer 1 know?"]
    assert "Observer" not in own
    assert "example" not in own


def test_a_level_that_cannot_be_filled_is_said(tmp_path: Path) -> None:
    def never_five(asked: AuthorRequest) -> str:
        return obey(replace(asked, expected="4")) if asked.expected == "5" else obey(asked)

    data = essays(2)
    made = run(
        Cast(write=never_five), study("synthetic_ordinal", data=data, task=ORDINAL_TASK), tmp_path / "r"
    )
    report = made.report[0]
    assert [(b.level, b.filled, b.wanted) for b in report.buckets][-2:] == [("4", 2, 2), ("5", 0, 2)]
    assert "levels filled unevenly" in report.sentence()
    assert re.search(r"\b2 could not be", report.sentence())


def test_synthetic_texts_are_kept_apart(tmp_path: Path) -> None:
    """The same words for every level but one planet more: too close to each other."""

    def monotonous(asked: AuthorRequest) -> str:
        named = ", ".join(("mercury", "venus", "mars", "jupiter", "saturn")[: int(asked.expected or 1)])
        filler = (
            "it is well known to those who look up at night with patience and a good pair of glasses that"
        )
        return f"{filler} these wander among the fixed stars and have done so for a long time indeed: {named}"

    data = essays(1)
    made = run(
        Cast(write=monotonous), study("synthetic_ordinal", data=data, task=ORDINAL_TASK), tmp_path / "r"
    )
    assert made.report[0].rejected["too similar"] >= 2
    told = next(s.lineage.validation for s in made.stimuli if s.lineage.review == "rejected")
    assert told is not None
    assert "(cosine 0.9" in told


def test_a_copy_of_an_original_is_too_similar(tmp_path: Path) -> None:
    data = essays(5)
    texts = {item.label: item.responses[0] for item in data}
    cast = Cast(write=lambda asked: texts[asked.expected] + " Yes.")
    made = run(cast, study("synthetic_ordinal", data=data, task=ORDINAL_TASK), tmp_path / "r", attempts=1)
    assert made.report[0].rejected == {"too similar": 25}
    assert cast.calls["checker"] == 0


def review(folder: Path, change: Any) -> None:
    """Edit the lines of `stimuli.jsonl` by hand."""
    path = folder / "stimuli.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    kept = [line for line in lines if change(line) is not False]
    path.write_text("".join(json.dumps(line) + "\n" for line in kept))


class TestReview:
    @pytest.fixture
    def server(self) -> Any:
        with ScriptedServer(Cast()) as running:
            yield running

    def author(
        self, server: ScriptedServer, path: Path, probe: str = "label_flip", **options: Any
    ) -> GenerationResult:
        return author(study(probe), roles(server), RunFolder(path), QUICK, review=True, **options)

    def test_nothing_is_judged_before_acceptance(self, server: ScriptedServer, tmp_path: Path) -> None:
        made = self.author(server, tmp_path)
        assert set(states(made).values()) == {"pending"}
        (report,) = made.report
        assert (report.probe, report.asked, report.usable, report.pending) == ("label_flip", 4, 0, 4)
        with pytest.raises(ConfigError, match="4 of 4 written stimuli wait for review"):
            made.require_review(RunFolder(tmp_path))
        waiting = replace(study("label_flip"), authored=made.stimuli)
        assert not list(waiting.build_probes()[0].showings(waiting.design, ["base"]))

    def test_decisions_by_hand(self, server: ScriptedServer, tmp_path: Path) -> None:
        self.author(server, tmp_path)
        words = {"sky-0": "accepted", "sky-1": "rejected", "sky-2": "edited"}

        def decide(line: dict[str, Any]) -> None:
            word = words.get(line["lineage"]["parent"])
            if word and line["probe"] == "label_flip":
                line["lineage"]["review"] = word
                if word == "edited":
                    line["texts"] = [TYPED]

        review(tmp_path, decide)
        made = self.author(server, tmp_path)
        assert list(states(made).values()) == ["accepted", "rejected", "edited", "pending"]
        assert made.stimuli[2].texts == (TYPED,)
        assert made.report[0].rejected == {"by a person": 1}
        assert made.pending == 1
        (report,) = made.report
        assert (report.asked, report.usable, report.pending) == (4, 2, 1)
        assert (report.edited, report.reviewed) == (1, 2)
        assert "1 of 2 texts" in report.sentence()
        done = self.author(server, tmp_path, accept_all=True)
        assert list(states(done).values()) == ["accepted", "rejected", "edited", "accepted"]
        done.require_review(RunFolder(tmp_path))
        assert self.author(server, tmp_path).stimuli == done.stimuli

    def test_a_person_may_correct_the_label(self, server: ScriptedServer, tmp_path: Path) -> None:
        self.author(server, tmp_path, "semantic_paraphrase")

        def relabel(line: dict[str, Any]) -> None:
            if line["id"] == "sky-0/semantic_paraphrase/0":
                line["expectation"]["value"] = "0"
                line["lineage"]["review"] = "edited"

        review(tmp_path, relabel)
        made = self.author(server, tmp_path, "semantic_paraphrase", accept_all=True)
        assert made.stimuli[0].expectation == Label("0")
        assert made.stimuli[0].lineage.review == "edited"
        assert self.author(server, tmp_path, "semantic_paraphrase").stimuli == made.stimuli

    def test_a_flip_that_keeps_the_label_is_none(self, server: ScriptedServer, tmp_path: Path) -> None:
        self.author(server, tmp_path)

        def relabel(line: dict[str, Any]) -> None:
            if line["id"] == "sky-0/label_flip/0":
                line["expectation"]["value"] = "1"
                line["lineage"]["review"] = "edited"

        review(tmp_path, relabel)
        with pytest.raises(DataError, match="its label '1' is the item's own, so nothing was flipped"):
            self.author(server, tmp_path)

    @pytest.mark.parametrize(
        ("field", "value", "told"),
        [
            ("review", "ok", "found \"review\": 'ok', expected one of pending, accepted, edited, rejected"),
            ("review", "edited", 'says "edited" and its text and label are unchanged'),
            ("texts", ["Other words."], 'its text was changed; set its "review" to "edited"'),
            ("texts", [], "expected one text in a list"),
            ("request", "Why?", "'request' was changed, expected changes of texts, label and review only"),
            ("review", None, '"review" was taken away'),
            ("author", "me", "'lineage.author' was changed"),
            ("expectation", {"type": "Label", "value": "7"}, "found the label '7', expected one of 0, 1"),
            ("expectation", {"type": "Unknown"}, "found the label None, expected one of 0, 1"),
            (
                "expectation",
                {"type": "Label", "value": "1"},
                'its label was changed; set its "review" to "ed',
            ),
        ],
    )
    def test_wrong_edits_are_refused_in_a_sentence(
        self, server: ScriptedServer, tmp_path: Path, field: str, value: Any, told: str
    ) -> None:
        self.author(server, tmp_path)

        def edit(line: dict[str, Any]) -> None:
            if line["id"] == "sky-0/label_flip/0":
                (line["lineage"] if field in line["lineage"] else line)[field] = value

        review(tmp_path, edit)
        with pytest.raises(DataError) as caught:
            self.author(server, tmp_path)
        assert told in str(caught.value)
        assert "stimulus 'sky-0/label_flip/0'" in str(caught.value)

    def test_a_line_may_not_vanish(self, server: ScriptedServer, tmp_path: Path) -> None:
        self.author(server, tmp_path)
        review(tmp_path, lambda line: line["id"] != "sky-0/label_flip/0")
        with pytest.raises(DataError, match="'sky-0/label_flip/0' is missing; restore its line"):
            self.author(server, tmp_path)


def test_examples_and_comparisons_come_from_the_whole_file(tmp_path: Path) -> None:
    """Items that were not drawn are shown as examples and must not be copied; they are never judged."""
    drawn, undrawn = essays(5)[2:3], (*essays(5)[:2], *essays(5)[3:])
    made = replace(study("synthetic_ordinal", data=drawn, task=ORDINAL_TASK), undrawn=undrawn)
    cast = Cast()
    written = run(cast, made, tmp_path / "run")
    assert written.report[0].even
    prompts = {p.expected: p.prompt for p in _asked(cast)}
    for level, number in (("1", 0), ("2", 1), ("4", 3), ("5", 4)):
        assert f"Observer {number} has written" in prompts[level]
    assert "example" not in prompts["3"]  # the one item of this score is the one that is written for
    texts = {item.label: item.responses[0] for item in undrawn}
    copies = Cast(write=lambda asked: texts.get(asked.expected, "mars and venus, mercury too") + " Yes.")
    copied = run(copies, made, tmp_path / "copied", attempts=1)
    assert copied.report[0].rejected == {"too similar": 4}
    assert {s.lineage.parent for s in written.stimuli} == {drawn[0].id}


def test_the_number_of_examples_is_an_option_and_changed_examples_are_refused(tmp_path: Path) -> None:
    data = essays(11)
    made = replace(study("synthetic_ordinal", data=data[:1], task=ORDINAL_TASK), undrawn=data[1:])
    other = replace(made, undrawn=tuple(replace(i, responses=(i.responses[0] + "!",)) for i in data[1:]))
    cast = Cast()
    with ScriptedServer(cast) as server:
        for count in (0, 2):
            who = roles(server, exemplars=count)
            author(made, who, RunFolder(tmp_path / str(count)), QUICK)
        with pytest.raises(ConfigError, match="the items shown as examples have changed"):
            author(other, who, RunFolder(tmp_path / "2"), QUICK)
    second = [p.prompt.count("has written down") for p in _asked(cast) if p.expected == "2"]
    assert second == [0, 2]


def _asked(cast: Cast) -> list[AuthorRequest]:
    """What the author was asked, in order."""
    return [author_request("synthetic_ordinal", r) for r in cast.received if r.body["model"] == "writer"]


def test_several_texts_for_each_level(tmp_path: Path) -> None:
    data = essays(2)
    twice = replace(
        study(data=data, task=ORDINAL_TASK), probes=(Spec("synthetic_ordinal", {"texts": 2, "sample": 1}),)
    )

    def own_line(asked: AuthorRequest) -> str:
        return obey(asked) + (" Otherwise." if "number 2 of several" in asked.prompt else "")

    cast = Cast(write=own_line)
    made = run(cast, twice, tmp_path / "run", similarity="off")
    assert [s.expectation for s in made.stimuli] == [Label(str(n)) for n in (*range(1, 6), *range(1, 6))]
    assert len({s.lineage.parent for s in made.stimuli}) == 1
    assert len({s.texts for s in made.stimuli}) == 10
    assert [(b.level, b.filled, b.wanted) for b in made.report[0].buckets] == [(n, 2, 2) for n in "12345"]
    assert cast.calls["writer"] == 10


def test_a_text_that_misses_its_level_may_be_kept_at_the_level_it_got(tmp_path: Path) -> None:
    def never_five(asked: AuthorRequest) -> str:
        return obey(replace(asked, expected="4")) + " again" if asked.expected == "5" else obey(asked)

    cast = Cast(write=never_five)
    made = run(
        cast,
        study("synthetic_ordinal", data=essays(2), task=ORDINAL_TASK),
        tmp_path / "r",
        off_target="keep",
        similarity="off",
    )
    fifth = [stimulus for stimulus in made.stimuli if stimulus.id.endswith("/4")]
    assert {(s.expectation, s.lineage.review) for s in fifth} == {(Label("4"), None)}
    assert re.match(r"openai/checker gave 4, .* 5 .* 4$", fifth[0].lineage.validation or "")
    assert fifth[0].lineage.edit.endswith(" score: 5")
    counted = [(b.level, b.filled, b.wanted) for b in made.report[0].buckets]
    assert counted[-2:] == [("4", 4, 2), ("5", 0, 2)]
    assert re.search(r"4: 4 for 2, 5: 0 for 2\), 2 fewer .*, 2 more", made.report[0].sentence())
    assert cast.calls["writer"] == 2 * (4 + 3)


def test_the_comparison_of_texts_can_be_left_out(tmp_path: Path) -> None:
    texts = {item.label: item.responses[0] for item in essays(5)}
    cast = Cast(write=lambda asked: texts[asked.expected] + " Yes.")
    made = run(
        cast,
        study("synthetic_ordinal", data=essays(5), task=ORDINAL_TASK),
        tmp_path / "r",
        attempts=1,
        similarity="off",
    )
    assert "too similar" not in made.report[0].rejected
    assert made.report[0].usable == 25


def test_a_probe_may_take_fewer_items_than_the_study(tmp_path: Path) -> None:
    probes = (Spec("label_flip", {"sample": 3}), Spec("typos", {"sample": 5}))
    few = replace(study(data=items(8)), probes=probes)
    made = run(Cast(), few, tmp_path / "run")
    assert made.report[0].asked == 3
    shown = {
        probe.name: {s.stimulus.lineage.parent for s in probe.showings(few.design, ["base"])}
        for probe in few.build_probes()
    }
    assert len(shown["typos"]) == 5
    assert {s.lineage.parent for s in made.stimuli} < shown["typos"]  # a larger sample holds the smaller
    with pytest.raises(ConfigError, match="probe 'typos': sample: found 0, expected a number from 1 on"):
        replace(few, probes=(Spec("typos", {"sample": 0}),)).build_probes()
