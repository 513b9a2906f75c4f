"""Timeouts for whole requests: what the two trees do differently.

httpx limits the silence between two chunks. A body that comes byte by byte would never run into that.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import anyio
import httpx

from ._failure import CONNECT_TIMEOUT

# Longer than any request, and shorter than what a socket takes.
_ENDLESS = 1e6
# Small enough that a socket takes it at a few gulps, each of which has its own timeout.
_PIECE = 65_536

Timeouts = dict[str, "float | None"]


class AsyncDeadline:
    """Cancels what is done within after this many seconds, and raises TimeoutError."""

    def __init__(self, seconds: float, silence: float | None = None) -> None:
        self._scope = anyio.fail_after(seconds)
        self.timeouts: Timeouts = {
            "connect": min(CONNECT_TIMEOUT, seconds),
            "read": None if silence == math.inf else silence,
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

    def upload(self, content: bytes | None) -> bytes | None:
        """What to send so that it ends in time."""
        return content

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

    def upload(self, content: bytes | None) -> bytes | _CheckedUpload | None:
        """What to send so that it ends in time. Its length has to be said beside it."""
        is_large = content is not None and len(content) > _PIECE
        return _CheckedUpload(content, self._remaining) if content and is_large else content

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
        # Zero would mean "do not block" to a socket.
        left = max(self._end - time.monotonic(), 0.001) if self.silence is None else self.silence
        if key == "connect":
            return min(CONNECT_TIMEOUT, left)
        return None if left > _ENDLESS else left

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


class _CheckedUpload:
    """Bytes piece by piece: sent in one, they would take as long as the other side likes."""

    def __init__(self, content: bytes, remaining: _Remaining) -> None:
        self._content = memoryview(content)
        self._remaining = remaining

    def __iter__(self) -> Iterator[bytes]:
        for start in range(0, len(self._content), _PIECE):
            self._remaining.check()
            yield bytes(self._content[start : start + _PIECE])
