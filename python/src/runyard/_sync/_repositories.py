# Generated from _async/_repositories.py by scripts/unasync.py; do not edit.
"""`client.repositories`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._models import ListBranchesResponse, ListRepositoriesResponse
from .._params import ListBranchesParams, ListRepositoriesParams
from .._parse import into
from .._request import Call
from .._split import split
from ._streaming_response import raw_method, streaming_method
from ._transport import RawTransport, StreamingTransport, Transport


class Repositories:
    """`client.repositories`: what your git secrets reach at GitHub and GitLab."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> RepositoriesWithRawResponse:
        """The same methods, returning status and headers as well."""
        return RepositoriesWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> RepositoriesWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return RepositoriesWithStreamingResponse(self._transport)

    def list(self, **params: Unpack[ListRepositoriesParams]) -> ListRepositoriesResponse:
        """Repositories, last used first. A host that fails is one of `notes`."""
        fields, options = split("list", params, ListRepositoriesParams)
        call = Call("GET", "/agent/repositories", fields)
        return self._transport.send(call, into(ListRepositoriesResponse), options)

    def branches(self, **params: Unpack[ListBranchesParams]) -> ListBranchesResponse:
        """Branches of one. What fails is one of `notes`."""
        fields, options = split("branches", params, ListBranchesParams)
        call = Call("GET", "/agent/repositories/branches", fields)
        return self._transport.send(call, into(ListBranchesResponse), options)


class RepositoriesWithRawResponse:
    """`client.repositories.with_raw_response`"""

    def __init__(self, transport: Transport) -> None:
        repositories = Repositories(RawTransport(transport.settings, transport.http))
        self.list = raw_method(repositories.list)
        self.branches = raw_method(repositories.branches)


class RepositoriesWithStreamingResponse:
    """`client.repositories.with_streaming_response`"""

    def __init__(self, transport: Transport) -> None:
        repositories = Repositories(StreamingTransport(transport.settings, transport.http))
        self.list = streaming_method(repositories.list)
        self.branches = streaming_method(repositories.branches)
