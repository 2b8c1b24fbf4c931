"""Prompts as lists of messages, as chat APIs and prompt tools have them: a system and a user message."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from steelyard.core.validation import format_value
from steelyard.errors import ConfigError

ROLES = {"system": "system", "developer": "system", "user": "user", "human": "user"}
ENDINGS = (".json", ".yaml", ".yml")


def read_messages(text: str, name: str, origin: str) -> Mapping[str, str] | None:
    """Role to template, of a file with a list of messages; None where the text is the prompt itself."""
    ending = Path(name).suffix.lower()
    if ending not in ENDINGS:
        return None
    try:
        body = json.loads(text) if ending == ".json" else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        if ending != ".json":
            return None  # a text may end so and be no YAML
        raise ConfigError(
            f"{origin}: not valid JSON ({error}); correct the file, or give a text another ending."
        ) from error
    listed = body.get("messages") if isinstance(body, dict) else body
    if isinstance(listed, list):
        return messages_of(listed, origin)
    if ending != ".json":
        return None
    raise ConfigError(
        f"{origin}: found {format_value(body)}, expected messages with role and content; correct it."
    )


def messages_of(listed: Sequence[Any], origin: str) -> Mapping[str, str]:
    """Role to template; more than a system and a user message is refused."""
    messages: dict[str, str] = {}
    for number, message in enumerate(listed, start=1):
        where = f"{origin}: message {number}"
        said, content = _parts(message, where)
        role = ROLES.get(said)
        if role is None or role in messages:
            found = "a second one" if role in messages else "it"
            raise ConfigError(
                f"{where}: found role {said!r}, expected one system and one user message; put {found} into "
                "these."
            )
        messages[role] = content
    if "user" not in messages:
        raise ConfigError(f"{origin}: found no user message, expected one; add it.")
    return messages


def _parts(message: Any, where: str) -> tuple[str, str]:
    if isinstance(message, dict):
        role, content = message.get("role"), message.get("content")
    elif isinstance(message, list) and len(message) == 2:
        role, content = message
    else:
        role = content = None
    if isinstance(content, list) and all(isinstance(part, dict) and "text" in part for part in content):
        content = "\n".join(str(part["text"]) for part in content)
    if not isinstance(role, str) or not isinstance(content, str):
        raise ConfigError(
            f"{where}: found {format_value(message)}, expected role and content, both texts; correct it."
        )
    return role, content
