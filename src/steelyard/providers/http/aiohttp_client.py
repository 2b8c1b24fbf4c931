"""The second HTTP client, aiohttp: for batch files, lists, and every call that goes through a proxy.

Its errors are raised as those of the connection pool, so that nobody else knows of it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from yarl import URL

from steelyard.providers.http.connection import ConnectError, ProtocolError


class AiohttpClient:
    def __init__(self, headers: Mapping[str, str], timeout: float | None, *, proxies: bool) -> None:
        # The runner limits concurrency: a second limit here would count waiting as latency. A connection
        # carries one request: what a server sends after its response would be taken for the next one's.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, force_close=True),
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=timeout),
            auto_decompress=False,
            trust_env=proxies,
        )

    async def close(self) -> None:
        await self._session.close()

    @asynccontextmanager
    async def request(self, method: str, url: URL, **options: Any) -> AsyncIterator[aiohttp.ClientResponse]:
        try:
            async with self._session.request(method, url, allow_redirects=False, **options) as response:
                yield response
        except TimeoutError:
            raise
        except aiohttp.ClientConnectorCertificateError as error:
            raise error.certificate_error from error
        except aiohttp.ClientConnectorError as error:
            raise ConnectError(str(error)) from error
        except (aiohttp.ClientPayloadError, aiohttp.ClientResponseError) as error:
            raise ProtocolError(str(error)) from error
        except aiohttp.ClientError as error:
            raise ConnectionResetError(str(error) or type(error).__name__) from error


def multipart_form(fields: Mapping[str, str], name: str, data: bytes) -> aiohttp.Payload:
    form = aiohttp.FormData(dict(fields))
    form.add_field("file", data, filename=name, content_type="application/jsonl")
    return form()
