"""Timeouts for whole requests: what the two trees do differently.

httpx limits the silence between two chunks. A body that comes byte by byte would never run into that.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import anyio
import httpx

_CONNECT = 5.0

Timeouts = dict[str, "float | None"]


class AsyncDeadline:
    """Cancels what is done within after this many seconds, and raises TimeoutError."""

    def __init__(self, seconds: float, silence: float | None = None) -> None:
        self._scope = anyio.fail_after(seconds)
        self.timeouts: Timeouts = {
            "connect": min(_CONNECT, seconds),
            "read": silence,
            "write": None,
            "pool": None,
        }

    async def __aenter__(self) -> AsyncDeadline:
        self._scope.__enter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._scope.__exit__(kind, error, trace)

    async def read(self, response: httpx.Response) -> None:
        """Reads the body and hangs up when that fails."""
        try:
            await response.aread()
        finally:
            await response.aclose()


class Deadline:
    """Gives each step of a request the time that is left, and raises TimeoutError after this many seconds."""

    def __init__(self, seconds: float, silence: float | None = None) -> None:
        self._silence = silence
        self._remaining = _Remaining(seconds)
        self.timeouts: Timeouts = self._remaining

    def __enter__(self) -> Deadline:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A stream that was opened in time may go on: from here on only its silence counts.
        self._remaining.silence = self._silence

    def read(self, response: httpx.Response) -> None:
        """Reads the body and hangs up when that fails."""
        try:
            if isinstance(response.stream, httpx.SyncByteStream) and not response.is_stream_consumed:
                response.stream = _CheckedStream(response.stream, self._remaining)
            response.read()
        finally:
            response.close()


class _Remaining(Timeouts):
    """httpx looks a timeout up when a step begins, and finds the time that is left then."""

    def __init__(self, seconds: float) -> None:
        super().__init__(connect=seconds, read=seconds, write=seconds, pool=seconds)
        self._end = time.monotonic() + seconds
        self.silence: float | None = None

    def get(self, key: str, default: Any = None) -> Any:
        if self.silence is not None:
            return self.silence
        # Zero would mean "do not block" to a socket.
        left = max(self._end - time.monotonic(), 0.001)
        return min(_CONNECT, left) if key == "connect" else left

    def check(self) -> None:
        if time.monotonic() >= self._end:
            raise TimeoutError


class _CheckedStream(httpx.SyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream, remaining: _Remaining) -> None:
        self._stream = stream
        self._remaining = remaining

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            self._remaining.check()
            yield chunk

    def close(self) -> None:
        self._stream.close()
