# Generated from _async/_pools.py by scripts/unasync.py; do not edit.
"""`client.pools`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._lists import PoolList
from .._models import ListPoolsResponse
from .._params import ListPoolsParams
from .._parse import into
from .._request import Call
from .._split import split
from ._page import PoolPage
from ._streaming_response import raw_method, streaming_method
from ._transport import RawTransport, StreamingTransport, Transport

_PATH = "/agent/pools"


class Pools:
    """`client.pools`: workers that take the same runs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> PoolsWithRawResponse:
        """The same methods, returning status and headers as well."""
        return PoolsWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> PoolsWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return PoolsWithStreamingResponse(self._transport)

    def list(self, **params: Unpack[ListPoolsParams]) -> PoolList:
        """Pools that you may name in `worker_host`, by name, and what their workers are doing.

        Iterated, it goes through all pages.
        """
        fields, options = split("list", params, ListPoolsParams)

        def fetch(cursor: str | None) -> PoolPage:
            call = Call("GET", _PATH, {**fields, "cursor": cursor})
            read = into(ListPoolsResponse, "pools")
            return PoolPage(self._transport.send(call, read, options), cursor, fetch)

        return PoolList(lambda: fetch(fields.get("cursor")))

    def list_page(self, **params: Unpack[ListPoolsParams]) -> ListPoolsResponse:
        """One page of pools as it comes. `list` goes on to the next ones."""
        fields, options = split("list", params, ListPoolsParams)
        return self._transport.send(Call("GET", _PATH, fields), into(ListPoolsResponse), options)


class PoolsWithRawResponse:
    """`client.pools.with_raw_response`"""

    def __init__(self, transport: Transport) -> None:
        pools = Pools(RawTransport(transport.settings, transport.http))
        self.list = raw_method(pools.list_page)


class PoolsWithStreamingResponse:
    """`client.pools.with_streaming_response`"""

    def __init__(self, transport: Transport) -> None:
        pools = Pools(StreamingTransport(transport.settings, transport.http))
        self.list = streaming_method(pools.list_page)
