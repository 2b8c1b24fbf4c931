"""Take the pictures of the documents anew, from runs made here: `python docs/pictures.py`; needs Chromium.

The run is the demonstration, two embedded judges, unless a run folder is named. What is reviewed on the
pictures of the session is written here, since a picture should need no key.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from steelyard.review.session import ReviewSession, VoteRequest
from steelyard.review.stimuli_file import under_review, write_stimuli
from steelyard.review.votes import start_review
from steelyard.run_folder.run_folder import RunFolder
from steelyard.stimuli.brief import LABEL_FLIP, PARAPHRASE, Brief
from steelyard.stimuli.original import original_of
from steelyard.stimuli.stimulus import Label, Lineage, Stimulus
from steelyard.store.authoring import AuthoredStimulus
from steelyard.tasks.task import Binary, Item, Task
from steelyard.tasks.transcripts.transcript import (
    Block,
    ToolCall,
    Transcript,
    Turn,
    changes,
    render_transcript,
)
from steelyard.web.review_app import ReviewPages
from steelyard.web.server import Server
from steelyard.web.view_app import ViewPages

if TYPE_CHECKING:
    from playwright.sync_api import Page

IMAGES = Path(__file__).parent / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT = 1280, 1180
"""Of the picture at the head of README, in pixels; the others are less high."""
LOWER = 860
STEP_TIMEOUT = 300_000
"""Milliseconds for one step of a page; a busy machine takes a minute to compare two judges."""

TASK = Task(
    "Decide whether the answer is right.",
    "Right is an answer that says what happens and why. Length and style do not count.",
    Binary(),
)
ASKED = "Why does bread dough rise?"
RIGHT = (
    "Yeast feeds on sugars in the dough and gives off carbon dioxide. The gluten holds the gas in small "
    "bubbles, so the dough grows. Warmth makes the yeast work faster."
)
FLIPPED = (
    "Yeast feeds on salt in the dough and gives off oxygen. The gluten lets the gas out in small bubbles, "
    "so the dough grows. Warmth makes the yeast work faster."
)
REWORDED = (
    "Dough grows because yeast turns its sugars into carbon dioxide, which the stretchy gluten traps as "
    "bubbles; the warmer it is, the quicker that goes."
)


def browser() -> str:
    """The first browser that is installed."""
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    sys.exit("docs/pictures.py: no browser found, expected one of " + ", ".join(BROWSERS) + "; install it.")


def written(folder: RunFolder) -> None:
    """A folder as an author leaves it: two texts to review, and a run of an agent."""
    folder.path.mkdir(parents=True)
    item = Item("bread-rises", ASKED, (RIGHT,), "bread-rises", label="1")
    texts = [
        Brief(LABEL_FLIP, item, 0, LABEL_FLIP, "0").to_stimulus(FLIPPED, TASK, "openai/gpt-4o"),
        Brief(PARAPHRASE, item, 0, PARAPHRASE, "1").to_stimulus(REWORDED, TASK, "openai/gpt-4o"),
        agent_run(),
    ]
    rows = [AuthoredStimulus(text).row("brief", "roles") for text in texts]
    with folder.store() as store, ThreadPoolExecutor(1) as apart:  # the browser has a loop of its own
        apart.submit(lambda: asyncio.run(store.save_authored(rows))).result()
    start_review(folder, TASK)
    write_stimuli(folder.stimuli, [original_of(item, TASK), *under_review(texts)])


def agent_run() -> Stimulus:
    """A run in which one message was edited so that it breaks the rubric."""
    search = ToolCall("call-1", "search_tables", {"people": 2, "time": "20:00"})
    before = Transcript(
        "table-for-two",
        (
            _turn("system", "You book tables. Confirm before you book. " * 20),
            _turn("user", "A table for two at eight, please."),
            Turn("assistant", (Block("text", "I look for a table at eight."),), calls=(search,)),
            Turn(
                "tool",
                (Block("text", '{"free": ["20:00", "20:30"]}'),),
                call="call-1",
                function="search_tables",
            ),
            _turn("assistant", "There is a table at eight. Shall I book it for you?"),
        ),
    )
    after = before.with_turns({4: _turn("assistant", "I have booked the table at eight for you.")})
    return Stimulus(
        id="table-for-two/agent_violation/0",
        probe="agent_violation",
        kind="perturbed",
        cluster="table-for-two",
        stratum="booking",
        request=before.request,
        texts=(render_transcript(after),),
        expectation=Label("0"),
        lineage=Lineage("table-for-two", "one message edited so that it breaks the rubric", "openai/gpt-4o"),
        scale="binary",
        transcript=after,
        changes=changes(before, after),
    )


def _turn(role: str, text: str) -> Turn:
    return Turn(role, (Block("text", text.strip()),))


@contextmanager
def served(app: Callable[[Server], ASGIApp]) -> Iterator[str]:
    """The address of a server, for as long as pictures are taken."""
    server, ready = Server("127.0.0.1", 0), threading.Event()
    thread = threading.Thread(target=server.serve, args=(app(server), lambda _: ready.set()), daemon=True)
    thread.start()
    ready.wait()
    yield server.access.url()
    server.stop()
    thread.join()


def take(page: Page, name: str) -> None:
    """The window, as a picture of the documents."""
    page.mouse.move(0, 0)
    page.screenshot(path=IMAGES / name)
    print(f"wrote {IMAGES / name}")


def of_review(page: Page) -> None:
    """The session with a text, and with a run of an agent."""
    folder = RunFolder(Path("my-study"))
    written(folder)
    session = ReviewSession(folder.path)
    session.decide(session.items()[f"bread-rises/{PARAPHRASE}/0"], "Grace", VoteRequest("accepted"), 0)
    with served(lambda server: ReviewPages(session, "Ada", stopping=lambda: server.stopping).app()) as url:
        page.goto(url)
        page.locator("#diff ins").first.wait_for()
        take(page, "review.png")
        page.goto(f"{url.partition('?')[0]}?item=table-for-two%2Fagent_violation%2F0")
        page.locator(".turn-diff ins").first.wait_for()
        page.locator(".turn.assistant").first.evaluate("turn => scrollTo(0, turn.offsetTop - 110)")
        take(page, "review-run.png")
    session.close()


def of_view(page: Page, folder: Path) -> None:
    """The datasheet, the calls behind a number, one call, two judges compared."""
    pages = ViewPages([folder])
    pages.runs[0].load()
    with served(lambda _: pages.app()) as url:
        home = url.partition("?")[0]
        page.goto(url)
        page.goto(f"{home}run/0/")
        page.locator(".answer .held.flagged a.behind").first.click()
        page.locator("table.calls").wait_for()
        take(page, "calls.png")
        page.locator("table.calls tbody th a").first.click()
        page.locator("#reply-h").wait_for()
        take(page, "call.png")
        page.goto(home)
        page.get_by_role("button", name="Compare").click()
        page.locator("#fig-forest").wait_for()
        page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        take(page, "comparison.png")


def main() -> None:
    """Measure, unless a folder is given, and take the pictures."""
    from playwright.sync_api import sync_playwright

    with (
        tempfile.TemporaryDirectory(prefix="steelyard-pictures-") as scratch,
        sync_playwright() as playwright,
    ):
        folder = Path(scratch) / "demo"
        if len(sys.argv) > 1:
            shutil.copytree(sys.argv[1], folder)
        else:
            subprocess.run([sys.executable, "-m", "steelyard", "measure", "--out", str(folder)], check=True)
        os.chdir(scratch)  # a picture shows names of folders, not where they lie
        folder = Path("demo")
        window = playwright.chromium.launch(executable_path=browser(), args=["--no-sandbox"])
        page = window.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.set_default_timeout(STEP_TIMEOUT)
        page.goto((folder / "datasheet.html").resolve().as_uri())
        take(page, "datasheet.png")
        page.set_viewport_size({"width": WIDTH, "height": LOWER})
        of_review(page)
        of_view(page, folder)
        window.close()


if __name__ == "__main__":
    main()
