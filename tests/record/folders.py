"""Run folders of every kind, made by the command with a fixed seed and without a network."""

from __future__ import annotations

import csv
import fcntl
import json
import shutil
import socket
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from commands import run_command
from installed_packages import packages
from servers import Answer, Received, ScriptedServer, fails, wins
from test_plugin import EXAMPLES, install

RUN = "run"
"""The folder of a run, inside the folder that its command stands in."""
STRATA = ("account", "billing: refunds (2024)", "returns", "shipping")
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "knoll")
SLOW = ("--attempts", 1, "--backoff", 0.01, "--concurrency", 1, "--no-preflight")
STANDARD = ("--profile", "standard")
Make = Callable[[Path], None]


def _run(folder: Path, *words: object, code: int = 0) -> None:
    run_command(folder, *words, "--out", RUN, code=code, COLUMNS="100", NO_COLOR="1")


def _each(option: str, values: Iterable[str]) -> list[str]:
    return [part for value in values for part in (option, value)]


def _built_in(*judges: str, probes: str = "vacuum ladder", more: Sequence[object] = ()) -> Make:
    """Pairs of the catalogue, or texts of the pack."""
    named = [*_each("-j", judges), *_each("-p", probes.split())]
    return lambda folder: _run(folder, "measure", *named, *more)


def _text(chance: Random, mark: int, words: int | None = None) -> str:
    drawn = " ".join(chance.choices(WORDS, k=words or chance.randint(30, 90)))
    return f"{drawn.capitalize()}. It has mark {mark}."


def _csv(path: Path, header: str, rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header.split(), *rows])


def _jsonl(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _measure_data(folder: Path, judges: Iterable[str], file: str, columns: str, *more: object) -> None:
    (folder / "rubric.md").write_text("The higher, the better.\n", encoding="utf-8")
    data = ("--data", file, "--columns", columns, "--rubric", "rubric.md")
    _run(folder, "measure", *_each("-j", judges), *data, *more)


def _rows(*judges: str, scale: str = "binary", count: int = 120, probes: str = "stochastic_stability",
          more: Sequence[object] = ()) -> Make:  # fmt: skip
    """Single texts of one's own with labels, each level as often as the others."""

    def make(folder: Path) -> None:
        chance, levels = Random(7), (0, 1) if scale == "binary" else (1, 2, 3, 4, 5)
        rows = []
        for n in range(count):
            label, topic = levels[n % len(levels)], STRATA[n // 2 % len(STRATA)]
            rows.append((n, f"Case {n} about {topic}?", _text(chance, label), label, topic))
        _csv(folder / "rows.csv", "id request response label topic", rows)
        columns = "id=id,request=request,response=response,label=label"
        with_probes = ("--scale", scale, *_each("-p", probes.split()))
        _measure_data(folder, judges, "rows.csv", columns, *with_probes, *more)

    return make


def _natural(judge: str, longer: float = 0.5) -> Make:
    """Pairs of one's own; people chose the longer text in this share."""

    def make(folder: Path) -> None:
        chance, rows = Random(7), []
        for n in range(80):
            long_first, long_wins = chance.random() < 0.5, chance.random() < longer
            marks = (4, 2) if long_first == long_wins else (2, 4)
            sizes = (75, 45) if long_first else (45, 75)
            texts = [_text(chance, *each) for each in zip(marks, sizes, strict=True)]
            rows.append((n, f"Case {n}?", *texts, 1 if marks[0] == 4 else 2))
        _csv(folder / "pairs.csv", "id request a b label", rows)
        columns = "id=id,request=request,response_1=a,response_2=b,label=label"
        _measure_data(folder, [judge], "pairs.csv", columns, "--scale", "pairwise")

    return make


def _best_of(judge: str) -> Make:
    def make(folder: Path) -> None:
        chance, lines = Random(7), []
        for n in range(60):
            best = chance.randint(1, 4)
            said = [_text(chance, 4 if k == best else 2) for k in (1, 2, 3, 4)]
            lines.append({"q": f"Case {n}?", "said": said, "best": best})
        _jsonl(folder / "rows.jsonl", lines)
        columns = "request=q,responses=said,label=best"
        _measure_data(folder, [judge], "rows.jsonl", columns, "--scale", "best-of-4")

    return make


def _refusing(folder: Path) -> None:
    """A port that is taken and at which nobody listens, beside a judge that answers."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        judge = f"openai/m?base_url=http://127.0.0.1:{bound.getsockname()[1]}/v1&name=silent"
        _run(folder, "measure", "-j", judge, "-j", "planted/tie", "-p", "vacuum", *SLOW, code=1)


def _dying(folder: Path) -> None:
    """A server that answers two requests and no other."""
    requests = count()

    def answer(_: Received) -> Answer:
        return wins("tie") if next(requests) < 2 else fails(400)

    with ScriptedServer(answer) as server:
        judge = f"openai/m?base_url={server.url}&name=dying"
        _run(folder, "measure", "-j", judge, "-p", "vacuum", *SLOW)


def _partial(folder: Path) -> None:
    """A run of which every other reply is gone."""
    _rows(SHARP)(folder)
    connection = sqlite3.connect(folder / RUN / "run.db")
    trials = connection.execute("SELECT trial FROM replies ORDER BY trial").fetchall()
    connection.executemany("DELETE FROM replies WHERE trial = ?", trials[::2])
    connection.commit()
    connection.close()


def _plugin(folder: Path) -> None:
    for example in EXAMPLES:
        install(example, folder / "site")
    with packages(str(folder / "site")):
        _built_in("planted/first", probes="example_probe")(folder)


def _import_scores(folder: Path) -> None:
    chance = Random(7)
    rows = [(n, int(chance.random() < (0.9 if n % 2 else 0.15)), n % 2, STRATA[n % 4]) for n in range(100)]
    _csv(folder / "mine.csv", "id verdict human topic", rows)
    columns = "item=id,score=verdict,expected=human,stratum=topic"
    _run(folder, "import", "mine.csv", "--columns", columns, "--judge", "recorded")


def _import_unlabelled(folder: Path) -> None:
    chance = Random(7)
    _csv(folder / "mine.csv", "id verdict", [(n // 2, chance.randint(1, 5)) for n in range(80)])
    columns = ("--columns", "item=id,score=verdict", "--judge", "recorded", "--scale", "1-5")
    _run(folder, "import", "mine.csv", *columns)


def _import_pairs(first: str = "uv", *, labelled: bool = True) -> Make:
    """Natural pairs recorded elsewhere, shown with these contents first."""

    def make(folder: Path) -> None:
        chance, lines = Random(7), []
        for n in range(60):
            better, right = chance.choice("uv"), chance.random() < 0.85
            pair = {"judge": "recorded", "probe": "position", "kind": "natural", "pair": f"p{n}"}
            pair |= {"better": better} if labelled else {}
            lines += [{**pair, "first": u, "answer": "1" if (u == better) == right else "2"} for u in first]
        _jsonl(folder / "verdicts.jsonl", lines)
        _run(folder, "import", "verdicts.jsonl")

    return make


def _rater(name: str, sensitivity: float, specificity: float, noise: float = 0, **more: float) -> str:
    others = "".join(f"&{key}={value}" for key, value in more.items())
    return (
        f"planted/rater?sensitivity={sensitivity}&specificity={specificity}&noise={noise}{others}&name={name}"
    )


def _mine(function: str) -> str:
    return f"python/record.judges:{function}?name={function}"


SHARP = _rater("sharp", 0.97, 0.96, 0.02)
LENIENT = _rater("lenient", 0.98, 0.6, 0.02)
NOISY = _rater("noisy", 0.97, 0.97, 0.5)
SOUND = "planted/probit?s=5&sigma=0&beta=0&tau=2.5&name=sound"
LEANING = "planted/probit?s=4.2&sigma=0&beta=1.9&tau=2.5&name=leaning"
BLUNT = "planted/probit?s=0.3&tau=0.3&name=blunt"
SWAYED = "planted/probit?s=3&sigma=0&beta=0&tau=1&worth=3&name=swayed"
STUBBORN = "planted/constant?value=1&name=stubborn"

FOLDERS: Mapping[str, Make] = {
    "pairs-sound-standard": _built_in(SOUND, more=STANDARD),
    "pairs-leaning-standard": _built_in(LEANING, more=STANDARD),
    "pairs-sound-quick": _built_in(SOUND),
    "pairs-blunt-quick": _built_in(BLUNT),
    "pairs-lapsing-quick": _built_in("planted/probit?s=5&tau=2.5&lapse=0.6&name=lapsing"),
    "pairs-wordy-quick": _built_in("planted/probit?s=1&sigma=4&beta=0&tau=0.5&name=wordy"),
    "pairs-longer-preferred-quick": _built_in("planted/probit?s=2&beta=0&tau=1&length=8&name=pulled"),
    "pairs-longest-quick": _built_in("planted/longest"),
    "pairs-coin-quick": _built_in("planted/coin"),
    "pairs-always-first-quick": _built_in("planted/first"),
    "pairs-always-tie-quick": _built_in("planted/tie"),
    "pairs-repeated-quick": _built_in(LEANING, more=("--replicates", 3)),
    "pairs-criterion-quick": _built_in(LEANING, probes="vacuum ladder criterion"),
    "pairs-nothing-only": _built_in(SOUND, probes="vacuum"),
    "tradeoff-two-cues-quick": _built_in(SWAYED, probes="tradeoff"),
    "tradeoff-four-cues-standard": _built_in(SWAYED, probes="tradeoff", more=STANDARD),
    "tradeoff-two-cues-of-rows": _rows(
        _rater("swayed", 0.95, 0.95, 0.02, worth=2), scale="1-5", count=60, probes="tradeoff"
    ),
    "rows-sharp": _rows(SHARP, probes="vacuum format_invariance_1 stochastic_stability"),
    "rows-lenient": _rows(LENIENT),
    "rows-reversed": _rows(_rater("reversed", 0.05, 0.05)),
    "rows-constant": _rows(STUBBORN),
    "rows-noisy": _rows(NOISY),
    "rows-by-wording": _rows(_rater("by-wording", 1, 1, wording=0.4), probes="typos markdown"),
    "rows-by-length": _rows(_rater("by-length", 1, 1, length=0.6)),
    "rows-lost-calls": _rows(_mine("marker")),
    "rows-equal-errors": _rows(_mine("six_of_sixty")),
    "rows-strata": _rows(_mine("by_topic"), more=("--stratify", "topic")),
    "scores-sharp": _rows(SHARP, scale="1-5"),
    "scores-lenient": _rows(_mine("generous"), scale="1-5"),
    "scores-noisy": _rows(NOISY, scale="1-5"),
    "scores-constant": _rows("planted/constant?value=3&name=constant", scale="1-5"),
    "label-flips": _built_in(SHARP, probes="label_flip", more=("--scale", "binary", *STANDARD)),
    "label-flips-missed": _built_in(STUBBORN, probes="label_flip", more=("--scale", "binary", *STANDARD)),
    "written-levels": _built_in(SHARP, probes="synthetic_ordinal", more=("--scale", "1-6", *STANDARD)),
    "runs-sharp-quick": _built_in(SHARP, probes="agentic"),
    "runs-lenient-standard": _built_in(_rater("passing", 1, 0.3, middle=1), probes="agentic", more=STANDARD),
    "natural-good": _natural(_mine("better")),
    "natural-lost-calls": _natural(_mine("losing")),
    "natural-longer-preferred": _natural(_mine("longer"), longer=0.9),
    "best-of-good": _best_of("planted/chooser?accuracy=0.9&bias=0&name=chooser"),
    "best-of-leaning": _best_of("planted/chooser?accuracy=0.9&bias=0.5&slot=2&name=leaning"),
    "server-refuses": _refusing,
    "server-dies": _dying,
    "partial": _partial,
    "judges-two-pairs": _built_in(SOUND, "planted/first"),
    "judges-three-rows": _rows(SHARP, LENIENT, NOISY),
    "judges-five-pairs": _built_in(SOUND, LEANING, BLUNT, "planted/coin", "planted/tie"),
    "import-scores": _import_scores,
    "import-scores-unlabelled": _import_unlabelled,
    "import-pairs": _import_pairs(),
    "import-pairs-one-order": _import_pairs("u"),
    "import-pairs-unlabelled": _import_pairs(labelled=False),
    "plugin-probe": _plugin,
}
"""Name to what makes the folder."""


def make(name: str, place: Path) -> Path:
    """The run folder of this name below a place."""
    (place / name).mkdir(parents=True)
    FOLDERS[name](place / name)
    return place / name / RUN


def copy(name: str, store: Path, place: Path) -> Path:
    """The run folder of this name below a place; the first process that asks for it makes it in the store."""
    with (store / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (store / name / RUN).exists():
            with TemporaryDirectory(dir=store) as half:
                make(name, Path(half))
                shutil.move(Path(half) / name, store / name)
    shutil.copytree(store / name, place / name)
    return place / name / RUN
