# Generated from _async/_endpoints.py by scripts/unasync.py; do not edit.
"""`client.get` and its like: endpoints that have no method of their own."""

from __future__ import annotations

from typing import Any, cast

import httpx
from typing_extensions import TypeVar, Unpack

from .._options import RequestOptions
from .._parse import into, read_json
from .._query import Query
from .._request import Call
from ._streaming_response import raw_method, streaming_method
from ._transport import RawTransport, StreamingTransport, Transport

T = TypeVar("T", default=Any)


class Endpoints:
    """Requests to any path below the base URL, `/agent/runs` for example.

    They are sent like all others. An answer is any JSON value (None when empty), or the type that `cast_to` names.
    """

    _transport: Transport

    def get(
        self,
        path: str,
        *,
        cast_to: type[T] | None = None,
        query: Query | None = None,
        **options: Unpack[RequestOptions],
    ) -> T:
        """Asks for what is at the path."""
        return self._call(Call("GET", path, query or {}), cast_to, options)

    def post(
        self,
        path: str,
        *,
        cast_to: type[T] | None = None,
        body: object = None,
        query: Query | None = None,
        **options: Unpack[RequestOptions],
    ) -> T:
        """Sends the body as JSON, with an Idempotency-Key."""
        return self._call(Call("POST", path, query or {}, body), cast_to, options)

    def put(
        self,
        path: str,
        *,
        cast_to: type[T] | None = None,
        body: object = None,
        query: Query | None = None,
        **options: Unpack[RequestOptions],
    ) -> T:
        """Sends the body as JSON."""
        return self._call(Call("PUT", path, query or {}, body), cast_to, options)

    def patch(
        self,
        path: str,
        *,
        cast_to: type[T] | None = None,
        body: object = None,
        query: Query | None = None,
        **options: Unpack[RequestOptions],
    ) -> T:
        """Sends the body as JSON."""
        return self._call(Call("PATCH", path, query or {}, body), cast_to, options)

    def delete(
        self,
        path: str,
        *,
        cast_to: type[T] | None = None,
        body: object = None,
        query: Query | None = None,
        **options: Unpack[RequestOptions],
    ) -> T:
        """Deletes what is at the path."""
        return self._call(Call("DELETE", path, query or {}, body), cast_to, options)

    def _call(self, call: Call, cast_to: type[T] | None, options: RequestOptions) -> T:
        def read(response: httpx.Response) -> T:
            # Without a type to cast to, T is Any.
            return cast("T", read_json(response)) if cast_to is None else into(cast_to)(response)

        return self._transport.send(call, read, options)


class _EndpointsOf(Endpoints):
    def __init__(self, transport: Transport) -> None:
        self._transport = transport


class EndpointsWithRawResponse:
    """`client.with_raw_response`"""

    def __init__(self, transport: Transport) -> None:
        endpoints = _EndpointsOf(RawTransport(transport.settings, transport.http))
        self.get = raw_method(endpoints.get)
        self.post = raw_method(endpoints.post)
        self.put = raw_method(endpoints.put)
        self.patch = raw_method(endpoints.patch)
        self.delete = raw_method(endpoints.delete)


class EndpointsWithStreamingResponse:
    """`client.with_streaming_response`"""

    def __init__(self, transport: Transport) -> None:
        endpoints = _EndpointsOf(StreamingTransport(transport.settings, transport.http))
        self.get = streaming_method(endpoints.get)
        self.post = streaming_method(endpoints.post)
        self.put = streaming_method(endpoints.put)
        self.patch = streaming_method(endpoints.patch)
        self.delete = streaming_method(endpoints.delete)
