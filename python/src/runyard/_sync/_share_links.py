# Generated from _async/_share_links.py by scripts/unasync.py; do not edit.
"""`client.share_links`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._lists import ShareLinkList
from .._models import ListShareLinksResponse, NewShareLink, ShareLink
from .._options import RequestOptions
from .._params import CreateShareLinkParams, ListShareLinksParams
from .._parse import into
from .._request import Call, segment
from .._split import split
from ._page import ShareLinkPage
from ._streaming_response import raw_method, streaming_method
from ._transport import RawTransport, StreamingTransport, Transport


class ShareLinks:
    """`client.share_links`: links that open one run for people without a key.

    Only what makes one gives its address, once.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> ShareLinksWithRawResponse:
        """The same methods, returning status and headers as well."""
        return ShareLinksWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> ShareLinksWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return ShareLinksWithStreamingResponse(self._transport)

    def create(self, run_id: str, **params: Unpack[CreateShareLinkParams]) -> NewShareLink:
        """Makes a link to a run, which works until it is revoked or `expires_at`.

        For who created the run, and admins.
        """
        body, options = split("create", params, CreateShareLinkParams)
        return self._transport.send(Call("POST", _path(run_id), body=body), into(NewShareLink), options)

    def list(self, run_id: str, **params: Unpack[ListShareLinksParams]) -> ShareLinkList:
        """The links of a run, oldest first, without their addresses. Iterated, it goes through all pages."""
        fields, options = split("list", params, ListShareLinksParams)

        def fetch(cursor: str | None) -> ShareLinkPage:
            call = Call("GET", _path(run_id), {**fields, "cursor": cursor})
            read = into(ListShareLinksResponse, "share_links")
            return ShareLinkPage(self._transport.send(call, read, options), cursor, fetch)

        return ShareLinkList(lambda: fetch(fields.get("cursor")))

    def list_page(self, run_id: str, **params: Unpack[ListShareLinksParams]) -> ListShareLinksResponse:
        """One page of links as it comes. `list` goes on to the next ones."""
        fields, options = split("list", params, ListShareLinksParams)
        call = Call("GET", _path(run_id), fields)
        return self._transport.send(call, into(ListShareLinksResponse), options)

    def revoke(self, run_id: str, share_link_id: str, **options: Unpack[RequestOptions]) -> ShareLink:
        """Ends a link, and what was opened with it; returns it as it was."""
        call = Call("DELETE", f"{_path(run_id)}/{segment(share_link_id)}")
        return self._transport.send(call, into(ShareLink), options)


def _path(run_id: str) -> str:
    return f"/agent/runs/{segment(run_id)}/share-links"


class ShareLinksWithRawResponse:
    """`client.share_links.with_raw_response`"""

    def __init__(self, transport: Transport) -> None:
        share_links = ShareLinks(RawTransport(transport.settings, transport.http))
        self.create = raw_method(share_links.create)
        self.list = raw_method(share_links.list_page)
        self.revoke = raw_method(share_links.revoke)


class ShareLinksWithStreamingResponse:
    """`client.share_links.with_streaming_response`"""

    def __init__(self, transport: Transport) -> None:
        share_links = ShareLinks(StreamingTransport(transport.settings, transport.http))
        self.create = streaming_method(share_links.create)
        self.list = streaming_method(share_links.list_page)
        self.revoke = streaming_method(share_links.revoke)
