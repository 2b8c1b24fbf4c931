"""What a run tells while it goes on: losses, unreadable replies and dollars, and no bars for baselines."""

from __future__ import annotations

import re
from pathlib import Path

from servers import Answer, Received, ScriptedServer, fails, says, wins
from test_cli_text import on_a_terminal


def test_bars_count_unreadable_replies_and_dollars_and_leave_baselines_out(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    turns: list[str] = []

    def script(request: Received) -> Answer:
        turns.append(request.path)
        return {3: fails(400, "no"), 5: says("well"), 6: says("hm")}.get(len(turns), wins("tie"))

    with ScriptedServer(script) as server:
        judge = f"openai/m?base_url={server.url}&input_price=100&output_price=100"
        arguments = ("measure", "-j", judge, "-p", "vacuum", "--out", "run", "--concurrency", "1")
        code, seen = on_a_terminal(arguments, tmp_path, environment)
    assert code == 0, seen
    bars = [line for line in re.split(r"[\r\n]", seen) if re.search(r"\d+/12", line)]
    assert bars
    assert all("openai/m" in bar for bar in bars)
    assert re.search(r"1 failed · 2 unreadable · \$0\.\d+", seen), bars
    assert "coin" not in seen.partition("Judge Datasheet")[0]
