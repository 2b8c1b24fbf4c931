"""AWS Signature Version 4 (SigV4) of one request, with keys from the environment.

"AWS Signature Version 4 for API requests" in the public IAM user guide; the tests hold its worked example.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from urllib.parse import quote

from yarl import URL

ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True)
class Signer:
    """Signs requests to one service in one region."""

    access_key: str
    """Name of the key, which is sent."""
    secret: str = field(repr=False)
    """The key itself, which is not."""
    token: str = field(repr=False)
    """Session token of temporary keys; empty for lasting ones."""
    region: str
    """Such as us-east-1."""
    service: str
    """Such as bedrock."""

    def headers(
        self, address: URL, data: bytes, method: str = "POST", moment: float | None = None
    ) -> dict[str, str]:
        """What a request has to carry; `moment` is the epoch time, else the clock's."""
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() if moment is None else moment))
        carried = {"host": str(address.host_port_subcomponent), "x-amz-date": stamp}
        carried |= {"x-amz-security-token": self.token} if self.token else {}
        return {
            **{name: value for name, value in carried.items() if name != "host"},
            "Authorization": self.authorization(address, data, method, carried),
        }

    def authorization(self, address: URL, data: bytes, method: str, carried: Mapping[str, str]) -> str:
        """The header that proves who sent the request."""
        stamp = carried["x-amz-date"]
        scope = "/".join((stamp[:8], self.region, self.service, "aws4_request"))
        names = ";".join(sorted(carried))
        canonical = "\n".join(
            (
                method,
                # Every service but S3 wants the path encoded once more than it is sent.
                quote(address.raw_path, safe="/-_.~"),
                _query(address),
                *(f"{name}:{carried[name]}" for name in sorted(carried)),
                "",
                names,
                hashlib.sha256(data).hexdigest(),
            )
        )
        text = "\n".join((ALGORITHM, stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()))
        key = reduce(_hmac, scope.split("/"), f"AWS4{self.secret}".encode())
        signature = _hmac(key, text).hex()
        return (
            f"{ALGORITHM} Credential={self.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
        )


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _query(address: URL) -> str:
    pairs = [tuple(quote(text, safe="-_.~") for text in pair) for pair in address.query.items()]
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))
