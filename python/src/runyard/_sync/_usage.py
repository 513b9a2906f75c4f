# Generated from _async/_usage.py by scripts/unasync.py; do not edit.
"""`client.usage`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._models import Usage
from .._params import UsageParams
from .._parse import into
from .._request import Call
from .._split import split
from ._streaming_response import raw_method, streaming_method
from ._transport import RawTransport, StreamingTransport, Transport


class UsageResource:
    """`client.usage`: what runs have come to."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> UsageResourceWithRawResponse:
        """The same methods, returning status and headers as well."""
        return UsageResourceWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> UsageResourceWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return UsageResourceWithStreamingResponse(self._transport)

    def get(self, **params: Unpack[UsageParams]) -> Usage:
        """What runs have come to, by day, agent, model and environment.

        Of 30 days, unless the parameters say otherwise.
        """
        given, options = split("get", params, UsageParams)
        fields = {"from" if name == "from_" else name: value for name, value in given.items()}
        return self._transport.send(Call("GET", "/agent/usage", fields), into(Usage), options)


class UsageResourceWithRawResponse:
    """`client.usage.with_raw_response`"""

    def __init__(self, transport: Transport) -> None:
        usage = UsageResource(RawTransport(transport.settings, transport.http))
        self.get = raw_method(usage.get)


class UsageResourceWithStreamingResponse:
    """`client.usage.with_streaming_response`"""

    def __init__(self, transport: Transport) -> None:
        usage = UsageResource(StreamingTransport(transport.settings, transport.http))
        self.get = streaming_method(usage.get)
