"""Ending a stream that is being read: what the two trees do differently."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import suppress
from typing import TypeVar

import anyio
import httpx

from ._errors import RunyardError

T = TypeVar("T")


class AsyncHangup:
    """Lets any task end what one task reads."""

    def __init__(self) -> None:
        self.is_over = False
        self._is_closing = False
        self._scope: anyio.CancelScope | None = None

    async def take(self, source: AsyncGenerator[T, None]) -> T:
        """The next item; StopAsyncIteration once `close` was called."""
        if self.is_over:
            await self.close(source)
            raise StopAsyncIteration
        scope = self._scope = anyio.CancelScope()
        try:
            with scope:
                return await source.__anext__()
        finally:
            self._scope = None
        raise StopAsyncIteration

    async def close(self, source: AsyncGenerator[T, None]) -> None:
        """Hangs up, whoever reads. One who comes while another does it has nothing left to do."""
        self.is_over = True
        if self._scope:
            self._scope.cancel()
        elif not self._is_closing:
            self._is_closing = True
            await source.aclose()

    def watch(self, response: httpx.Response | None) -> None:
        """Cancelling reaches every connection."""

    async def sleep(self, seconds: float) -> None:
        """Ends at once on `close`."""
        await anyio.sleep(seconds)


class Hangup:
    """Lets any thread end what one thread reads."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._turn = threading.Lock()
        self._watching = threading.Lock()
        self._response: httpx.Response | None = None

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def take(self, source: Generator[T, None, None]) -> T:
        """The next item; StopIteration once `close` was called."""
        with self._turn:
            if self.is_over:
                source.close()
                raise StopIteration
            try:
                return next(source)
            except RunyardError:
                if self.is_over:
                    raise StopIteration from None
                raise

    def close(self, source: Generator[T, None, None]) -> None:
        """Hangs up, whoever reads. One who is still connecting notices when that is done."""
        self._over.set()
        if self._turn.acquire(blocking=False):
            try:
                source.close()
            finally:
                self._turn.release()
        else:
            self._hang_up()

    def watch(self, response: httpx.Response | None) -> None:
        """The connection that is being read now."""
        with self._watching:
            self._response = response
        if self.is_over:
            self._hang_up()

    def sleep(self, seconds: float) -> None:
        """Ends at once on `close`."""
        self._over.wait(seconds)

    def _hang_up(self) -> None:
        with self._watching:
            if self._response is not None:
                _shut_down(self._response)


def _shut_down(response: httpx.Response) -> None:
    """Wakes the thread that waits for this connection, which closing would not."""
    stream = response.extensions.get("network_stream")
    # Other requests may share a connection of HTTP/2: there the next comment of the stream has to wake it.
    if stream is None or response.http_version == "HTTP/2":
        return
    connection = stream.get_extra_info("socket")
    if isinstance(connection, socket.socket):
        with suppress(OSError):
            # Not the method of a TLS socket, which would take its state from under the other thread.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
