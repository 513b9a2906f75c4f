"""`client.settings`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._models import ListSettingsResponse
from .._options import RequestOptions
from .._parse import into
from .._request import Call
from ._streaming_response import raw_method, streaming_method
from ._transport import AsyncRawTransport, AsyncStreamingTransport, AsyncTransport


class AsyncSettingsResource:
    """`client.settings`"""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> AsyncSettingsResourceWithRawResponse:
        """The same methods, returning status and headers as well."""
        return AsyncSettingsResourceWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncSettingsResourceWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return AsyncSettingsResourceWithStreamingResponse(self._transport)

    async def list(self, **options: Unpack[RequestOptions]) -> ListSettingsResponse:
        """The settings of the service that answers, without the values of secrets; for admins."""
        return await self._transport.send(Call("GET", "/agent/settings"), into(ListSettingsResponse), options)


class AsyncSettingsResourceWithRawResponse:
    """`client.settings.with_raw_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        self.list = raw_method(
            AsyncSettingsResource(AsyncRawTransport(transport.settings, transport.http)).list
        )


class AsyncSettingsResourceWithStreamingResponse:
    """`client.settings.with_streaming_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        settings = AsyncSettingsResource(AsyncStreamingTransport(transport.settings, transport.http))
        self.list = streaming_method(settings.list)
