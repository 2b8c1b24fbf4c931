"""`steelyard gate`: may this judge be used?"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import takes, yes_setting
from steelyard.cli.output import annotate, display_path, plain, warn
from steelyard.cli.study import consent_of
from steelyard.core.settings import argument, flag, setting, several
from steelyard.core.text import pluralize
from steelyard.datasheet.words.text import escape_control_chars

if TYPE_CHECKING:
    from steelyard.commands.gate.ruling import Ruling

STYLES = {"PASS": "green", "FAIL": "bold red", "INCONCLUSIVE": "yellow"}


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    target: Path = argument("DIR", "path")
    policy: str | None = setting("Acceptance policy: smoke, default, strict, or a YAML file.", "FILE")
    judges: tuple[str, ...] = several("Judge to gate; repeatable.", "NAME", ("--judge", "-j"))
    reference: Path | None = setting(
        "Earlier run on the same stimuli; fail if the judge has drifted since.", "DIR", kind="folder"
    )
    margin: float = setting("Largest allowed drift.", "SHARE", default=0.10, kind="positive")
    certificate: Path | None = setting("Check this certificate instead of deciding.", "FILE", kind="file")
    check: bool = flag("Check the certificate in DIR instead of deciding.")
    junit: Path | None = setting("Write the result as JUnit XML.", "FILE", kind="file")
    markdown: Path | None = setting("Write the result as Markdown.", "FILE", kind="file")
    every: bool = flag("List passed checks too.", ("--all",))
    yes: tuple[str, ...] = yes_setting()
    as_json: bool = flag("Print the result as JSON.", ("--json",))


@click.command(short_help="Pass, fail or inconclusive, by a policy.")
@takes(GateOptions)
def gate(options: GateOptions) -> None:
    """Decide by a policy whether the judges of a run may be used, and write a certificate; makes no calls.

    PASS (exit 0): every interval lies within its limits. FAIL (exit 3): some interval lies wholly outside,
    or the datasheet flags a fault that the policy does not allow. INCONCLUSIVE (exit 4): neither; the output
    says how many more calls are needed. --certificate and --check compare a certificate with the judges of
    DIR, or of a study file; they exit 3 if it has expired or does not match.
    """
    from datetime import UTC, datetime

    from steelyard.commands.gate.gate import check_certificate, render_junit, render_markdown
    from steelyard.commands.gate.gate import gate as gate_folder
    from steelyard.commands.gate.policy import SHIPPED
    from steelyard.commands.gate.ruling import EXIT_CODES, GATE_INCONCLUSIVE, PASS
    from steelyard.core.files import atomic_write_text

    now = datetime.now(UTC)
    target, policy, judges = options.target, options.policy, options.judges
    if options.certificate is not None or options.check:
        path = options.certificate or target / "certificate.json"
        valid = check_certificate(target, path, now, judges, policy, consent_of(options.yes))
        until = "does not expire" if valid.expires is None else f"expires {valid.expires:%Y-%m-%d %H:%M %Z}"
        names = ", ".join(judge.name for judge in valid.judges)
        click.echo(f"Certificate holds: {escape_control_chars(names)}; {until}.")
        return
    if policy is None:
        names = ", ".join(SHIPPED)
        raise click.UsageError(f"missing option: give --policy ({names} or a file) or --certificate FILE")
    ruling, written = gate_folder(target, policy, now, judges, options.reference, options.margin)
    if options.junit is not None:
        atomic_write_text(options.junit, render_junit(ruling))
    if options.markdown is not None:
        atomic_write_text(options.markdown, render_markdown(ruling))
    if options.as_json:
        click.echo(json.dumps(ruling.to_json(), indent=1, ensure_ascii=False))
    else:
        _print(ruling, options.every)
    _tell_github(ruling)
    if written is None and ruling.result != GATE_INCONCLUSIVE:
        warn(f"{display_path(target)}: the certificate cannot be written there; the result stands.")
    elif written is not None and not options.as_json:
        result = "Certificate:" if ruling.result == PASS else "No certificate; the refusal is recorded in"
        click.echo(f"\n{result} {display_path(written)}")
    sys.exit(EXIT_CODES[ruling.result])


def _tell_github(ruling: Ruling) -> None:
    """What keeps a judge from passing as errors of the job, and the table in its summary."""
    from steelyard.commands.gate.gate import render_markdown, sentence
    from steelyard.commands.gate.ruling import ORDER, PASS

    for check in sorted(ruling.checks, key=lambda check: ORDER.index(check.result)):
        if check.result != PASS:
            annotate(f"{check.judge}: {check.result}: {check.rule}: {check.found}: {sentence(check)}")
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as stream:
            stream.write(render_markdown(ruling))


def _print(ruling: Ruling, every: bool) -> None:
    from rich.console import Console
    from rich.padding import Padding

    from steelyard.commands.gate.gate import sentence
    from steelyard.commands.gate.ruling import ORDER, PASS, worst

    console = Console(highlight=False)
    results = [check.result for check in ruling.checks]
    split = ", ".join(f"{results.count(word)} {word}" for word in STYLES if word in results)
    headline = f"{ruling.result}: {pluralize(len(results), 'check')} ({split}), on whole 95 % intervals."
    console.print(plain(headline, STYLES[ruling.result]))
    for judge in ruling.judges:
        checks = ruling.of(judge)
        result = worst(check.result for check in checks)
        console.print()
        console.print(plain(judge, "bold").append(": ").append_text(plain(result, STYLES[result])))
        for row in sorted(checks, key=lambda check: ORDER.index(check.result)):
            if every or row.result != PASS:
                head = plain(row.result, STYLES[row.result]).append("  ").append_text(plain(row.rule))
                found = plain(row.found).append("  ").append_text(plain(row.figure, "dim"))
                for line, indent in ((head, 2), (found, 4), (plain(sentence(row)), 4)):
                    console.print(Padding(line, (0, 0, 0, indent), expand=False))
        passed = [check for check in checks if check.result == PASS]
        if passed and not every:
            # A rule may be checked against several figures, and against drift.
            times = Counter(check.name for check in passed)
            names = ", ".join(name if count == 1 else f"{name} ({count})" for name, count in times.items())
            line = plain(f"{pluralize(len(passed), 'check')} passed: {names}", "dim")
            console.print(Padding(line, (0, 0, 0, 2), expand=False))
    if ruling.notes:
        console.print()
    for note in ruling.notes:
        console.print(plain(note, "dim"))
