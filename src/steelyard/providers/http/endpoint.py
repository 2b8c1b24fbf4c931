"""Where a server is, and with which key it is addressed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from yarl import URL

from steelyard.core.dotenv import key_from
from steelyard.errors import ConfigError, ProviderRefusedError
from steelyard.trials.judge import Judge


@dataclass(frozen=True)
class ServerDefaults:
    url: str
    key_variable: str = ""
    url_variable: str = ""
    other_keys: tuple[str, ...] = ()
    version: str = ""
    """Put behind an address that has no path, where the vendor's own clients leave it out."""
    proxy_version: str = ""
    """The same behind an address that is not the vendor's, where proxies serve another."""
    hosts: str = ""
    """Pattern of the vendor's hosts, where they differ by resource or region."""

    def is_own(self, address: URL) -> bool:
        """Whether an address is one of the vendor's: exactly its host, and over https if the vendor's is."""
        usual = URL(self.url)
        if self.hosts:
            return address.scheme == "https" and re.fullmatch(self.hosts, address.host or "") is not None
        return address.host == usual.host and address.scheme in ("https", usual.scheme)

    def is_users(self, address: URL) -> bool:
        """Whether the user's environment names this address."""
        try:
            return self.parse_url(os.environ.get(self.url_variable), "") == address
        except ConfigError:  # unset, or no address
            return False

    def parse_url(self, text: object, where: str) -> URL:
        base = _parse_url(text, where)
        version = self.version if self.is_own(base) else self.proxy_version or self.version
        if version and base.path == "/":
            return base.joinpath(version).with_query(base.query)
        return base


_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

_SECRETS = frozenset(
    ("key", "apikey", "subscriptionkey", "token", "accesstoken", "sig", "signature", "code", "secret")
)
"""Query parameters that hold a secret, in lower case, without `-` and `_`."""


@dataclass(frozen=True)
class Endpoint:
    base_url: URL
    key_variable: str
    key_required: bool
    timeout: float | None
    """Timeout of a call in seconds; None where the judge sets none and the runner's limit alone counts."""
    other_keys: tuple[str, ...] = ()

    @classmethod
    def for_judge(
        cls, judge: Judge, server: ServerDefaults, environ: Mapping[str, str] = os.environ
    ) -> Endpoint:
        where = f"judge {judge.address}"
        base = server.parse_url(
            judge.options.get("base_url") or environ.get(server.url_variable) or server.url, where
        )
        key_name = judge.options.get("api_key_env")
        required = key_name is not None or (bool(server.key_variable) and base == URL(server.url))
        key_variable, others = str(key_name or server.key_variable), () if key_name else server.other_keys
        return cls(base, key_variable, required, judge.options.get("timeout"), others)

    def url(self, *parts: str) -> URL:
        return _join(self.base_url, parts)

    @property
    def display_url(self) -> str:
        """The address for messages, without the query, which may hold a secret."""
        return str(self.base_url.with_query(None))

    @property
    def is_local(self) -> bool:
        return self.base_url.host in _LOOPBACK

    @property
    def key_variables(self) -> tuple[str, ...]:
        """Variables that may hold the key; the first that is set counts."""
        return (self.key_variable, *self.other_keys) if self.key_variable else ()

    def key(self, where: str, environ: Mapping[str, str] | None = None) -> str:
        held = (key_from(name) if environ is None else environ.get(name, "") for name in self.key_variables)
        key = next((key.strip() for key in held if key.strip()), "")
        if not key and self.key_required:
            raise ProviderRefusedError(
                f"{where}: no key found; set the environment variable {self.key_variable}."
            )
        if not (key.isascii() and key.isprintable()):
            raise ProviderRefusedError(
                f"{where}: {self.key_variable} holds characters that no key has; copy the key again."
            )
        return key


@lru_cache(maxsize=64)
def _join(base: URL, parts: tuple[str, ...]) -> URL:
    return base.joinpath(*parts).with_query(base.query)


def _parse_url(text: Any, where: str) -> URL:
    try:
        url = URL(str(text).rstrip("/"))
        is_valid = url.scheme in ("http", "https") and bool(url.host) and bool(url.port)
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ConfigError(
            f"{where}: base_url is not an address, expected one like http://127.0.0.1:8000/v1; correct it."
        )
    if url.user is not None or url.password is not None:
        raise ConfigError(
            f"{where}: base_url holds a user name or password; put the key into an environment variable "
            "and name it in api_key_env."
        )
    secrets = [name for name in url.query if name.lower().replace("-", "").replace("_", "") in _SECRETS]
    if secrets:
        raise ConfigError(
            f"{where}: base_url holds a key in its query parameter {secrets[0]!r}; remove it, put the key "
            "into an environment variable and name that in api_key_env."
        )
    return url.with_fragment(None)
