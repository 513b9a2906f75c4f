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
from .._request import Call, run_path
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
        options: RequestOptions,
        max_reconnects: int,
        max_wait: float | None,
    ) -> None:
        """Checks what it is given. The run may be made afterwards."""
        self._transport = transport
        self._options = options
        self._timeout = choose_timeout(options.get("timeout"), transport.settings.timeout)
        self._max_reconnects = choose_count(max_reconnects, 0, "max_reconnects")
        self._max_wait = choose_timeout(max_wait, math.inf, "max_wait")
        self._after = 0
        # Looks to be made before the stream is tried again, and as many the next time that it is refused.
        self._looks_left = 0.0
        self._looks_between = 0.0

    def until_settled(self, run_id: str, is_new: bool) -> RunItem:
        """The run once it has settled. `is_new`: it was made just now, so there is no need to look first."""
        look = Call("GET", run_path(run_id))
        try:
            with TimeLimit(self._max_wait) as limit:
                run = None if is_new else self._look(look, limit)
                while run is None or not _is_settled(run):
                    if run is not None:
                        limit.sleep(_POLL * (1 - 0.25 * random.random()))
                    self._follow(run_id, limit)
                    run = self._look(look, limit)
                return run
        except TimeoutError as error:
            message = f"Run {run_id} has not settled within {self._max_wait:g} s. It goes on."
            raise APITimeoutError(message) from error

    def _look(self, call: Call, limit: TimeLimit) -> RunItem:
        """Patient: the service may be away for a while, to be updated for example."""
        # Pauses of the transport would run over the limit; those made here do not.
        options = self._options if self._max_wait == math.inf else self._once()
        failures = 0
        while True:
            try:
                return self._transport.send(call, _READ, self._in_time(options, limit))
            except RunyardError as error:
                if not is_retryable(error) or failures >= self._max_reconnects:
                    raise
                delay = retry_delay(error, failures)
            failures += 1
            limit.sleep(delay)

    def _follow(self, run_id: str, limit: TimeLimit) -> None:
        """Follows one connection of the stream until the run may have settled or the connection ends."""
        if self._looks_left > 0:
            self._looks_left -= 1
            return
        place = StreamPlace(run_id=run_id, after=self._after, follow=False, max_reconnects=0)
        stream = RunStream(self._transport, place, self._in_time(self._once(), limit))
        pause = 0.0
        try:
            with stream, limit.over(stream):
                for event in stream:
                    self._after = getattr(event, "sequence", self._after)
                    if _says_blocked(event):
                        # Perhaps long ago: the log may hold many of these, and there is one look for each POLL.
                        break
        except RunyardError as error:
            if isinstance(error, APIError) and not is_retryable(error):
                raise
            pause = self._looks_after(error, stream)
        self._looks_left = self._looks_between = pause

    def _looks_after(self, error: RunyardError, stream: RunStream) -> float:
        """How often to look before the stream is tried again."""
        if stream.connection.is_good:
            return 0
        if not is_retryable(error) or stream.connection.is_held_back:
            # Something in between answers in its place, or holds back what is streamed.
            return math.inf
        return min(self._looks_between * 2 or 1, _MOST_LOOKS_BETWEEN)

    def _once(self) -> RequestOptions:
        return {**self._options, "max_retries": 0}

    def _in_time(self, options: RequestOptions, limit: TimeLimit) -> RequestOptions:
        return {**options, "timeout": limit.cut(self._timeout)}


def _is_settled(run: RunItem) -> bool:
    return is_terminal(run.state) or run.state == "BLOCKED"


def _says_blocked(event: RunStreamEvent) -> bool:
    # One of a newer service, which was kept as it came, says so too.
    data: object = getattr(event, "data", None) if event.type == "run.state" else None
    fields = as_fields(data)
    return (fields.get("state") if fields else getattr(data, "state", None)) == "BLOCKED"
