"""What the data options say, as keys of a study file."""

from __future__ import annotations

from typing import Any

from steelyard.errors import ConfigError


def data_overrides(options: dict[str, Any]) -> dict[str, Any]:
    """The keys `data` and `task` as far as options name them."""
    from steelyard.core.validation import parse_map
    from steelyard.tasks.sources.items import parse_columns

    names = ("columns", "labels", "adapter", "stratify", "sample")
    data = {name: options[name] for name in names if options[name] is not None}
    if "columns" in data:
        data["columns"] = parse_columns(data["columns"])
    if "labels" in data:
        data["labels"] = parse_map(data["labels"], "--labels", "LABEL=ANSWER", "good=1,bad=0")
    if options["where"] is not None:
        data["where"] = parse_map(options["where"], "--where", "COLUMN=VALUE", "epoch=1,model=m")
    if options["preprocess"]:
        data["preprocess"] = list(options["preprocess"])
    if options["data"] is not None:
        # Beside a study file, whose paths are relative to it, a path of the command line must stand alone.
        data["path"] = str(options["data"].absolute() if options["study"] else options["data"])
    elif data and options["study"] is None:
        raise ConfigError(
            f"--{next(iter(data))}: says how data are read, and none are given; add --data FILE."
        )
    task: dict[str, Any] = {}
    if options["rubric"] is not None:
        task["rubric"] = options["rubric"].absolute()
    if options["failing"] is not None:
        task["failing"] = options["failing"]
    if options["scale"] is not None:
        task["scale"] = options["scale"]
    return {**({"data": data} if data else {}), **({"task": task} if task else {})}
