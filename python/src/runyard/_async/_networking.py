"""`client.networking`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._models import EgressRanges
from .._options import RequestOptions
from .._parse import into
from .._request import Call
from ._streaming_response import raw_method, streaming_method
from ._transport import AsyncRawTransport, AsyncStreamingTransport, AsyncTransport


class AsyncNetworking:
    """`client.networking`: what other services have to let through."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> AsyncNetworkingWithRawResponse:
        """The same methods, returning status and headers as well."""
        return AsyncNetworkingWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncNetworkingWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return AsyncNetworkingWithStreamingResponse(self._transport)

    async def egress_ranges(self, **options: Unpack[RequestOptions]) -> EgressRanges:
        """The networks that requests of agents come from, for allowlists of other services.

        Empty where the operator names none.
        """
        return await self._transport.send(
            Call("GET", "/networking/egress-ranges"), into(EgressRanges), options
        )


class AsyncNetworkingWithRawResponse:
    """`client.networking.with_raw_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        networking = AsyncNetworking(AsyncRawTransport(transport.settings, transport.http))
        self.egress_ranges = raw_method(networking.egress_ranges)


class AsyncNetworkingWithStreamingResponse:
    """`client.networking.with_streaming_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        networking = AsyncNetworking(AsyncStreamingTransport(transport.settings, transport.http))
        self.egress_ranges = streaming_method(networking.egress_ranges)
