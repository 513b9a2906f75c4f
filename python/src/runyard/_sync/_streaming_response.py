# Generated from _async/_streaming_response.py by scripts/unasync.py; do not edit.
"""`with_streaming_response`: answers whose body is read piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Generic, ParamSpec, TypeVar, cast

import httpx

from .._failure import broken_body
from .._method import Method
from .._raw_response import Answer, RawResponse, read_answer

P = ParamSpec("P")
T = TypeVar("T")


class StreamingResponse(Answer[T]):
    """A successful answer whose body was not read yet. Comes from a context manager, which closes it.

    The timeout of the request covers it up to its headers; afterwards it is the longest silence.
    """

    def iter_bytes(self, chunk_size: int | None = None) -> Iterator[bytes]:
        """The body as it comes, or in chunks of this size."""
        try:
            for chunk in self.http_response.iter_bytes(chunk_size):
                yield chunk
        except httpx.RequestError as error:
            raise broken_body(error) from error

    def iter_lines(self) -> Iterator[str]:
        """The body by lines, without their ends."""
        try:
            for line in self.http_response.iter_lines():
                yield line
        except httpx.RequestError as error:
            raise broken_body(error) from error

    def read(self) -> bytes:
        """The whole body."""
        try:
            return self.http_response.read()
        except httpx.RequestError as error:
            raise broken_body(error) from error

    def text(self) -> str:
        """The whole body as text."""
        self.read()
        return self.http_response.text

    def parse(self) -> T:
        """What the method itself returns."""
        self.read()
        return read_answer(self.http_response, self._read)

    def close(self) -> None:
        """Hangs up."""
        self.http_response.close()


class StreamingContext(Generic[T]):
    """Sends the request when it is entered."""

    def __init__(self, send: Method[[], T]) -> None:
        self._send = send
        self._response: StreamingResponse[T] | None = None

    def __enter__(self) -> StreamingResponse[T]:
        # Under a streaming transport `send` returns this, whatever its type says.
        self._response = cast("StreamingResponse[T]", self._send())
        return self._response

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._response:
            self._response.close()


def raw_method(method: Method[P, T]) -> Method[P, RawResponse[T]]:
    """Says what a method under a raw transport returns."""
    return cast("Method[P, RawResponse[T]]", method)


def streaming_method(method: Method[P, T]) -> Callable[P, StreamingContext[T]]:
    """A method under a streaming transport as a context manager."""

    def open_response(*args: P.args, **kwargs: P.kwargs) -> StreamingContext[T]:
        return StreamingContext(lambda: method(*args, **kwargs))

    return open_response
