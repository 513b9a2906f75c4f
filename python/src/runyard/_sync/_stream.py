# Generated from _async/_stream.py by scripts/unasync.py; do not edit.
"""`runs.stream`: the events of a run, live."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import replace
from types import TracebackType

import httpx
from typing_extensions import Self, TypedDict

from .._errors import APIConnectionError, RunyardError
from .._events import RunStreamEvent
from .._hangup import Hangup
from .._log import logger
from .._options import RequestOptions
from .._progress import Progress
from .._request import Call, run_path
from .._retry import is_retryable, retry_delay
from .._sse import ServerSentEvent, ServerSentEventParser
from ._transport import Transport

# The service sends a comment every 15 s; three missed ones mean that the connection is dead.
_SILENCE = 45.0
# A connection that brought something, and lived this long, was a good one, even when no event came.
_GOOD_CONNECTION = 10.0
_LONGEST_RETRY = 10.0
_BROKEN = "The event stream broke off."


class StreamPlace(TypedDict):
    """Where to read."""

    run_id: str
    after: int
    follow: bool
    max_reconnects: int


class RunStream:
    """The events of a run in order, each once, until it has ended and all were sent.

    A lost connection is made again after the last event that was read, and of text on its way only what is new is
    passed on. Leaving the loop early, close it, or use it as a context manager. Closed from elsewhere, the loop ends.
    """

    def __init__(self, transport: Transport, place: StreamPlace, options: RequestOptions) -> None:
        self._run_id = place["run_id"]
        # Kept apart from what reads it: a stream that is dropped must be free to go at once.
        self.connection = _Connection(transport)
        call = Call("GET", run_path(self._run_id, "/events"), accept="text/event-stream")
        self._events = _follow(self.connection, call, place, options)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> RunStreamEvent:
        return self.connection.hangup.take(self._events)

    def close(self) -> None:
        """Hangs up, also when another task waits for the next event: its loop ends."""
        self.connection.hangup.close(self._events)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(run_id={self._run_id!r})"


def _follow(
    connection: _Connection, call: Call, place: StreamPlace, options: RequestOptions
) -> Generator[RunStreamEvent, None]:
    progress = Progress(place["after"])
    options = {**options}
    was_up = False
    failures = 0
    while True:
        query = {"after": progress.sequence, "follow": place["follow"] or None}
        messages = connection.read(replace(call, query=query), options)
        try:
            for message in messages:
                if message.event == "end":
                    return
                event = progress.accept(message)
                if event is not None:
                    connection.has_news = True
                    yield event
            raise APIConnectionError(_BROKEN)
        except RunyardError as error:
            was_up = was_up or connection.is_up
            failures = 1 if connection.is_good else failures + 1
            if not was_up or not is_retryable(error) or failures > place["max_reconnects"]:
                raise
            pause = connection.retry if connection.is_good else None
            delay = retry_delay(error, failures - 1) if pause is None else pause
            logger.info("%s Reading on after event %d in %.1f s.", error, progress.sequence, delay)
        finally:
            messages.close()
        # The first connection is retried like any request; a stream that was up has its own count.
        options["max_retries"] = 0
        connection.hangup.sleep(delay)
        if connection.hangup.is_over:
            return


class _Connection:
    """What is known of the latest connection of a stream."""

    is_up: bool
    """An event stream has begun."""
    is_silent: bool
    """Not one byte of it has come."""
    is_held_back: bool
    """It was given up because none came."""
    has_news: bool
    retry: float | None
    """Seconds that it asks readers to wait before they reconnect."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._began_at = 0.0
        self.hangup = Hangup()
        self._begin(False)

    @property
    def is_good(self) -> bool:
        """Whether it brought so much that its loss is none."""
        lived = time.monotonic() - self._began_at
        return self.has_news or (not self.is_silent and lived > _GOOD_CONNECTION)

    def _begin(self, is_up: bool) -> None:
        self.is_up, self.is_silent, self.is_held_back = is_up, True, False
        self.has_news, self.retry = False, None
        self._began_at = time.monotonic()

    def read(self, call: Call, options: RequestOptions) -> Generator[ServerSentEvent, None]:
        """What comes until it is lost."""
        self._begin(False)
        response = self._transport.request(call, options, _SILENCE)
        self.hangup.watch(response)
        try:
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                raise RunyardError("The answer is not an event stream. Is base_url right?")
            self._begin(True)
            parser = ServerSentEventParser()
            for chunk in response.iter_bytes():
                self.is_silent = False
                for message in parser.push(chunk):
                    if parser.retry is not None:
                        self.retry = min(parser.retry / 1000, _LONGEST_RETRY)
                    yield message
        except httpx.RequestError as error:
            self.is_held_back = self.is_silent and isinstance(error, httpx.ReadTimeout)
            raise APIConnectionError(_BROKEN) from error
        finally:
            self.hangup.watch(None)
            response.close()
