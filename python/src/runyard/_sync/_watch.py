# Generated from _async/_watch.py by scripts/unasync.py; do not edit.
"""What `runs.wait` and `runs.create_and_wait` wait with."""

from __future__ import annotations

import math
import random

from .._errors import APIError, APITimeoutError, RunyardError
from .._events import RunStreamEvent
from .._lenient import as_fields
from .._models import RunItem
from .._options import RequestOptions
from .._output_schema import is_terminal
from .._parse import into
from .._request import Call, segment
from .._retry import is_retryable, retry_delay
from .._settings import choose_count, choose_timeout
from .._time_limit import TimeLimit
from ._stream import RunStream, StreamPlace
from ._transport import Transport

_POLL = 2.0
_MOST_LOOKS_BETWEEN = 32.0
_READ = into(RunItem, "state")


class RunWatch:
    """Looks at a run until it has ended or waits for a person. Its event stream only says when to look."""

    def __init__(
        self,
        transport: Transport,
        run_id: str,
        options: RequestOptions,
        max_reconnects: int,
        max_wait: float | None,
    ) -> None:
        self._transport = transport
        self.run_id = run_id
        self._call = Call("GET", f"/agent/runs/{segment(run_id)}")
        self._options = options
        self._timeout = choose_timeout(options.get("timeout"), transport.settings.timeout)
        self._max_reconnects = choose_count(max_reconnects, 0, "max_reconnects")
        self._max_wait = choose_timeout(max_wait, math.inf, "max_wait")
        self._limit = TimeLimit(self._max_wait)
        self._after = 0
        # Looks to be made before the stream is tried again, and as many the next time that it is refused.
        self._looks_left = 0.0
        self._looks_between = 0.0

    def until_settled(self, is_new: bool) -> RunItem:
        """The run once it has settled. `is_new`: it was made just now, so there is no need to look first."""
        try:
            with self._limit:
                run = None if is_new else self._look()
                while run is None or not _is_settled(run):
                    if run is not None:
                        self._limit.sleep(_POLL * (1 - 0.25 * random.random()))
                    run = self._follow() or self._look()
                return run
        except TimeoutError as error:
            message = f"Run {self.run_id} has not settled within {self._max_wait:g} s. It goes on."
            raise APITimeoutError(message) from error

    def _look(self) -> RunItem:
        """Patient: the service may be away for a while, to be updated for example."""
        failures = 0
        while True:
            try:
                return self._transport.send(self._call, _READ, self._in_time(self._options))
            except RunyardError as error:
                if not is_retryable(error) or failures >= self._max_reconnects:
                    raise
                delay = retry_delay(error, failures)
            failures += 1
            self._limit.sleep(delay)

    def _follow(self) -> RunItem | None:
        """Follows the stream as long as the run cannot have settled; the run, when it was looked at meanwhile."""
        if self._looks_left > 0:
            self._looks_left -= 1
            return None
        place = StreamPlace(run_id=self.run_id, after=self._after, follow=False, max_reconnects=0)
        stream = RunStream(self._transport, place, self._in_time({**self._options, "max_retries": 0}))
        with stream, self._limit.over(stream):
            while (event := self._next(stream)) is not None:
                if _says_blocked(event) and _is_settled(run := self._look()):
                    return run
        return None

    def _next(self, stream: RunStream) -> RunStreamEvent | None:
        """The next event; None at the end of this connection, whatever ended it."""
        try:
            event = next(stream)
        except StopIteration:
            self._looks_between = 0
        except RunyardError as error:
            if isinstance(error, APIError) and not is_retryable(error):
                raise
            self._looks_between = self._looks_after(error, stream)
        else:
            self._after = getattr(event, "sequence", self._after)
            return event
        self._looks_left = self._looks_between
        return None

    def _looks_after(self, error: RunyardError, stream: RunStream) -> float:
        """How often to look before the stream is tried again."""
        connection = stream.connection
        if connection.has_news:
            return 0
        if not is_retryable(error) or (connection.is_up and connection.is_silent):
            # Something in between answers in its place, or holds back what is streamed.
            return math.inf
        return 0 if connection.is_up else min(self._looks_between * 2 or 1, _MOST_LOOKS_BETWEEN)

    def _in_time(self, options: RequestOptions) -> RequestOptions:
        return {**options, "timeout": self._limit.cut(self._timeout)}


def _is_settled(run: RunItem) -> bool:
    return is_terminal(run.state) or run.state == "BLOCKED"


def _says_blocked(event: RunStreamEvent) -> bool:
    # One of a newer service, which was kept as it came, says so too.
    data: object = getattr(event, "data", None) if event.type == "run.state" else None
    fields = as_fields(data)
    return (fields.get("state") if fields else getattr(data, "state", None)) == "BLOCKED"
