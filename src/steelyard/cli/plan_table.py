"""The plan as a table."""

from __future__ import annotations

from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from steelyard.lab.planner import Plan, PlanRow
from steelyard.lab.study import Study


def plan_table(study: Study, plan: Plan, rows: list[PlanRow], done: int, out: Path, console: Console) -> None:
    """Print calls, tokens, dollars and time per judge and probe; baselines in one line."""
    baselines = {judge.name for judge in study.judges if judge.baseline}
    shown = [row for row in rows if row.judge not in baselines]
    facts = f"{len(plan.stimuli):,} stimuli, {study.profile} profile, seed {study.seed}"
    console.print(f"Plan of [bold]{study.name}[/]: {facts}")
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("judge", "probe"):
        table.add_column(name)
    for name in ("calls", "tokens in", "tokens out", "dollars", "time"):
        table.add_column(name, justify="right")
    for row in shown:
        table.add_row(row.judge, row.probe, *_cells(row))
    if len(shown) > 1:
        table.add_section()
        table.add_row("all", "", *_cells(_total(shown)))
    console.print(table)
    console.print(
        f"{done:,} trials are answered already; baselines add {_calls(rows, baselines):,} free trials."
    )
    console.print("Tokens, dollars and time are estimates; nothing was spent.")
    console.print(f"Run folder: {out}", soft_wrap=True)


def _calls(rows: list[PlanRow], judges: set[str]) -> int:
    return sum(row.calls for row in rows if row.judge in judges)


def _total(rows: list[PlanRow]) -> PlanRow:
    known = [row.dollars for row in rows if row.dollars is not None]
    dollars = sum(known) if len(known) == len(rows) else None
    return PlanRow(
        "all",
        "",
        sum(row.calls for row in rows),
        sum(row.input_tokens for row in rows),
        sum(row.output_tokens for row in rows),
        dollars,
        sum(row.seconds for row in rows),
    )


def _cells(row: PlanRow) -> tuple[str, ...]:
    dollars = "unknown" if row.dollars is None else f"${row.dollars:,.4f}" if row.dollars else "free"
    seconds = f"{row.seconds / 60:.1f} min" if row.seconds >= 90 else f"{row.seconds:.0f} s"
    return f"{row.calls:,}", f"{row.input_tokens:,}", f"{row.output_tokens:,}", dollars, seconds
