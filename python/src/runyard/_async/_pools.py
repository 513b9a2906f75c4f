"""`client.pools`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._lists import AsyncPoolList
from .._models import ListPoolsResponse
from .._params import ListPoolsParams
from .._parse import into
from .._request import Call
from .._split import split
from ._page import AsyncPoolPage
from ._streaming_response import raw_method, streaming_method
from ._transport import AsyncRawTransport, AsyncStreamingTransport, AsyncTransport

_PATH = "/agent/pools"


class AsyncPools:
    """`client.pools`: workers that take the same runs."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> AsyncPoolsWithRawResponse:
        """The same methods, returning status and headers as well."""
        return AsyncPoolsWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncPoolsWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return AsyncPoolsWithStreamingResponse(self._transport)

    def list(self, **params: Unpack[ListPoolsParams]) -> AsyncPoolList:
        """Pools that you may name in `worker_host`, by name, and what their workers are doing.

        Iterated, it goes through all pages.
        """
        fields, options = split("list", params, ListPoolsParams)

        async def fetch(cursor: str | None) -> AsyncPoolPage:
            call = Call("GET", _PATH, {**fields, "cursor": cursor})
            read = into(ListPoolsResponse, "pools")
            return AsyncPoolPage(await self._transport.send(call, read, options), cursor, fetch)

        return AsyncPoolList(lambda: fetch(fields.get("cursor")))

    async def list_page(self, **params: Unpack[ListPoolsParams]) -> ListPoolsResponse:
        """One page of pools as it comes. `list` goes on to the next ones."""
        fields, options = split("list", params, ListPoolsParams)
        return await self._transport.send(Call("GET", _PATH, fields), into(ListPoolsResponse), options)


class AsyncPoolsWithRawResponse:
    """`client.pools.with_raw_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        pools = AsyncPools(AsyncRawTransport(transport.settings, transport.http))
        self.list = raw_method(pools.list_page)


class AsyncPoolsWithStreamingResponse:
    """`client.pools.with_streaming_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        pools = AsyncPools(AsyncStreamingTransport(transport.settings, transport.http))
        self.list = streaming_method(pools.list_page)
