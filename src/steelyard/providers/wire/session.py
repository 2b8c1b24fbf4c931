"""What is rare goes by way of aiohttp: files of batches, lists, and every call for which there is a proxy.

Its errors are told as those of our own lines, so that nobody else knows of it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from yarl import URL

from steelyard.providers.wire.lines import BrokenReplyError, NoLineError


class Session:
    """A client with the same headers for every request."""

    def __init__(self, headers: Mapping[str, str], timeout: float | None, *, proxies: bool) -> None:
        """`proxies` says whether those of the environment are asked."""
        # The runner limits concurrency: a second limit here would count waiting as latency.
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=timeout),
            auto_decompress=False,
            trust_env=proxies,
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()

    @asynccontextmanager
    async def response(self, method: str, address: URL, **sent: Any) -> AsyncIterator[aiohttp.ClientResponse]:
        """One attempt, whose body is read by the caller."""
        try:
            async with self._client.request(method, address, allow_redirects=False, **sent) as response:
                yield response
        except TimeoutError:
            raise
        except aiohttp.ClientConnectorCertificateError as error:
            raise error.certificate_error from error
        except aiohttp.ClientConnectorError as error:
            raise NoLineError(str(error)) from error
        except (aiohttp.ClientPayloadError, aiohttp.ClientResponseError) as error:
            raise BrokenReplyError(str(error)) from error
        except aiohttp.ClientError as error:
            raise ConnectionResetError(str(error) or type(error).__name__) from error


def form(fields: Mapping[str, str], name: str, data: bytes) -> aiohttp.Payload:
    """A file with the fields that go with it, as browsers send them."""
    made = aiohttp.FormData(dict(fields))
    made.add_field("file", data, filename=name, content_type="application/jsonl")
    return made()
