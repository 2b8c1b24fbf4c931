"""The plan of a study as a table or JSON: calls, tokens, dollars and time per judge or probe."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

import click
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from steelyard.authoring.open_study import GenerationPlan, plan_before_judges
from steelyard.cli.output import display_path, plain
from steelyard.core.foreign_code import without_code
from steelyard.core.text import escape_control_chars, plural, pluralize
from steelyard.providers.provider import destinations, model_info
from steelyard.providers.provider_info import Destination
from steelyard.run_folder.resume import calls_made
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.costs import PlanRow, plan_rows
from steelyard.runner.prices import price_of
from steelyard.stimuli.shallow_reader import read_checklists
from steelyard.study.planner import Plan, make_plan
from steelyard.study.study import Study
from steelyard.trials.judge import Judge

HEADER = ("calls", "tokens in", "tokens out", "dollars", "time")


def print_study_plan(
    study: Study,
    folder: RunFolder,
    as_json: bool,
    generation: GenerationPlan | None,
    *,
    by_probe: bool = False,
) -> None:
    with without_code():
        study, rows = plan_before_judges(study, folder, generation)
        plan = make_plan(study)
    writers = () if generation is None else generation.roles.models
    print_plan(plan, folder, as_json, rows, by_probe=by_probe, writers=writers)
    if rows and generation is not None and not as_json:
        tries = generation.roles.own.attempts
        click.echo(
            f"Author and validator are counted with one attempt per text; up to {tries} may be needed."
        )


def print_plan(
    made: Plan,
    folder: RunFolder,
    as_json: bool,
    before: Sequence[PlanRow] = (),
    *,
    by_probe: bool = False,
    writers: Sequence[Judge] = (),
) -> None:
    answered, waiting = calls_made(folder)
    with without_code():
        places = destinations((*made.study.judges, *writers))
    rows = [*before, *plan_rows(made.asked(answered | waiting))]
    if as_json:
        body = {
            "stimulus_set": made.stimuli.hash,
            "stimuli": len(made.stimuli),
            "rows": [asdict(r) for r in rows],
            "prices": price_list(made.study),
            **listing(made.study, places),
            "handed_in": len(waiting),
        }
        click.echo(json.dumps(body, indent=1))
        return
    if waiting:
        click.echo(f"{pluralize(len(waiting), 'call')} already submitted as batches; not counted here.\n")
    study, console = made.study, Console()
    free = sum(row.calls for row in rows if row.judge in study.baselines)
    rows = [row for row in rows if row.judge not in study.baselines]
    of_judge = {judge: [row for row in rows if row.judge == judge] for judge in (row.judge for row in rows)}
    stimuli = pluralize(len(made.stimuli), "stimulus", "stimuli")
    facts = f": {stimuli}, {study.profile} profile, seed {study.seed}"
    console.print(Text.assemble("Plan of ", plain(study.name, "bold"), facts), soft_wrap=True)
    console.print()
    sums = [PlanRow.total(judge, mine) for judge, mine in of_judge.items()]
    print_rows(rows if by_probe else sums, console)
    for name, listed in price_list(study).items():
        console.print(Text.assemble("Price of ", plain(name), f": {listed}."), soft_wrap=True)
    print_listing(study, places, console)
    if study.checklists:
        reading = read_checklists(study.checklists)
        quiet = "" if reading.faults else f" {reading.sentence}"
        own = f"{len(study.checklists)} checklists of {study.checklists[0].depth} elements"
        console.print(Text.assemble(f"Pairs of {own}.", quiet), soft_wrap=True)
    done = len(answered)
    trials = f"{pluralize(done, 'trial')} {plural(done, 'is', 'are')} answered already"
    console.print(f"{trials}; baselines add {pluralize(free, 'free trial')}.")
    console.print("Tokens, dollars and time are estimates; nothing was spent.")
    console.print(Text(f"Run folder: {display_path(folder.path)}"), soft_wrap=True)


def listing(study: Study, places: Mapping[str, Destination]) -> dict[str, object]:
    """What a study reads, and where it sends calls with which key."""
    sent = {name: {"address": to.address, "key_variable": to.key_variable} for name, to in places.items()}
    return {"destinations": sent, "reads": list(study.reads)}


def print_listing(study: Study, places: Mapping[str, Destination], console: Console) -> None:
    for name, place in places.items():
        console.print(Text.assemble("Calls of ", plain(name), " ", plain(place.text), "."), soft_wrap=True)
    if study.reads:
        console.print(Text.assemble("Reads ", plain(", ".join(study.reads)), "."), soft_wrap=True)


def print_rows(rows: list[PlanRow], console: Console, head: str = "judge") -> None:
    for line in _lines(rows, console.width, head):
        console.print(line, soft_wrap=True, highlight=False)
    console.print()


def _lines(rows: list[PlanRow], width: int, head: str) -> Iterator[Text]:
    """A header, the rows, and their sum where there are several; no name is ever broken.

    A name that leaves no room for its figures has a line of its own, and so has a judge above its probes.
    """
    labels = [
        f"  {escape_control_chars(row.probe)}" if row.probe else escape_control_chars(row.judge)
        for row in rows
    ]
    total = [PlanRow.total("all", rows)] if len(rows) > 1 else []
    cells = [HEADER, *map(_cells, (*rows, *total))]
    columns = [max(len(line[number]) for line in cells) + 2 for number in range(len(HEADER))]
    room = max(len(head), width - sum(columns))
    label = min(room, max(map(cell_len, (head, *labels))))

    def line(name: str, figures: tuple[str, ...], style: str = "") -> Text:
        start = set_cell_size(name, label)
        return Text(
            start + "".join(f"{cell:>{size}}" for cell, size in zip(figures, columns, strict=True)), style
        )

    yield line(head, HEADER, "bold")
    above = None
    for row, name in zip(rows, labels, strict=True):
        if row.probe and row.judge != above:
            yield plain(row.judge)
            above = row.judge
        fits = cell_len(name) <= label
        if not fits:
            yield Text(name)
        yield line(name if fits else "", _cells(row))
    for row in total:
        yield line("all", _cells(row), "bold")


def price_list(study: Study) -> dict[str, str]:
    prices = {}
    measured = study.under_test
    for judge in (one for each in measured for one in each.leaf_judges):
        price = price_of(judge)
        if price is None or not (price.input or price.output):
            continue
        text = price.description
        if price.batch < 1:
            text += f"; {price.batch:.0%} of it with --batch"
        room = model_info(judge.address).thinking_tokens(judge.model, judge.options)
        if room:  # how much of it will be used nobody knows before
            text += f"; thoughts come on top, up to {room:,} tokens a call"
        prices[judge.name] = text
    return prices


def _cells(row: PlanRow) -> tuple[str, ...]:
    dollars = "unknown" if row.dollars is None else f"${row.dollars:,.4f}" if row.dollars else "free"
    seconds = f"{row.seconds / 60:.1f} min" if row.seconds >= 90 else f"{row.seconds:.0f} s"
    return f"{row.calls:,}", f"{row.input_tokens:,}", f"{row.output_tokens:,}", dollars, seconds
