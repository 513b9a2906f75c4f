"""Limits for waiting: what the two trees do differently."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Generator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from types import TracebackType
from typing import Protocol

import anyio


class AsyncTimeLimit:
    """Cancels what is done within after so many seconds, and raises TimeoutError. None is no limit."""

    def __init__(self, seconds: float | None) -> None:
        self._scope = anyio.fail_after(seconds)

    async def __aenter__(self) -> AsyncTimeLimit:
        self._scope.__enter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._scope.__exit__(kind, error, trace)

    def cut(self, timeout: float) -> float:
        """How long the next request may take."""
        return timeout

    async def sleep(self, seconds: float) -> None:
        """Not longer than the limit."""
        await anyio.sleep(seconds)

    def over(self, stream: object) -> AbstractAsyncContextManager[None]:
        """Closes the stream when the time is over."""
        return nullcontext()


class _Closable(Protocol):
    def close(self) -> None: ...


class TimeLimit:
    """Cuts short what is done within after so many seconds, and raises TimeoutError then. None is no limit."""

    def __init__(self, seconds: float | None) -> None:
        self._end = math.inf if seconds is None else time.monotonic() + seconds

    def __enter__(self) -> TimeLimit:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def cut(self, timeout: float) -> float:
        """How long the next request may take."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return min(timeout, left)

    def sleep(self, seconds: float) -> None:
        """Not longer than the limit."""
        time.sleep(self.cut(seconds))

    @contextmanager
    def over(self, stream: _Closable) -> Generator[None, None, None]:
        """Closes the stream when the time is over."""
        if self._end == math.inf:
            yield
            return
        timer = threading.Timer(min(self.cut(math.inf), threading.TIMEOUT_MAX), stream.close)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
