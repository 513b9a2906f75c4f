"""`client.audit_log`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._lists import AsyncAuditList
from .._models import ListAuditLogResponse
from .._params import ListAuditLogParams
from .._parse import into
from .._request import Call
from .._split import split
from ._page import AsyncAuditPage
from ._streaming_response import raw_method, streaming_method
from ._transport import AsyncRawTransport, AsyncStreamingTransport, AsyncTransport

_PATH = "/audit-log"


class AsyncAuditLog:
    """`client.audit_log`: who did what, when and from where. For admins."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> AsyncAuditLogWithRawResponse:
        """The same methods, returning status and headers as well."""
        return AsyncAuditLogWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncAuditLogWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return AsyncAuditLogWithStreamingResponse(self._transport)

    def list(self, **params: Unpack[ListAuditLogParams]) -> AsyncAuditList:
        """Entries, newest first. Iterated, it goes through all pages."""
        fields, options = split("list", params, ListAuditLogParams)

        async def fetch(cursor: str | None) -> AsyncAuditPage:
            call = Call("GET", _PATH, {**fields, "cursor": cursor})
            read = into(ListAuditLogResponse, "entries")
            return AsyncAuditPage(await self._transport.send(call, read, options), cursor, fetch)

        return AsyncAuditList(lambda: fetch(fields.get("cursor")))

    async def list_page(self, **params: Unpack[ListAuditLogParams]) -> ListAuditLogResponse:
        """One page of entries as it comes. `list` goes on to the next ones."""
        fields, options = split("list", params, ListAuditLogParams)
        return await self._transport.send(Call("GET", _PATH, fields), into(ListAuditLogResponse), options)


class AsyncAuditLogWithRawResponse:
    """`client.audit_log.with_raw_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        audit_log = AsyncAuditLog(AsyncRawTransport(transport.settings, transport.http))
        self.list = raw_method(audit_log.list_page)


class AsyncAuditLogWithStreamingResponse:
    """`client.audit_log.with_streaming_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        audit_log = AsyncAuditLog(AsyncStreamingTransport(transport.settings, transport.http))
        self.list = streaming_method(audit_log.list_page)
