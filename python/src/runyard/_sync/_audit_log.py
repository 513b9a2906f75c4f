# Generated from _async/_audit_log.py by scripts/unasync.py; do not edit.
"""`client.audit_log`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._lists import AuditList
from .._models import ListAuditLogResponse
from .._params import ListAuditLogParams
from .._parse import into
from .._request import Call
from .._split import split
from ._page import AuditPage
from ._streaming_response import raw_method, streaming_method
from ._transport import RawTransport, StreamingTransport, Transport

_PATH = "/audit-log"


class AuditLog:
    """`client.audit_log`: who did what, when and from where. For admins."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> AuditLogWithRawResponse:
        """The same methods, returning status and headers as well."""
        return AuditLogWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AuditLogWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return AuditLogWithStreamingResponse(self._transport)

    def list(self, **params: Unpack[ListAuditLogParams]) -> AuditList:
        """Entries, newest first. Iterated, it goes through all pages."""
        fields, options = split("list", params, ListAuditLogParams)

        def fetch(cursor: str | None) -> AuditPage:
            call = Call("GET", _PATH, {**fields, "cursor": cursor})
            read = into(ListAuditLogResponse, "entries")
            return AuditPage(self._transport.send(call, read, options), cursor, fetch)

        return AuditList(lambda: fetch(fields.get("cursor")))

    def list_page(self, **params: Unpack[ListAuditLogParams]) -> ListAuditLogResponse:
        """One page of entries as it comes. `list` goes on to the next ones."""
        fields, options = split("list", params, ListAuditLogParams)
        return self._transport.send(Call("GET", _PATH, fields), into(ListAuditLogResponse), options)


class AuditLogWithRawResponse:
    """`client.audit_log.with_raw_response`"""

    def __init__(self, transport: Transport) -> None:
        audit_log = AuditLog(RawTransport(transport.settings, transport.http))
        self.list = raw_method(audit_log.list_page)


class AuditLogWithStreamingResponse:
    """`client.audit_log.with_streaming_response`"""

    def __init__(self, transport: Transport) -> None:
        audit_log = AuditLog(StreamingTransport(transport.settings, transport.http))
        self.list = streaming_method(audit_log.list_page)
