"""What `DefaultAioHttpClient` makes; imported only with the extra `aiohttp`."""

from __future__ import annotations

from typing import Any

import httpx
from aiohttp import ClientSession, DummyCookieJar
from httpx_aiohttp import AiohttpTransport, HttpxAiohttpClient


class AioHttpClient(HttpxAiohttpClient):
    """An `httpx.AsyncClient` that sends with aiohttp, also through proxies."""

    def _init_transport(self, *args: Any, **options: Any) -> httpx.AsyncBaseTransport:
        transport: httpx.AsyncBaseTransport | None = options.pop("transport", None)
        return transport or _Transport(*args, **options)

    def _init_proxy_transport(
        self, proxy: httpx.Proxy, *args: Any, **options: Any
    ) -> httpx.AsyncBaseTransport:
        options["proxy"] = proxy
        return _Transport(*args, **options)


class _Transport(AiohttpTransport):
    def get_client(self) -> ClientSession:
        made = super().get_client()
        # aiohttp calls an empty body `application/octet-stream`, which the service refuses, and keeps cookies that
        # are httpx's matter.
        session = ClientSession(
            connector=made.connector, skip_auto_headers=["Content-Type"], cookie_jar=DummyCookieJar()
        )
        made.detach()
        return session
