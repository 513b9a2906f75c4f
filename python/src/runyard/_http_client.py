"""What sends the requests, when nothing else is given."""

from __future__ import annotations

import ssl
from functools import lru_cache

import httpx

# Each stream holds a connection for as long as its run lives.
_LIMITS = httpx.Limits(max_connections=1000, max_keepalive_connections=100)


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    # Reading them takes longer than all else that a new client does.
    return httpx.create_ssl_context()


class DefaultHttpClient(httpx.Client):
    """The client that `Runyard` makes: an `httpx.Client` for many streams."""

    def __init__(self) -> None:
        super().__init__(limits=_LIMITS, verify=_certificates())


class AsyncDefaultHttpClient(httpx.AsyncClient):
    """The client that `AsyncRunyard` makes: an `httpx.AsyncClient` for many streams."""

    def __init__(self) -> None:
        super().__init__(limits=_LIMITS, verify=_certificates())


def DefaultAioHttpClient() -> httpx.AsyncClient:
    """A client for `AsyncRunyard(http_client=…)` that sends with aiohttp, which is faster under many requests at once.

    Needs the extra: `pip install runyard[aiohttp]`.
    """
    try:
        from httpx_aiohttp import AiohttpTransport
    except ImportError as error:
        raise RuntimeError("DefaultAioHttpClient needs aiohttp: pip install 'runyard[aiohttp]'.") from error
    return httpx.AsyncClient(transport=AiohttpTransport(limits=_LIMITS))
