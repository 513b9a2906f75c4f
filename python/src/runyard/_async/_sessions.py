"""`client.sessions`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._models import SessionRedirect
from .._options import RequestOptions
from .._parse import into
from .._request import Call, segment
from ._streaming_response import raw_method, streaming_method
from ._transport import AsyncRawTransport, AsyncStreamingTransport, AsyncTransport


class AsyncSessions:
    """`client.sessions`: a run at work, by the `session_id` of the run."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> AsyncSessionsWithRawResponse:
        """The same methods, returning status and headers as well."""
        return AsyncSessionsWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncSessionsWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return AsyncSessionsWithStreamingResponse(self._transport)

    async def check_redirect(self, session_uuid: str, **options: Unpack[RequestOptions]) -> SessionRedirect:
        """What is to be read of a session that is over: its `conversation_id`, None while it lasts. Needs no key."""
        call = Call("GET", f"/agent/sessions/{segment(session_uuid)}/redirect")
        return await self._transport.send(call, into(SessionRedirect), options)


class AsyncSessionsWithRawResponse:
    """`client.sessions.with_raw_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        sessions = AsyncSessions(AsyncRawTransport(transport.settings, transport.http))
        self.check_redirect = raw_method(sessions.check_redirect)


class AsyncSessionsWithStreamingResponse:
    """`client.sessions.with_streaming_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        sessions = AsyncSessions(AsyncStreamingTransport(transport.settings, transport.http))
        self.check_redirect = streaming_method(sessions.check_redirect)
