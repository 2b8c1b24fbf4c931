"""`steelyard study convert`: a configuration of the published harness as a study file."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from steelyard.cli.options import option
from steelyard.cli.output import warn


@click.command(short_help="Turn a configuration of the Judge Reliability Harness into a study file.")
@click.argument("action", metavar="convert", type=click.Choice(["convert"]))
@click.argument("config", metavar="CONFIG", type=click.Path(path_type=Path))
@option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Study file to write [stdout].",
)
def study(action: str, config: Path, out: Path | None) -> None:
    """Turn a configuration of the Judge Reliability Harness into a study file.

    Paths in the study file are seen from its own folder, or from the working folder where it is printed. What
    has no counterpart is named on stderr.
    """
    del action
    import yaml

    from steelyard.core.atomic_write import atomic_write_text
    from steelyard.errors import ConfigError
    from steelyard.study.harness_config import convert_config
    from steelyard.study.study_files import files_of

    if out is not None and out.exists():
        raise ConfigError(f"{out}: is there already; remove it, or choose another --out.")
    try:
        body = yaml.safe_load(config.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not YAML"
        raise ConfigError(f"{config}: cannot be read ({reason}); name a configuration file.") from error
    try:
        made, notes = convert_config(body, config.parent, Path() if out is None else out.parent)
    except ConfigError as error:
        raise ConfigError(f"{config}: {error}") from error
    outside = [file for file in files_of(out or Path("study.yaml"), made, {}) if file.is_outside]
    notes += [
        f"{file}: lies outside the study file's folder, so it is read after a question" for file in outside
    ]
    for note in notes:
        warn(f"{note}.")
    text = yaml.safe_dump(made, sort_keys=False, allow_unicode=True, width=120)
    if out is None:
        click.echo(text, nl=False)
    else:
        atomic_write_text(out, text)
        click.echo(f"{out}: written; `steelyard plan {quote(str(out))}` shows what it costs.")
