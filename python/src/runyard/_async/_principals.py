"""`client.principals`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._lists import AsyncPrincipalList
from .._models import ListPrincipalsResponse, Principal
from .._options import RequestOptions
from .._params import ListPrincipalsParams
from .._parse import into
from .._request import Call, segment
from .._split import split
from ._page import AsyncPrincipalPage
from ._streaming_response import raw_method, streaming_method
from ._transport import AsyncRawTransport, AsyncStreamingTransport, AsyncTransport

_PATH = "/principals"


class AsyncPrincipals:
    """`client.principals`: people. For admins."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> AsyncPrincipalsWithRawResponse:
        """The same methods, returning status and headers as well."""
        return AsyncPrincipalsWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncPrincipalsWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return AsyncPrincipalsWithStreamingResponse(self._transport)

    def list(self, **params: Unpack[ListPrincipalsParams]) -> AsyncPrincipalList:
        """People, newest first. Iterated, it goes through all pages."""
        fields, options = split("list", params, ListPrincipalsParams)

        async def fetch(cursor: str | None) -> AsyncPrincipalPage:
            call = Call("GET", _PATH, {**fields, "cursor": cursor})
            read = into(ListPrincipalsResponse, "principals")
            return AsyncPrincipalPage(await self._transport.send(call, read, options), cursor, fetch)

        return AsyncPrincipalList(lambda: fetch(fields.get("cursor")))

    async def list_page(self, **params: Unpack[ListPrincipalsParams]) -> ListPrincipalsResponse:
        """One page of people as it comes. `list` goes on to the next ones."""
        fields, options = split("list", params, ListPrincipalsParams)
        return await self._transport.send(Call("GET", _PATH, fields), into(ListPrincipalsResponse), options)

    async def disable(self, uid: str, **options: Unpack[RequestOptions]) -> Principal:
        """Stops everything that is done as this person.

        The one with the last admin key that works is a `ConflictError`.
        """
        call = Call("POST", f"{_PATH}/{segment(uid)}/disable")
        return await self._transport.send(call, into(Principal), options)

    async def enable(self, uid: str, **options: Unpack[RequestOptions]) -> Principal:
        """Lets a person go on: keys that were not revoked meanwhile work again."""
        call = Call("POST", f"{_PATH}/{segment(uid)}/enable")
        return await self._transport.send(call, into(Principal), options)


class AsyncPrincipalsWithRawResponse:
    """`client.principals.with_raw_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        principals = AsyncPrincipals(AsyncRawTransport(transport.settings, transport.http))
        self.list = raw_method(principals.list_page)
        self.disable = raw_method(principals.disable)
        self.enable = raw_method(principals.enable)


class AsyncPrincipalsWithStreamingResponse:
    """`client.principals.with_streaming_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        principals = AsyncPrincipals(AsyncStreamingTransport(transport.settings, transport.http))
        self.list = streaming_method(principals.list_page)
        self.disable = streaming_method(principals.disable)
        self.enable = streaming_method(principals.enable)
