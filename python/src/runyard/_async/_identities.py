"""`client.identities`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._lists import AsyncIdentityList
from .._models import AgentIdentity, ListAgentIdentitiesResponse
from .._options import RequestOptions
from .._params import CreateIdentityParams, ListIdentitiesParams, UpdateIdentityParams
from .._parse import into
from .._request import Call, segment
from .._split import split
from ._page import AsyncIdentityPage
from ._streaming_response import raw_method, streaming_method
from ._transport import AsyncRawTransport, AsyncStreamingTransport, AsyncTransport

_PATH = "/agent/identities"


class AsyncIdentities:
    """`client.identities`: service accounts that execute runs, which name one in `agent_identity_uid`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> AsyncIdentitiesWithRawResponse:
        """The same methods, returning status and headers as well."""
        return AsyncIdentitiesWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncIdentitiesWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return AsyncIdentitiesWithStreamingResponse(self._transport)

    async def create(self, **params: Unpack[CreateIdentityParams]) -> AgentIdentity:
        """Makes an identity. What of it this service does not offer is a `PermissionDeniedError`."""
        body, options = split("create", params, CreateIdentityParams)
        return await self._transport.send(Call("POST", _PATH, body=body), into(AgentIdentity), options)

    def list(self, **params: Unpack[ListIdentitiesParams]) -> AsyncIdentityList:
        """Identities by name, up to 500 a page: all that there may be. Iterated, it goes through all pages."""
        fields, options = split("list", params, ListIdentitiesParams)

        async def fetch(cursor: str | None) -> AsyncIdentityPage:
            call = Call("GET", _PATH, {**fields, "cursor": cursor})
            read = into(ListAgentIdentitiesResponse, "agents")
            return AsyncIdentityPage(await self._transport.send(call, read, options), cursor, fetch)

        return AsyncIdentityList(lambda: fetch(fields.get("cursor")))

    async def list_page(self, **params: Unpack[ListIdentitiesParams]) -> ListAgentIdentitiesResponse:
        """One page of identities as it comes. `list` goes on to the next ones."""
        fields, options = split("list", params, ListIdentitiesParams)
        return await self._transport.send(
            Call("GET", _PATH, fields), into(ListAgentIdentitiesResponse), options
        )

    async def retrieve(self, uid: str, **options: Unpack[RequestOptions]) -> AgentIdentity:
        """One identity. One that is not there is a `NotFoundError`."""
        return await self._transport.send(
            Call("GET", f"{_PATH}/{segment(uid)}"), into(AgentIdentity), options
        )

    async def update(self, uid: str, **params: Unpack[UpdateIdentityParams]) -> AgentIdentity:
        """Changes what is named. What is left out or None stays, an empty text or list is none."""
        body, options = split("update", params, UpdateIdentityParams)
        call = Call("PUT", f"{_PATH}/{segment(uid)}", body=body)
        return await self._transport.send(call, into(AgentIdentity), options)

    async def delete(self, uid: str, **options: Unpack[RequestOptions]) -> AgentIdentity:
        """Deletes an identity, and returns it as it was: its keys are revoked, its runs stay."""
        return await self._transport.send(
            Call("DELETE", f"{_PATH}/{segment(uid)}"), into(AgentIdentity), options
        )


class AsyncIdentitiesWithRawResponse:
    """`client.identities.with_raw_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        identities = AsyncIdentities(AsyncRawTransport(transport.settings, transport.http))
        self.create = raw_method(identities.create)
        self.list = raw_method(identities.list_page)
        self.retrieve = raw_method(identities.retrieve)
        self.update = raw_method(identities.update)
        self.delete = raw_method(identities.delete)


class AsyncIdentitiesWithStreamingResponse:
    """`client.identities.with_streaming_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        identities = AsyncIdentities(AsyncStreamingTransport(transport.settings, transport.http))
        self.create = streaming_method(identities.create)
        self.list = streaming_method(identities.list_page)
        self.retrieve = streaming_method(identities.retrieve)
        self.update = streaming_method(identities.update)
        self.delete = streaming_method(identities.delete)
