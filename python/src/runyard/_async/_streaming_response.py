"""`with_streaming_response`: answers whose body is read piece by piece."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Generic, ParamSpec, TypeVar, cast

import httpx

from .._failure import broken_body
from .._method import AsyncMethod
from .._raw_response import Answer, RawResponse, read_answer

P = ParamSpec("P")
T = TypeVar("T")


class AsyncStreamingResponse(Answer[T]):
    """A successful answer whose body was not read yet. Comes from a context manager, which closes it.

    The timeout of the request covers it up to its headers; afterwards it is the longest silence.
    """

    async def iter_bytes(self, chunk_size: int | None = None) -> AsyncIterator[bytes]:
        """The body as it comes, or in chunks of this size."""
        try:
            async for chunk in self.http_response.aiter_bytes(chunk_size):
                yield chunk
        except httpx.RequestError as error:
            raise broken_body(error) from error

    async def iter_lines(self) -> AsyncIterator[str]:
        """The body by lines, without their ends."""
        try:
            async for line in self.http_response.aiter_lines():
                yield line
        except httpx.RequestError as error:
            raise broken_body(error) from error

    async def read(self) -> bytes:
        """The whole body."""
        try:
            return await self.http_response.aread()
        except httpx.RequestError as error:
            raise broken_body(error) from error

    async def text(self) -> str:
        """The whole body as text."""
        await self.read()
        return self.http_response.text

    async def parse(self) -> T:
        """What the method itself returns."""
        await self.read()
        return read_answer(self.http_response, self._read)

    async def aclose(self) -> None:
        """Hangs up."""
        await self.http_response.aclose()


class AsyncStreamingContext(Generic[T]):
    """Sends the request when it is entered."""

    def __init__(self, send: AsyncMethod[[], T]) -> None:
        self._send = send
        self._response: AsyncStreamingResponse[T] | None = None

    async def __aenter__(self) -> AsyncStreamingResponse[T]:
        # Under a streaming transport `send` returns this, whatever its type says.
        self._response = cast("AsyncStreamingResponse[T]", await self._send())
        return self._response

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._response:
            await self._response.aclose()


def raw_method(method: AsyncMethod[P, T]) -> AsyncMethod[P, RawResponse[T]]:
    """Says what a method under a raw transport returns."""
    return cast("AsyncMethod[P, RawResponse[T]]", method)


def streaming_method(method: AsyncMethod[P, T]) -> Callable[P, AsyncStreamingContext[T]]:
    """A method under a streaming transport as a context manager."""

    def open_response(*args: P.args, **kwargs: P.kwargs) -> AsyncStreamingContext[T]:
        return AsyncStreamingContext(lambda: method(*args, **kwargs))

    return open_response
