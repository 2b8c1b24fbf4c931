"""Reports of every kind beside the datasheet, made by the command with a fixed seed and without a network."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from commands import run_command
from record.render import WIDE, normalised, page_text
from steelyard import __version__
from test_decide import RULE
from test_estimate_command import RANDOM, write_support
from test_labels import fill
from test_leaderboard import RANKED, write_scores
from test_people import TOLD, write, write_categories
from test_trust_command import CASCADE, FIT, audited, trust_of, write_verdicts

EXAMPLES = Path(__file__).parents[2] / "examples"
VOTES = (
    *("leaderboard", "votes.csv", "--judge", "verdict"),
    *("--columns", "item=id,system_a=model_a,system_b=model_b"),
)
SCORED = ("r.csv", "--judge", "verdict")
COMPARE = ("compare", "run0", "run1")
CHECK = ("trust", "check", "trust.json", "audited.csv")
DECIDED = ("planted/tie", "planted/first", "planted/probit?tau=2.2")


class Report(NamedTuple):
    words: tuple[object, ...]
    """The command that prints it."""
    prepare: Callable[[Path], object] = lambda _: None
    """What has to be in the folder."""
    code: int = 0
    file: str = ""
    """Where it is written; empty where it is printed."""


def _verdicts(rows: int = 600, labelled: int = 400) -> Callable[[Path], None]:
    return lambda folder: write_verdicts(folder / "verdicts.csv", rows, labelled)


def _audited(error: float) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        _verdicts()(folder)
        run_command(folder, *FIT)
        audited(folder / "audited.csv", trust_of(folder), error)

    return prepare


def _of_every_kind(folder: Path) -> None:
    """A verdict that is accepted, one that is to be asked for, and three that go to people."""
    _audited(0)(folder)
    rows = ("a,unreadable,0.99", "b,1,", "c,1,0.99", "d,,0.99", "e,0,0.1")
    (folder / "fresh.csv").write_text("\n".join(["item,verdict,confidence", *rows]) + "\n")


def _votes(folder: Path) -> None:
    shutil.copy(EXAMPLES / "votes.csv", folder)


def _ranked(*systems: str) -> Callable[[Path], None]:
    return lambda folder: write_scores(folder, systems, 60)


def _all_ties(folder: Path) -> None:
    rows = "".join(f"{n},{'pqr'[n % 3]},{'pqr'[(n + 1) % 3]},tie\n" for n in range(60))
    (folder / "r.csv").write_text("item,system_a,system_b,j\n" + rows)


def _scored(*commands: tuple[object, ...]) -> Callable[[Path], None]:
    """Scores of 200 texts, and commands on them; sheets are filled in once they are drawn."""

    def prepare(folder: Path) -> None:
        rows = "".join(f"q{n},because {n},{4 + n % 2}\n" for n in range(200))
        (folder / "r.csv").write_text("item,response,verdict\n" + rows)
        for words in commands:
            run_command(folder, "labels", *words)
            if words[0] == "draw":
                fill(folder / "d", lambda item: 4 + int(item[1:]) % 2)

    return prepare


DRAW = ("draw", *SCORED, "-n", 40, "--tune", 10, "--out", "d")


def _measured(*judges: str) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        for number, judge in enumerate(judges):
            run_command(
                folder, "measure", "-j", judge, "-p", "vacuum", "-p", "ladder", "--out", f"run{number}"
            )

    return prepare


_TWO = _measured("planted/first", "planted/probit")
REPORTS = {
    "trust-fit": Report(FIT, _verdicts()),
    "trust-fit-page": Report((*FIT, "--html", "page.html"), _verdicts(), file="page.html"),
    "trust-fit-chosen": Report((*FIT, "--signal", "noise", "--error", "0.15"), _verdicts()),
    "trust-fit-one-sided": Report(
        (*FIT, "--only", "pass", "--columns", "task=topic", "--error", "0.2"), _verdicts()
    ),
    "trust-fit-cascade": Report(
        (*CASCADE, "--price", "quick=1", "--price", "verdict=40", "--price", "people=900"),
        _verdicts(2000, 1200),
    ),
    "trust-fit-refused": Report(FIT, _verdicts(40, 40), code=4),
    "trust-apply": Report(("trust", "apply", "trust.json", "fresh.csv"), _of_every_kind),
    "trust-check": Report(CHECK, _audited(0.05)),
    "trust-check-broken": Report(CHECK, _audited(0.2), code=3),
    "estimate": Report(("estimate", "r.csv", *RANDOM), write_support),
    "estimate-methods": Report(("estimate", "r.csv", *RANDOM, "--methods"), write_support),
    "estimate-drawn": Report(
        ("estimate", *SCORED, "--labels", "d"), _scored(DRAW, ("add", "d", "d/sheet.csv"), ("open", "d"))
    ),
    "leaderboard": Report((*VOTES, "--people", "human", "--design", "random"), _votes),
    "leaderboard-page": Report(
        (*VOTES, "--people", "human", "--design", "random", "--html", "page.html"), _votes, file="page.html"
    ),
    "leaderboard-not-drawn": Report(VOTES, _votes),
    "leaderboard-alone": Report(RANKED[:4], _ranked("gpt-4", "claude-2", "mine")),
    "leaderboard-own-family": Report(RANKED, _ranked("gpt-4", "claude-2", "mine")),
    "leaderboard-told-apart": Report((*RANKED, "--separate", "q", "p"), _ranked("p", "q", "r")),
    "leaderboard-separate": Report((*RANKED, "--separate", "q", "r"), _ranked("p", "q", "r")),
    "leaderboard-ties": Report(("leaderboard", "r.csv", "--judge", "j"), _all_ties),
    "people": Report(TOLD, lambda folder: write(folder, 0.95)),
    "people-below": Report(TOLD, lambda folder: write(folder, 0.5)),
    "people-categories": Report(TOLD, lambda folder: write_categories(folder, j="As an AI model I")),
    "labels-plan": Report(("labels", "plan", *SCORED), _scored()),
    "labels-draw": Report(("labels", *DRAW), _scored()),
    "labels-add": Report(("labels", "add", "d", "d/sheet.csv"), _scored(DRAW)),
    "labels-status": Report(("review", "d", "--label", "--status"), _scored(DRAW), code=1),
    "compare": Report(COMPARE, _TWO),
    "compare-full": Report((*COMPARE, "--full"), _TWO),
    "compare-page": Report((*COMPARE, "--html", "page.html"), _TWO, file="page.html"),
    "compare-alike": Report(COMPARE, _measured("planted/first", "planted/first?name=same")),
    "gate": Report(("gate", "run0", "--policy", "default"), _measured("planted/first"), code=3),
    "until": Report(
        ("measure", "--until", RULE, *(part for judge in DECIDED for part in ("-j", judge)), "--cap", "60")
    ),
}


def printed(name: str, folder: Path) -> str:
    report = REPORTS[name]
    report.prepare(folder)
    done = run_command(folder, *report.words, code=report.code, COLUMNS=f"{WIDE}", NO_COLOR="1")
    page = (folder / report.file).read_text(encoding="utf-8") if report.file else ""
    text = page_text(page) if page else done.out + done.err
    return normalised(text.replace(__version__, "VERSION"), folder / "run0")
