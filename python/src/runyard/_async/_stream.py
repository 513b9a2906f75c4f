"""`runs.stream`: the events of a run, live."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from types import TracebackType

import httpx
from typing_extensions import Self, TypedDict

from .._errors import APIConnectionError, RunyardError
from .._events import RunStreamEvent
from .._log import logger
from .._options import RequestOptions
from .._progress import Progress
from .._query import QueryValue
from .._request import Call, segment
from .._retry import is_retryable, retry_delay
from .._sleep import async_sleep
from .._sse import ServerSentEvent, ServerSentEventParser
from ._transport import AsyncTransport

# The service sends a comment every 15 s; three missed ones mean that the connection is dead.
_SILENCE = 45.0
# A connection that lived this long was a good one, even when no event came.
_GOOD_CONNECTION = 10.0
_LONGEST_RETRY = 10.0


class StreamPlace(TypedDict):
    """Where to read."""

    run_id: str
    after: int
    follow: bool
    max_reconnects: int


class AsyncRunStream:
    """The events of a run in order, each once, until it has ended and all were sent.

    A lost connection is made again after the last event that was read, and of text on its way only what is new is
    passed on. Leaving the loop early, close it, or use it as a context manager.
    """

    def __init__(self, transport: AsyncTransport, place: StreamPlace, options: RequestOptions) -> None:
        self._run_id = place["run_id"]
        self._events = _follow(transport, place, options)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> RunStreamEvent:
        return await self._events.__anext__()

    async def aclose(self) -> None:
        """Hangs up."""
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(run_id={self._run_id!r})"


class _BrokenStream(APIConnectionError):
    """The connection was up and went away."""


class _Connection:
    """One answer of the service."""

    retry: float | None = None
    """Seconds that the stream asks readers to wait."""


async def _follow(
    transport: AsyncTransport, place: StreamPlace, options: RequestOptions
) -> AsyncGenerator[RunStreamEvent, None]:
    progress = Progress(place["after"])
    # The first connection is retried like any request; a stream that was up gets its own count.
    options = {**options}
    was_up = False
    failures = 0
    while True:
        opened_at = time.monotonic()
        connection = _Connection()
        fault: RunyardError = _BrokenStream("The event stream broke off.")
        was_good = False
        messages = _read(transport, place, progress.sequence, options, connection)
        try:
            async for message in messages:
                if message.event == "end":
                    return
                event = progress.accept(message)
                if event is not None:
                    was_good = True
                    yield event
        except RunyardError as error:
            if not (was_up or isinstance(error, _BrokenStream)) or not is_retryable(error):
                raise
            fault = error
        finally:
            await messages.aclose()
        was_up = True
        options["max_retries"] = 0
        was_good = was_good or time.monotonic() - opened_at > _GOOD_CONNECTION
        failures = 1 if was_good else failures + 1
        if failures > place["max_reconnects"]:
            raise fault
        pause = connection.retry if was_good else None
        delay = retry_delay(fault, failures - 1) if pause is None else pause
        logger.info("%s Reading on after event %d in %.1f s.", fault, progress.sequence, delay)
        await async_sleep(delay)


async def _read(
    transport: AsyncTransport,
    place: StreamPlace,
    after: int,
    options: RequestOptions,
    connection: _Connection,
) -> AsyncGenerator[ServerSentEvent, None]:
    query: dict[str, QueryValue] = {"after": after}
    if place["follow"]:
        query["follow"] = True
    call = Call("GET", f"/agent/runs/{segment(place['run_id'])}/events", query, accept="text/event-stream")
    response = await transport.request(call, options, _SILENCE)
    try:
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            raise RunyardError("The answer is not an event stream. Is base_url right?")
        parser = ServerSentEventParser()
        async for chunk in response.aiter_bytes():
            for message in parser.push(chunk):
                if parser.retry is not None:
                    connection.retry = min(parser.retry / 1000, _LONGEST_RETRY)
                yield message
    except httpx.RequestError as error:
        raise _BrokenStream("The event stream broke off.") from error
    finally:
        await response.aclose()
