# Generated from _async/_settings.py by scripts/unasync.py; do not edit.
"""`client.settings`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._models import ListSettingsResponse
from .._options import RequestOptions
from .._parse import into
from .._request import Call
from ._streaming_response import raw_method, streaming_method
from ._transport import RawTransport, StreamingTransport, Transport


class SettingsResource:
    """`client.settings`"""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> SettingsResourceWithRawResponse:
        """The same methods, returning status and headers as well."""
        return SettingsResourceWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> SettingsResourceWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return SettingsResourceWithStreamingResponse(self._transport)

    def list(self, **options: Unpack[RequestOptions]) -> ListSettingsResponse:
        """The settings of the service that answers, without the values of secrets; for admins."""
        return self._transport.send(Call("GET", "/agent/settings"), into(ListSettingsResponse), options)


class SettingsResourceWithRawResponse:
    """`client.settings.with_raw_response`"""

    def __init__(self, transport: Transport) -> None:
        self.list = raw_method(SettingsResource(RawTransport(transport.settings, transport.http)).list)


class SettingsResourceWithStreamingResponse:
    """`client.settings.with_streaming_response`"""

    def __init__(self, transport: Transport) -> None:
        settings = SettingsResource(StreamingTransport(transport.settings, transport.http))
        self.list = streaming_method(settings.list)
