"""`client.repositories`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._models import ListBranchesResponse, ListRepositoriesResponse
from .._params import ListBranchesParams, ListRepositoriesParams
from .._parse import into
from .._request import Call
from .._split import split
from ._streaming_response import raw_method, streaming_method
from ._transport import AsyncRawTransport, AsyncStreamingTransport, AsyncTransport


class AsyncRepositories:
    """`client.repositories`: what your git secrets reach at GitHub and GitLab."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> AsyncRepositoriesWithRawResponse:
        """The same methods, returning status and headers as well."""
        return AsyncRepositoriesWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncRepositoriesWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return AsyncRepositoriesWithStreamingResponse(self._transport)

    async def list(self, **params: Unpack[ListRepositoriesParams]) -> ListRepositoriesResponse:
        """Repositories, last used first. A host that fails is one of `notes`."""
        fields, options = split("list", params, ListRepositoriesParams)
        call = Call("GET", "/agent/repositories", fields)
        return await self._transport.send(call, into(ListRepositoriesResponse), options)

    async def branches(self, **params: Unpack[ListBranchesParams]) -> ListBranchesResponse:
        """Branches of one. What fails is one of `notes`."""
        fields, options = split("branches", params, ListBranchesParams)
        call = Call("GET", "/agent/repositories/branches", fields)
        return await self._transport.send(call, into(ListBranchesResponse), options)


class AsyncRepositoriesWithRawResponse:
    """`client.repositories.with_raw_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        repositories = AsyncRepositories(AsyncRawTransport(transport.settings, transport.http))
        self.list = raw_method(repositories.list)
        self.branches = raw_method(repositories.branches)


class AsyncRepositoriesWithStreamingResponse:
    """`client.repositories.with_streaming_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        repositories = AsyncRepositories(AsyncStreamingTransport(transport.settings, transport.http))
        self.list = streaming_method(repositories.list)
        self.branches = streaming_method(repositories.branches)
