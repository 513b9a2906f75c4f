"""`client.models`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._models import ListModelsResponse
from .._options import RequestOptions
from .._parse import into
from .._request import Call
from ._streaming_response import raw_method, streaming_method
from ._transport import AsyncRawTransport, AsyncStreamingTransport, AsyncTransport


class AsyncModels:
    """`client.models`"""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> AsyncModelsWithRawResponse:
        """The same methods, returning status and headers as well."""
        return AsyncModelsWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncModelsWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return AsyncModelsWithStreamingResponse(self._transport)

    async def list(self, **options: Unpack[RequestOptions]) -> ListModelsResponse:
        """The models that the live workers can use now."""
        return await self._transport.send(Call("GET", "/agent/models"), into(ListModelsResponse), options)


class AsyncModelsWithRawResponse:
    """`client.models.with_raw_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        self.list = raw_method(AsyncModels(AsyncRawTransport(transport.settings, transport.http)).list)


class AsyncModelsWithStreamingResponse:
    """`client.models.with_streaming_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        models = AsyncModels(AsyncStreamingTransport(transport.settings, transport.http))
        self.list = streaming_method(models.list)
