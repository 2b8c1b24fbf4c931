"""Coverage-guided fuzzing of everything that reads people's files.

    python benchmarks/fuzz.py [SECONDS] [SEED]

Mutates samples of each kind of file; a mutant that reaches a line which no other reached becomes a sample.
What raises an error that is not one of the project's own is printed with the bytes that did it, once for each
place; the exit code is their number.
"""

from __future__ import annotations

import base64
import json
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from steelyard.commands.gate.policy import load_policy
from steelyard.commands.import_verdicts import read_recorded
from steelyard.errors import SteelyardError
from steelyard.store.run_store import RunStore
from steelyard.study.study_file import build_study, load_config
from steelyard.tasks.sources.items import Columns, items_of
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.task import Binary
from steelyard.tasks.transcripts.chat import turns_of
from steelyard.trials.prompt import PromptTemplate

PACKAGE = str(Path(__file__).parent.parent / "src" / "steelyard")
WORDS = """ " ' , ; { } [ ] : null NaN -1 1e999 true &a *a !!python/none {{response_1}} {{a.b.c}} é 字 0x1
{%for/**/x/**/in/**/y%} {%endfor%} {% %} "winner" "score" "item" "messages" "content" "role" "scale" - """
TOKENS = tuple(
    token.replace("/**/", " ").encode()
    for token in (*WORDS.split(), "\t", "\n", "\r\n", "\ufeff", "\0", "  ")
)
"""Pieces that the formats are made of."""


@dataclass
class Target:
    """One thing that is done with a file."""

    suffix: str
    """Of the file."""
    use: Callable[[Path], object]
    """What is done with it."""
    corpus: list[bytes]
    """Samples, sound ones first."""
    reached: set[tuple[str, int]] = field(default_factory=set)
    """Lines of the package that some sample reached."""


def _items(path: Path) -> object:
    columns = Columns(request="q", response="a", label="l")
    return items_of(read_table(path), columns, Binary())


def _template(path: Path) -> object:
    template = PromptTemplate(path.read_text("utf-8", "replace"))
    template.check(frozenset(("request", "response_1", "response_2", "rubric")))
    return template.render({"request": "a", "response_1": "b", "response_2": "c", "rubric": "d"})


def _study(path: Path) -> object:
    return build_study(load_config(path, {}), path.parent)


def _run_file(path: Path) -> object:
    store = RunStore(path, read_only=True)
    try:
        return store.replies(), store.failures(), store.planned(), store.verify(), store.exchanges()
    finally:
        store.close()


def _turns(path: Path) -> object:
    return turns_of(path.read_text("utf-8", "replace"), "turns")


def _targets(folder: Path) -> list[Target]:
    rows = [{"q": "Is it?", "a": "Yes.", "l": number % 2} for number in range(3)]
    table = b'q,a,l\nIs it?,Yes.,1\n"Is\nit","No, no",0\n'
    pairs = [
        {"item": f"i{n}", "judge": "j", "order": order, "winner": "1", "gold": "1"}
        for n in range(2)
        for order in ("uv", "vu")
    ]
    scores = [{"item": f"i{n}", "judge": "j", "score": n, "scale": "0-1", "expected": 1} for n in range(2)]
    spoken = {"role": "assistant", "content": [{"type": "text", "text": "b"}]}
    called = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]}
    turns = [{"role": "user", "content": "a"}, spoken]
    about = {"task": "t", "model": "m", "dataset": {}, "config": {}, "created": "2026-01-01T00:00:00+00:00"}
    asked = {"id": 1, "epoch": 1, "input": "q", "target": "a", "messages": turns}
    log = {
        "version": 2,
        "status": "success",
        "eval": about,
        "samples": [{**asked, "scores": {"s": {"value": 1}}}],
    }
    study = b"judges: [planted/probit]\nprobes: [vacuum]\nprofile: quick\nseed: 3\n"
    policy = b"name: p\nrules:\n  vacuum.dark_current: {max: 0.1}\n"
    text = b"{{ request }}\n{% if rubric %}{{ rubric }}{% endif %}<a>{{ response_1 }}</a>{{ response_2 }}"
    return [
        Target(".csv", _items, [table]),
        Target(".tsv", _items, [table.replace(b",", b"\t")]),
        Target(".jsonl", _items, [_lines(rows)]),
        Target(".json", _items, [json.dumps(rows).encode(), json.dumps({"data": rows}).encode()]),
        Target(".json", read_table, [json.dumps(log).encode()]),
        Target(".jsonl", lambda path: read_recorded([path]), [_lines(pairs), _lines(scores)]),
        Target(".txt", _turns, [json.dumps([*turns, called]).encode()]),
        Target(".txt", _template, [text]),
        Target(".yaml", _study, [study]),
        Target(".yaml", load_policy, [policy]),
        Target(".db", _run_file, [_run_bytes(folder)]),
    ]


def _lines(bodies: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(body) + "\n" for body in bodies).encode()


def _run_bytes(folder: Path) -> bytes:
    """A run file of a small run."""
    from steelyard.commands.measure import measure
    from steelyard.run_folder.run_folder import RunFolder
    from steelyard.runner.limits import RunLimits

    config = load_config(None, {"judges": ["planted/probit"], "probes": ["vacuum"], "profile": "quick"})
    measure(build_study(config, folder), RunFolder(folder / "run"), RunLimits())
    return (folder / "run" / "run.db").read_bytes()


def _mutant(sample: bytes, other: bytes, die: random.Random) -> bytes:
    data = bytearray(sample)
    for _ in range(1 << die.randrange(4)):
        at = die.randrange(len(data) + 1)
        match die.randrange(7):
            case 0 if data:
                data[at % len(data)] ^= 1 << die.randrange(8)
            case 1:
                data[at:at] = die.choice(TOKENS)
            case 2:
                del data[at : at + die.randrange(1, 20)]
            case 3:
                data[at : at + 8] = die.choice(TOKENS)
            case 4:
                start = die.randrange(len(other) + 1)
                data[at:at] = other[start : start + die.randrange(1, 60)]
            case 5:
                data[at:at] = data[at : at + die.randrange(1, 40)] * die.randrange(1, 4)
            case _:
                data[at:at] = bytes(die.randrange(256) for _ in range(die.randrange(1, 4)))
    return bytes(data[:400_000])


def _lines_reached(use: Callable[[], object]) -> tuple[set[tuple[str, int]], BaseException | None]:
    """Lines of the package that a call runs through, and what it raises."""
    reached = set[tuple[str, int]]()

    def local(frame: FrameType, event: str, _: object) -> Any:
        if event == "line":
            reached.add((frame.f_code.co_filename, frame.f_lineno))
        return local

    def trace(frame: FrameType, event: str, _: object) -> Any:
        del event
        return local if frame.f_code.co_filename.startswith(PACKAGE) else None

    sys.settrace(trace)
    try:
        use()
    except SteelyardError:
        return reached, None
    except Exception as error:
        return reached, error
    finally:
        sys.settrace(None)
    return reached, None


def main() -> int:
    """Fuzz for a time; the number of different faults."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    die = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    faults, tries, end = set[tuple[str, int]](), 0, time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as name:
        targets = _targets(Path(name))
        while time.monotonic() < end:
            target = targets[tries % len(targets)]
            tries += 1
            fresh = len(target.reached) == 0
            sample, other = die.choice(target.corpus), die.choice(target.corpus)
            data = sample if fresh else _mutant(sample, other, die)
            path = Path(name) / f"file{target.suffix}"
            path.write_bytes(data)
            reached, error = _lines_reached(lambda t=target, p=path: t.use(p))  # type: ignore[misc]
            if reached - target.reached:
                target.reached |= reached
                target.corpus.append(data)
            if error is not None:
                _tell(error, target, data, faults)
        for target in targets:
            grown = f"{len(target.corpus)} samples, {len(target.reached)} lines"
            print(f"{target.suffix:7}{getattr(target.use, '__name__', '')[:16]:18}{grown}")
    print(f"{tries:,} files in {seconds:g} s, {len(faults)} faults")
    return min(len(faults), 100)


def _tell(error: BaseException, target: Target, data: bytes, faults: set[tuple[str, int]]) -> None:
    """Print a fault, once for each place."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = (last.filename, last.lineno or 0)
    if place in faults:
        return
    faults.add(place)
    print(f"{target.suffix} {type(error).__name__}: {str(error)[:200]}")
    print("".join(traceback.format_tb(error.__traceback__)[-4:]))
    print(base64.b64encode(data[:600]).decode(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
