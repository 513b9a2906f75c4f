"""What a caller may set for one request."""

from __future__ import annotations

from collections.abc import Mapping

from typing_extensions import TypedDict

from ._query import Query


class RequestOptions(TypedDict, total=False):
    """Keyword arguments that every method takes. None is the same as leaving one out."""

    extra_headers: Mapping[str, str] | None
    """Win over those of the client and of the library."""
    extra_query: Query | None
    extra_body: Mapping[str, object] | None
    """Fields put over those of a JSON object that is sent."""
    timeout: float | None
    """Seconds for each attempt, its body included."""
    max_retries: int | None
    idempotency_key: str | None
    """For POST; default: a random one. The same key and body within 24 hours have their effect once."""
