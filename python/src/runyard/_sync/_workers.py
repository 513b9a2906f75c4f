# Generated from _async/_workers.py by scripts/unasync.py; do not edit.
"""`client.workers`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._models import ListWorkersResponse, Queue
from .._params import ListWorkersParams, QueueParams
from .._parse import into
from .._request import Call
from .._split import split
from ._streaming_response import raw_method, streaming_method
from ._transport import RawTransport, StreamingTransport, Transport


class Workers:
    """`client.workers`: the processes that execute runs, and what waits for them."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> WorkersWithRawResponse:
        """The same methods, returning status and headers as well."""
        return WorkersWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> WorkersWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return WorkersWithStreamingResponse(self._transport)

    def list(self, **params: Unpack[ListWorkersParams]) -> ListWorkersResponse:
        """Workers of the pools that you may use, and the runs they hold that you may see."""
        fields, options = split("list", params, ListWorkersParams)
        return self._transport.send(Call("GET", "/agent/workers", fields), into(ListWorkersResponse), options)

    def queue(self, **params: Unpack[QueueParams]) -> Queue:
        """How many runs wait in each pool, and why each of them waits."""
        fields, options = split("queue", params, QueueParams)
        return self._transport.send(Call("GET", "/agent/queue", fields), into(Queue), options)


class WorkersWithRawResponse:
    """`client.workers.with_raw_response`"""

    def __init__(self, transport: Transport) -> None:
        workers = Workers(RawTransport(transport.settings, transport.http))
        self.list = raw_method(workers.list)
        self.queue = raw_method(workers.queue)


class WorkersWithStreamingResponse:
    """`client.workers.with_streaming_response`"""

    def __init__(self, transport: Transport) -> None:
        workers = Workers(StreamingTransport(transport.settings, transport.http))
        self.list = streaming_method(workers.list)
        self.queue = streaming_method(workers.queue)
