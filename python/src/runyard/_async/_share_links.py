"""`client.share_links`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._lists import AsyncShareLinkList
from .._models import ListShareLinksResponse, NewShareLink, ShareLink
from .._options import RequestOptions
from .._params import CreateShareLinkParams, ListShareLinksParams
from .._parse import into
from .._request import Call, segment
from .._split import split
from ._page import AsyncShareLinkPage
from ._streaming_response import raw_method, streaming_method
from ._transport import AsyncRawTransport, AsyncStreamingTransport, AsyncTransport


class AsyncShareLinks:
    """`client.share_links`: links that open one run for people without a key.

    Only what makes one gives its address, once.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> AsyncShareLinksWithRawResponse:
        """The same methods, returning status and headers as well."""
        return AsyncShareLinksWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncShareLinksWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return AsyncShareLinksWithStreamingResponse(self._transport)

    async def create(self, run_id: str, **params: Unpack[CreateShareLinkParams]) -> NewShareLink:
        """Makes a link to a run, which works until it is revoked or `expires_at`.

        For who created the run, and admins.
        """
        body, options = split("create", params, CreateShareLinkParams)
        return await self._transport.send(Call("POST", _path(run_id), body=body), into(NewShareLink), options)

    def list(self, run_id: str, **params: Unpack[ListShareLinksParams]) -> AsyncShareLinkList:
        """The links of a run, oldest first, without their addresses. Iterated, it goes through all pages."""
        fields, options = split("list", params, ListShareLinksParams)

        async def fetch(cursor: str | None) -> AsyncShareLinkPage:
            call = Call("GET", _path(run_id), {**fields, "cursor": cursor})
            read = into(ListShareLinksResponse, "share_links")
            return AsyncShareLinkPage(await self._transport.send(call, read, options), cursor, fetch)

        return AsyncShareLinkList(lambda: fetch(fields.get("cursor")))

    async def list_page(self, run_id: str, **params: Unpack[ListShareLinksParams]) -> ListShareLinksResponse:
        """One page of links as it comes. `list` goes on to the next ones."""
        fields, options = split("list", params, ListShareLinksParams)
        call = Call("GET", _path(run_id), fields)
        return await self._transport.send(call, into(ListShareLinksResponse), options)

    async def revoke(self, run_id: str, share_link_id: str, **options: Unpack[RequestOptions]) -> ShareLink:
        """Ends a link, and what was opened with it; returns it as it was."""
        call = Call("DELETE", f"{_path(run_id)}/{segment(share_link_id)}")
        return await self._transport.send(call, into(ShareLink), options)


def _path(run_id: str) -> str:
    return f"/agent/runs/{segment(run_id)}/share-links"


class AsyncShareLinksWithRawResponse:
    """`client.share_links.with_raw_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        share_links = AsyncShareLinks(AsyncRawTransport(transport.settings, transport.http))
        self.create = raw_method(share_links.create)
        self.list = raw_method(share_links.list_page)
        self.revoke = raw_method(share_links.revoke)


class AsyncShareLinksWithStreamingResponse:
    """`client.share_links.with_streaming_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        share_links = AsyncShareLinks(AsyncStreamingTransport(transport.settings, transport.http))
        self.create = streaming_method(share_links.create)
        self.list = streaming_method(share_links.list_page)
        self.revoke = streaming_method(share_links.revoke)
