# Generated from _async/_models.py by scripts/unasync.py; do not edit.
"""`client.models`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._models import ListModelsResponse
from .._options import RequestOptions
from .._parse import into
from .._request import Call
from ._streaming_response import raw_method, streaming_method
from ._transport import RawTransport, StreamingTransport, Transport


class Models:
    """`client.models`"""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> ModelsWithRawResponse:
        """The same methods, returning status and headers as well."""
        return ModelsWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> ModelsWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return ModelsWithStreamingResponse(self._transport)

    def list(self, **options: Unpack[RequestOptions]) -> ListModelsResponse:
        """The models that the live workers can use now."""
        return self._transport.send(Call("GET", "/agent/models"), into(ListModelsResponse), options)


class ModelsWithRawResponse:
    """`client.models.with_raw_response`"""

    def __init__(self, transport: Transport) -> None:
        self.list = raw_method(Models(RawTransport(transport.settings, transport.http)).list)


class ModelsWithStreamingResponse:
    """`client.models.with_streaming_response`"""

    def __init__(self, transport: Transport) -> None:
        models = Models(StreamingTransport(transport.settings, transport.http))
        self.list = streaming_method(models.list)
