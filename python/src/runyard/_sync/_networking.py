# Generated from _async/_networking.py by scripts/unasync.py; do not edit.
"""`client.networking`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._models import EgressRanges
from .._options import RequestOptions
from .._parse import into
from .._request import Call
from ._streaming_response import raw_method, streaming_method
from ._transport import RawTransport, StreamingTransport, Transport


class Networking:
    """`client.networking`: what other services have to let through."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> NetworkingWithRawResponse:
        """The same methods, returning status and headers as well."""
        return NetworkingWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> NetworkingWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return NetworkingWithStreamingResponse(self._transport)

    def egress_ranges(self, **options: Unpack[RequestOptions]) -> EgressRanges:
        """The networks that requests of agents come from, for allowlists of other services.

        Empty where the operator names none.
        """
        return self._transport.send(Call("GET", "/networking/egress-ranges"), into(EgressRanges), options)


class NetworkingWithRawResponse:
    """`client.networking.with_raw_response`"""

    def __init__(self, transport: Transport) -> None:
        networking = Networking(RawTransport(transport.settings, transport.http))
        self.egress_ranges = raw_method(networking.egress_ranges)


class NetworkingWithStreamingResponse:
    """`client.networking.with_streaming_response`"""

    def __init__(self, transport: Transport) -> None:
        networking = Networking(StreamingTransport(transport.settings, transport.http))
        self.egress_ranges = streaming_method(networking.egress_ranges)
