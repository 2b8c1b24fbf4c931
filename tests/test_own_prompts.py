"""What an author is told, in a study's own words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from authored_study import model, write_study
from authoring_server import Cast
from commands import Command
from review_sessions import Client, serving
from servers import ScriptedServer
from steelyard.errors import ConfigError
from steelyard.review.session import ReviewSession
from steelyard.study.judge_config import parse_judge
from steelyard.study.role_config import parse_roles
from steelyard.study.study_file import build_study, load_config
from steelyard.tasks.task import Binary
from steelyard.web.review_app import ReviewPages

OWN = "Rewrite the response below so that the rubric gives it {{ expected }}, boldly."
WRITER, CHECKER = "openai/writer?base_url=http://127.0.0.1:9", "openai/checker?base_url=http://127.0.0.1:9"


def test_the_author_is_told_in_the_words_of_the_study_and_the_page_shows_them(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer
) -> None:
    author = {"model": model("writer", server), "prompts": {"label_flip": OWN}}
    write_study(tmp_path, server, review=True, probes=["label_flip"], author=author, count=2)
    done = command("generate", "study.yaml", "--out", "run")
    assert done.code == 0, done.err
    to = f" go to {server.url} with the key in OPENAI_API_KEY (not set).\n"
    assert done.err == "".join(f"steelyard: calls of {role}{to}" for role in ("author", "validator"))
    sent = [json.dumps(request.body) for request in cast.received if request.body["model"] == "writer"]
    assert len(sent) == 2
    assert all("boldly." in prompt for prompt in sent)
    session = ReviewSession(tmp_path / "run")
    with serving(lambda _: ReviewPages(session, "Ada").app()) as pages:
        text = Client.of(pages).get("/templates").text
    session.close()
    assert "boldly." in text
    assert "validator: grade" in text
    write_study(tmp_path, server, review=True, probes=["label_flip"], count=2)
    other = command("generate", "study.yaml", "--out", "run")
    assert other.code == 2
    assert "other settings of author" in other.err


@pytest.mark.parametrize("front", ["---\ntitle: mine\ntags:\n  - a\n\n# x\n---\n", "\n--- \nv: 1\n---\n"])
def test_front_matter_of_a_template_is_not_sent_and_said(
    tmp_path: Path, server: ScriptedServer, front: str
) -> None:
    (tmp_path / "mine.md").write_text(front + "{{ rubric }} {{ request }} {{ response }}")
    judge = {"name": "j", "model": model("grader", server), "prompt": "mine.md"}
    author = {"model": model("writer", server), "prompts": {"label_flip": front + OWN}}
    write_study(tmp_path, server, judges=[judge], author=author, probes=["label_flip"])
    study = build_study(load_config(tmp_path / "study.yaml", {}), tmp_path)
    assert [note for note in study.notes if "front matter" in note] == [
        "judge 'j': prompt mine.md: begins with front matter (--- … ---), which is not sent.",
        "author.prompts.label_flip: begins with front matter (--- … ---), which is not sent.",
    ]
    assert study.judges[0].protocols["base"].user == "{{ rubric }} {{ request }} {{ response }}"


@pytest.mark.parametrize("front", ["---\nJudge this text.\n---\n", "---\nQuestion: {request}\n---\n"])
def test_lines_of_dashes_around_the_words_of_a_prompt_are_sent(front: str) -> None:
    judge = {"name": "j", "model": WRITER, "prompt": front + "{response}\n"}
    sent = parse_judge(judge, Path(), Binary()).protocols["base"].user
    assert sent.startswith("---\n")
    assert sent.count("---") == 2


def test_the_usual_words_leave_the_identity_of_the_authors_alone() -> None:
    plain, own = (parse_roles({"model": WRITER, "prompts": p}, CHECKER) for p in ({}, {"label_flip": OWN}))
    assert plain.hash == parse_roles(WRITER, CHECKER).hash != own.hash
    assert "prompts" not in plain.settings()["author"]
    assert own.settings()["author"]["prompts"] == {"label_flip": OWN}


@pytest.mark.parametrize(
    ("prompts", "told"),
    [
        ({"label_flop": "x"}, "found 'label_flop'"),
        ({"label_flip": " "}, "found an empty text"),
        ({"label_flip": "{{ secret }}"}, "unknown variable 'secret'"),
        ({"label_flip": "{% for"}, "not a valid Jinja2 template"),
    ],
)
def test_words_that_make_no_sense_are_refused(prompts: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        parse_roles({"model": WRITER, "prompts": prompts}, CHECKER)
