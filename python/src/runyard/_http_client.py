"""What sends the requests, when nothing else is given."""

from __future__ import annotations

import ssl
from contextlib import suppress
from functools import lru_cache
from typing import Any

import httpx

# Each stream holds a connection for as long as its run lives.
_LIMITS = httpx.Limits(max_connections=1000, max_keepalive_connections=100)


class DefaultHttpClient(httpx.Client):
    """The client that `Runyard` makes: an `httpx.Client` for many streams. Takes what `httpx.Client` takes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**_with_defaults(options))

    def __del__(self) -> None:
        # At the end of the interpreter much is gone already, and of one that was refused nothing is there.
        with suppress(Exception):
            self.close()


class AsyncDefaultHttpClient(httpx.AsyncClient):
    """The client that `AsyncRunyard` makes: an `httpx.AsyncClient` for many streams. Takes what that one takes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**_with_defaults(options))


def DefaultAioHttpClient(**options: Any) -> httpx.AsyncClient:
    """A client for `AsyncRunyard(http_client=…)` that sends with aiohttp, which is faster under many requests at once.

    Takes what `httpx.AsyncClient` takes, and works under asyncio only. Close it yourself. aiohttp repeats a request
    without side effects once by itself when its connection breaks. Needs the extra: `pip install 'runyard[aiohttp]'`.
    """
    try:
        from ._aiohttp import AioHttpClient
    except ImportError as error:
        raise RuntimeError("DefaultAioHttpClient needs aiohttp: pip install 'runyard[aiohttp]'.") from error
    return AioHttpClient(**_with_defaults(options))


def _with_defaults(options: dict[str, Any]) -> dict[str, Any]:
    # Certificates of the caller's must not end up in what all clients share.
    own = {} if {"verify", "cert", "trust_env"} & options.keys() else {"verify": _certificates()}
    return {"limits": _LIMITS, **own, **options}


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    # Reading them takes longer than all else that a new client does.
    return httpx.create_ssl_context()
