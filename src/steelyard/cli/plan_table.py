"""The plan as a table."""

from __future__ import annotations

from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from steelyard.cli.say import plain, shown
from steelyard.lab.run.planner import Plan, PlanRow
from steelyard.lab.run.prices import price_of
from steelyard.lab.study.study import Study
from steelyard.wording import counted, plural


def plan_table(study: Study, plan: Plan, rows: list[PlanRow], done: int, out: Path, console: Console) -> None:
    """Print calls, tokens, dollars and time per judge and probe; baselines in one line."""
    baselines = {judge.name for judge in study.judges if judge.baseline}
    measured = [row for row in rows if row.judge not in baselines]
    facts = (
        f": {counted(len(plan.stimuli), 'stimulus', 'stimuli')}, {study.profile} profile, seed {study.seed}"
    )
    console.print(Text.assemble("Plan of ", plain(study.name, "bold"), facts))
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("judge", "probe"):
        table.add_column(name, overflow="fold")
    for name in ("calls", "tokens in", "tokens out", "dollars", "time"):
        table.add_column(name, justify="right")
    for row in measured:
        table.add_row(plain(row.judge), plain(row.probe), *_cells(row))
    if len(measured) > 1:
        table.add_section()
        table.add_row("all", "", *_cells(_total(measured)))
    console.print(table)
    for name, listed in listed_prices(study).items():
        console.print(Text.assemble("Price of ", plain(name), f": {listed}."), soft_wrap=True)
    answered = f"{counted(done, 'trial')} {plural(done, 'is', 'are')} answered already"
    console.print(f"{answered}; baselines add {counted(_calls(rows, baselines), 'free trial')}.")
    console.print("Tokens, dollars and time are estimates; nothing was spent.")
    console.print(Text(f"Run folder: {shown(out)}"), soft_wrap=True)


def listed_prices(study: Study) -> dict[str, str]:
    """Dollars per million tokens of every judge that costs something, and whose list they are from."""
    own = (one for judge in study.judges if not judge.baseline for one in judge.asked)
    prices = {judge.name: price_of(judge) for judge in own}
    return {name: price.listed for name, price in prices.items() if price and (price.input or price.output)}


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
