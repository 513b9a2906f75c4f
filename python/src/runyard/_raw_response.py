"""`with_raw_response`: answers with their status and headers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import httpx

from ._errors import RunyardError
from ._request import idempotency_key_of

T = TypeVar("T")


def read_answer(response: httpx.Response, read: Callable[[httpx.Response], T]) -> T:
    """What `read` makes of an answer. One that cannot be read had its effect all the same: its key is kept."""
    try:
        return read(response)
    except RunyardError as error:
        error.idempotency_key = idempotency_key_of(response.request)
        raise


class Answer(Generic[T]):
    """A successful answer, whether its body was read or not."""

    http_response: httpx.Response

    def __init__(self, response: httpx.Response, read: Callable[[httpx.Response], T]) -> None:
        self.http_response = response
        self._read = read

    @property
    def status_code(self) -> int:
        return self.http_response.status_code

    @property
    def headers(self) -> httpx.Headers:
        return self.http_response.headers

    @property
    def request_id(self) -> str | None:
        """What to name when asking the operator about this request."""
        found: str | None = self.headers.get("x-request-id")
        return found

    def __repr__(self) -> str:
        return f"{type(self).__name__}(status_code={self.status_code}, request_id={self.request_id!r})"


class RawResponse(Answer[T]):
    """A successful answer whose body was read."""

    @property
    def content(self) -> bytes:
        return self.http_response.content

    def text(self) -> str:
        """The body as text."""
        return self.http_response.text

    def parse(self) -> T:
        """What the method itself returns."""
        return read_answer(self.http_response, self._read)
