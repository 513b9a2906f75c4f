"""`client.grants`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._models import ResourceGrants
from .._params import GrantsParams, PutGrantsParams
from .._parse import into
from .._request import Call
from .._split import split
from ._streaming_response import raw_method, streaming_method
from ._transport import AsyncRawTransport, AsyncStreamingTransport, AsyncTransport

_PATH = "/agent/grants"


class AsyncGrants:
    """`client.grants`: who may use a pool, an environment, an identity or a secret."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> AsyncGrantsWithRawResponse:
        """The same methods, returning status and headers as well."""
        return AsyncGrantsWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncGrantsWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return AsyncGrantsWithStreamingResponse(self._transport)

    async def get(self, **params: Unpack[GrantsParams]) -> ResourceGrants:
        """Those of one pool, environment, identity or secret."""
        fields, options = split("get", params, GrantsParams)
        return await self._transport.send(Call("GET", _PATH, fields), into(ResourceGrants), options)

    async def put(self, **params: Unpack[PutGrantsParams]) -> ResourceGrants:
        """Replaces those of one pool, environment, identity or secret.

        With nobody in `principal_ids` it is as it was without grants.
        """
        body, options = split("put", params, PutGrantsParams)
        return await self._transport.send(Call("PUT", _PATH, body=body), into(ResourceGrants), options)


class AsyncGrantsWithRawResponse:
    """`client.grants.with_raw_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        grants = AsyncGrants(AsyncRawTransport(transport.settings, transport.http))
        self.get = raw_method(grants.get)
        self.put = raw_method(grants.put)


class AsyncGrantsWithStreamingResponse:
    """`client.grants.with_streaming_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        grants = AsyncGrants(AsyncStreamingTransport(transport.settings, transport.http))
        self.get = streaming_method(grants.get)
        self.put = streaming_method(grants.put)
