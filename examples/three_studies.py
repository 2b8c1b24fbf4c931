"""Write the files of docs/guides/three-studies.md from public verdicts: python three_studies.py DATA."""

import csv
import json
import sys
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

data, drawn = Path(sys.argv[1]), Random(7)
Row = dict[str, Any]


def read(name: str) -> list[Row]:
    with open(data / name, newline="") as file:
        return list(csv.DictReader(file))


def write(name: str, rows: list[Row], labels: int = 0) -> None:
    """Write a table; people's votes stay on so many rows, drawn at random."""
    if labels:
        kept = set(drawn.sample(range(len(rows)), labels))
        rows = [row | {"human": row["human"] if n in kept else ""} for n, row in enumerate(rows)]
    with open(name, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


pairs: defaultdict[str, Row] = defaultdict(dict)
for row in read("two_judges/verdicts.csv"):
    if "qwen3-235b-a22b-no-thinking" in (row["model_a"], row["model_b"]):
        sides = {"item": row["id"], "system_a": row["model_a"], "system_b": row["model_b"]}
        pairs[row["id"]] |= sides | {row["judge"]: row["judge_pick"], "human": row["human_winner"]}
write("pairs.csv", list(pairs.values()), labels=100)

twelve = {"gpt-4", "claude-v1", "claude-instant-v1", "gpt-3.5-turbo", "vicuna-13b", "palm-2", "koala-13b"}
twelve |= {"RWKV-4-Raven-14B", "alpaca-13b", "oasst-pythia-12b", "chatglm-6b", "fastchat-t5-3b"}
votes = [row for row in read("arena_ranking/comparisons.csv") if {row["model_a"], row["model_b"]} <= twelve]
write("verdicts.csv", [{name: row[name] for name in row if name != "human"} for row in votes])
write("votes.csv", votes, labels=1000)

wins: defaultdict[str, Row] = defaultdict(dict)
for line in (data / "llmbar/verdicts.jsonl").open():
    row = json.loads(line)
    if row["prompt"] == "Vanilla" and row["judge"] in ("ChatGPT", "GPT-4") and row["winner_AB"]:
        wins[row["item_id"]] |= {"item": row["item_id"], row["judge"]: int(row["winner_AB"] == "1")}
both = [row for row in wins.values() if len(row) == 3]
drawn.shuffle(both)
write("anchors.csv", both[:200])
april = both[200:]
share = sum(row["ChatGPT"] for row in april) / len(april)
write("history.csv", [{"period": "April", "value": round(share, 4), "items": len(april)}])
