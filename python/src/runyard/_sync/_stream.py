# Generated from _async/_stream.py by scripts/unasync.py; do not edit.
"""`runs.stream` and `runs.stream_many`: the events of runs, live."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import replace
from datetime import datetime
from types import TracebackType

import httpx
from typing_extensions import Self, TypedDict

from .._errors import APIConnectionError, RunyardError
from .._events import RunStreamEvent
from .._hangup import Hangup
from .._log import logger
from .._options import RequestOptions
from .._progress import ManyProgress, Progress
from .._query import Query
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


class ManyPlace(TypedDict):
    """Where to read in many logs."""

    run_ids: Sequence[str] | None
    ancestor_run_id: str | None
    since: datetime | str | None
    follow: bool
    max_reconnects: int


class _Source(ABC):
    """What is read, from where a reader is."""

    @abstractmethod
    def query(self) -> Query:
        """Asks for what is new."""

    @abstractmethod
    def accept(self, message: ServerSentEvent) -> RunStreamEvent | None:
        """The event to pass on; nothing when it is known already."""

    @abstractmethod
    def describe(self) -> str:
        """Where it goes on."""


class _OneLog(_Source):
    def __init__(self, place: StreamPlace) -> None:
        self._follow = place["follow"] or None
        self._progress = Progress(place["after"])

    def query(self) -> Query:
        return {"after": self._progress.sequence, "follow": self._follow}

    def accept(self, message: ServerSentEvent) -> RunStreamEvent | None:
        return self._progress.accept(message)

    def describe(self) -> str:
        return f"after event {self._progress.sequence}"


class _ManyLogs(_Source):
    def __init__(self, place: ManyPlace) -> None:
        self._place = place
        self.progress = ManyProgress()

    def query(self) -> Query:
        return {
            "run_ids": self._place["run_ids"],
            "ancestor_run_id": self._place["ancestor_run_id"],
            "since": self.progress.cursor or self._place["since"],
            "follow": self._place["follow"] or None,
        }

    def accept(self, message: ServerSentEvent) -> RunStreamEvent | None:
        return self.progress.accept(message)

    def describe(self) -> str:
        return "after the last event of each run"


class EventStream:
    """What both streams are."""

    def __init__(
        self,
        transport: Transport,
        path: str,
        source: _Source,
        max_reconnects: int,
        options: RequestOptions,
    ) -> None:
        # Kept apart from what reads it: a stream that is dropped must be free to go at once.
        self.connection = _Connection(transport)
        call = Call("GET", path, accept="text/event-stream")
        self._events = _follow(self.connection, call, source, max_reconnects, options)

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


class RunStream(EventStream):
    """The events of a run in order, each once, until it has ended and all were sent.

    A lost connection is made again after the last event that was read, and of text on its way only what is new is
    passed on. Leaving the loop early, close it, or use it as a context manager. Closed from elsewhere, the loop ends.
    """

    def __init__(self, transport: Transport, place: StreamPlace, options: RequestOptions) -> None:
        self._run_id = place["run_id"]
        path = run_path(self._run_id, "/events")
        super().__init__(transport, path, _OneLog(place), place["max_reconnects"], options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(run_id={self._run_id!r})"


class ManyRunsStream(EventStream):
    """The events of several runs, those of each in order and once, until all have ended. Every event has its `run_id`.

    Lost connections, leaving the loop and closing are as with `RunStream`.
    """

    def __init__(self, transport: Transport, place: ManyPlace, options: RequestOptions) -> None:
        self._source = _ManyLogs(place)
        super().__init__(transport, "/agent/events/stream", self._source, place["max_reconnects"], options)

    @property
    def cursor(self) -> str | None:
        """Where the reader is, for `since`; None before the first event of a log."""
        return self._source.progress.cursor


def _follow(
    connection: _Connection, call: Call, source: _Source, max_reconnects: int, options: RequestOptions
) -> Generator[RunStreamEvent, None]:
    options = {**options}
    was_up = False
    failures = 0
    while True:
        messages = connection.read(replace(call, query=source.query()), options)
        try:
            for message in messages:
                if message.event == "end":
                    return
                event = source.accept(message)
                if event is not None:
                    connection.has_news = True
                    yield event
            raise APIConnectionError(_BROKEN)
        except RunyardError as error:
            was_up = was_up or connection.is_up
            failures = 1 if connection.is_good else failures + 1
            if not was_up or not is_retryable(error) or failures > max_reconnects:
                raise
            pause = connection.retry if connection.is_good else None
            delay = retry_delay(error, failures - 1) if pause is None else pause
            logger.info("%s Reading on %s in %.1f s.", error, source.describe(), delay)
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
