"""What `--help` shows: commands in groups, common options first, examples that work as they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import click

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Start": {
        "init": "steelyard.cli.start:init",
        "demo": "steelyard.cli.start:demo",
        "measure": "steelyard.cli.measure:measure",
        "plan": "steelyard.cli.measure:plan",
        "view": "steelyard.cli.run_folders:view",
        "show": "steelyard.cli.run_folders:show",
    },
    "Decide": {
        "compare": "steelyard.cli.compare:compare",
        "gate": "steelyard.cli.compare:gate",
        "estimate": "steelyard.cli.survey:estimate",
        "trust fit": "steelyard.cli.survey:fit",
        "trust apply": "steelyard.cli.survey:apply",
        "trust check": "steelyard.cli.survey:check",
        "leaderboard": "steelyard.cli.survey:leaderboard",
    },
    "Data": {
        "import": "steelyard.cli.import_verdicts:import_command",
        "export": "steelyard.cli.run_folders:export",
        "report": "steelyard.cli.run_folders:report",
        "labels plan": "steelyard.cli.survey:plan",
        "labels draw": "steelyard.cli.survey:draw",
        "labels add": "steelyard.cli.survey:add",
        "labels open": "steelyard.cli.survey:open_command",
        "people": "steelyard.cli.survey:people",
        "generate": "steelyard.cli.measure:generate",
        "review": "steelyard.cli.review:review",
        "study": "steelyard.cli.import_verdicts:study",
    },
    "Laboratory": {
        "doctor": "steelyard.cli.doctor:doctor",
        "probes": "steelyard.cli.start:probes",
        "judges": "steelyard.cli.start:judges",
        "skill": "steelyard.cli.start:skill",
        "overall": "steelyard.cli.compare:overall",
        "bridge": "steelyard.cli.survey:bridge",
        "selftest": "steelyard.cli.doctor:selftest",
        "serve-planted": "steelyard.cli.doctor:serve_planted",
    },
}
"""Every command is registered here, for want of an `add_command`: headings, functions, in order of use."""

COMMANDS = {name: place for group in GROUPS.values() for name, place in group.items()}

FAMILIES = {
    "labels": "Have people label items: plan, draw, add, open.",
    "trust": "Which verdicts to accept without people: fit, apply, check.",
}
"""Commands of two words stand in one row."""


def command_rows(
    command: Callable[[str], click.Command | None],
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each group with a row for every command, or family of commands, in it."""
    for heading, group in GROUPS.items():
        rows: dict[str, str] = {}
        for name in group:
            first = name.partition(" ")[0]
            known = None if first in FAMILIES else command(name)
            rows[first] = FAMILIES.get(first) or (known.get_short_help_str(90) if known else "")
        yield heading, list(rows.items())


COMMON = (
    *("judges", "prompt", "data", "columns", "labels", "values", "rubric", "scale", "profile", "until"),
    *("budget", "out", "dry_run", "full", "as_json"),
)
"""Options of a study that most users need, in the order in which they are shown."""

HEADINGS: Mapping[str, tuple[str, ...]] = {
    "What is asked": (
        *("probes", "replicates", "seed", "answers", "checklists", "failing", "accept_all", "literal", "cap"),
    ),
    "Which rows, and how they are read": ("adapter", "stratify", "sample", "where", "preprocess"),
    "How calls are made": (
        *("concurrency", "timeout", "attempts", "backoff", "no_preflight", "batch", "batch_size", "poll"),
        *("engine", "yes"),
    ),
}
"""Rare options of a study, under their own headings; an option of neither list is a common one."""


class StudyCommand(click.Command):
    """A command with the options of a study: common ones first, rare ones under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = {
            parameter.name or "": record
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)) is not None
        }
        rare = {name for names in HEADINGS.values() for name in names}
        first = [name for name in COMMON if name in rows]
        others = [name for name in rows if name not in {*COMMON, *rare}]
        for heading, names in {"Options": (*first, *others), **HEADINGS}.items():
            records = [rows[name] for name in names if name in rows]
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "init": (
        "steelyard init -j openai/gpt-4o-mini --for gate",
        "steelyard init -j planted/rater --data items.csv --for score --out mine.yaml",
    ),
    "demo": ("steelyard demo", "steelyard demo --full"),
    "skill": ("steelyard skill",),
    "measure": (
        "steelyard measure -j openai/gpt-4o-mini -p vacuum -p ladder",
        "steelyard measure -j planted/probit --out run",
        "steelyard measure -j planted/rater --data items.csv --rubric rubric.md \\\n"
        "    --scale binary --columns request=question,response=answer,label=ok",
        'steelyard measure -j planted/tie --until "dark_current<0.10"',
    ),
    "plan": (
        "steelyard plan -j openai/gpt-4o-mini --profile standard",
        "steelyard plan study.yaml --by-probe",
    ),
    "generate": ("steelyard generate study.yaml",),
    "review": ("steelyard review run", "steelyard review run --reviewers 2 --blind"),
    "report": ("steelyard report run", "steelyard report run --full", "steelyard report run --format md"),
    "view": ("steelyard view run", "steelyard view before after"),
    "show": ("steelyard show run", "steelyard show run --outcome flip -n 2"),
    "compare": ("steelyard compare run:planted/probit run:coin", "steelyard compare before after"),
    "overall": ("steelyard overall first second",),
    "gate": ("steelyard gate run --policy policy.yaml",),
    "estimate": (
        "steelyard estimate ratings.csv --judge verdict --people human --design random",
        "steelyard estimate ratings.csv --judge verdict --people human --design random --methods",
    ),
    "labels plan": (
        "steelyard labels plan ratings.csv --judge verdict --people human --half-width 0.05 --cost-label 2",
    ),
    "labels draw": ("steelyard labels draw ratings.csv --judge verdict -n 40 --out labels",),
    "labels add": ("steelyard labels add labels labels/sheet.csv",),
    "labels open": ("steelyard labels open labels",),
    "leaderboard": ("steelyard leaderboard votes.csv --judge verdict --people human --design random",),
    "people": ("steelyard people rated.csv --people ann --people bob --judge verdict",),
    "bridge": ("steelyard bridge anchors.csv --from old --to new --history history.csv",),
    "trust fit": (
        "steelyard trust fit verdicts.csv --judge verdict --signal confidence --people human",
        "steelyard trust fit verdicts.csv --judge quick --judge verdict --signal quick=sure \\\n"
        "    --signal verdict=confidence --people human --price quick=1 --price verdict=20 --price "
        "people=900",
    ),
    "trust apply": ("steelyard trust apply trust.json verdicts.csv",),
    "trust check": ("steelyard trust check trust.json audited.csv --people human",),
    "import": ("steelyard import verdicts.jsonl --out imported",),
    "export": ("steelyard export run --inspect",),
    "selftest": ("steelyard selftest",),
    "serve-planted": ("steelyard serve-planted planted/probit --port 8765",),
    "probes": ("steelyard probes", "steelyard probes ladder typos"),
    "judges": ("steelyard judges",),
    "study": ("steelyard study convert config.yml --out study.yaml",),
    "doctor": ("steelyard doctor", "steelyard doctor -j planted/tie", "steelyard doctor ratings.jsonl"),
}
"""Command to lines that work as they stand, beside the files that they name."""


def help_epilog(name: str, command: click.Command) -> str:
    lines = "\n".join(f"  {line}" for example in EXAMPLES[name] for line in example.split("\n"))
    options = [each for each in command.params if isinstance(each, click.Option) and each.envvar]
    if not options:
        return f"\b\nExamples:\n{lines}"
    option = next((each for each in options if each.name == "profile"), options[0])
    value = "standard" if option.name == "profile" else "1" if option.is_flag else option.metavar
    variable = f"{option.envvar}={value or (option.name or '').upper()}"
    return f"\b\nExamples:\n{lines}\n\nOptions can also be set as environment variables, e.g. {variable}."
