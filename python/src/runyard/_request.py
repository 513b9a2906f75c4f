"""Requests as they are sent, without sending them."""

from __future__ import annotations

import json
import os
import platform
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import quote, urlsplit

import httpx
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from ._errors import RunyardError
from ._options import RequestOptions
from ._query import Query, query_pairs
from ._version import VERSION

API_PATH = "/api/v1"
# Where `runyard dev` listens.
DEFAULT_BASE_URL = "http://127.0.0.1:4200"
DEFAULT_TIMEOUT = 60.0
DEFAULT_MAX_RETRIES = 2

_RUNTIME = (
    f"{platform.python_implementation().lower().replace('cpython', 'python')}/{platform.python_version()}"
)


@dataclass(frozen=True)
class Call:
    """One request, before headers."""

    method: str
    path: str
    """Below the base URL, ids in it already encoded."""
    query: Query = field(default_factory=dict[str, str])
    body: object = None
    """Sent as JSON; None sends none."""
    accept: str = "application/json"
    link: str | None = None
    """A signed link, which is asked instead of the path, without credentials."""


@dataclass(frozen=True)
class Settings:
    """What all requests of a client share."""

    base_url: str
    """With `/api/v1`, without a slash at the end."""
    api_key: str = field(repr=False)
    timeout: float
    max_retries: int
    headers: Mapping[str, str] = field(repr=False)
    query: Query

    @property
    def origin(self) -> str:
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc}"


def create_settings(
    api_key: str | None,
    base_url: str | None,
    timeout: float | None,
    max_retries: int | None,
    headers: Mapping[str, str] | None,
    query: Query | None,
) -> Settings:
    """Arguments, then the environment, then defaults."""
    return Settings(
        base_url=normalise_base_url(base_url or os.environ.get("RUNYARD_BASE_URL") or DEFAULT_BASE_URL),
        api_key=_require_key(os.environ.get("RUNYARD_API_KEY") if api_key is None else api_key),
        timeout=DEFAULT_TIMEOUT if timeout is None else timeout,
        max_retries=DEFAULT_MAX_RETRIES if max_retries is None else max_retries,
        headers=dict(headers or {}),
        query=dict(query or {}),
    )


def normalise_base_url(text: str) -> str:
    """With `/api/v1`, whether it was given or not."""
    complaint = "base_url must be an http or https address without credentials, query and fragment."
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        raise RunyardError(complaint) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise RunyardError(complaint)
    if parts.username is not None or parts.query or parts.fragment:
        raise RunyardError(complaint)
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path if path.endswith(API_PATH) else path + API_PATH}"


def _require_key(key: str | None) -> str:
    # Checked here, because the complaint about a bad header would quote it.
    trimmed = (key or "").strip()
    if not trimmed:
        raise RunyardError("An API key is needed: pass api_key or set RUNYARD_API_KEY.")
    if not re.fullmatch(r"[\x21-\x7e]+", trimmed):
        raise RunyardError("The API key holds characters that no key has.")
    return trimmed


def create_key(call: Call, options: RequestOptions) -> str | None:
    """One key for all attempts: a create whose answer was lost must not be done twice."""
    return (options.get("idempotency_key") or secrets.token_hex(16)) if call.method == "POST" else None


def build_url(settings: Settings, call: Call, options: RequestOptions) -> httpx.URL:
    """The address with its whole query."""
    if call.link is not None:
        return httpx.URL(call.link)
    if not call.path.startswith("/"):
        # An address would be given the key.
        raise RunyardError("A path must begin with / and is below base_url.")
    url = httpx.URL(settings.base_url + call.path)
    pairs = query_pairs({**settings.query, **call.query, **(options.get("extra_query") or {})})
    return url.copy_merge_params(httpx.QueryParams(tuple(pairs))) if pairs else url


def build_headers(
    settings: Settings, call: Call, options: RequestOptions, retry: int, idempotency_key: str | None
) -> httpx.Headers:
    """The headers of one attempt."""
    headers = httpx.Headers(
        {
            "Accept": call.accept,
            "User-Agent": f"runyard-python/{VERSION}",
            "X-Runyard-Runtime": _RUNTIME,
            "X-Runyard-Retry-Count": str(retry),
        }
    )
    if call.link is None:
        headers["Authorization"] = f"Bearer {settings.api_key}"
        headers.update(settings.headers)
    if call.body is not None or options.get("extra_body"):
        headers["Content-Type"] = "application/json"
    if idempotency_key is not None:
        headers["Idempotency-Key"] = idempotency_key
    if call.link is None:
        # What was meant for the service may hold credentials, and a link leads anywhere.
        headers.update(options.get("extra_headers") or {})
    return headers


def build_body(call: Call, options: RequestOptions) -> bytes | None:
    """The body as UTF-8 JSON."""
    body = to_json(call.body)
    extra = options.get("extra_body")
    if extra:
        if body is not None and not isinstance(body, dict):
            raise TypeError("extra_body adds fields to a JSON object, and this request sends none.")
        fields = cast("dict[str, object]", body or {})
        body = to_json({**fields, **extra})
    if body is None:
        return None
    # Not escaped: limits of the service count bytes. Half a surrogate pair has no UTF-8.
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def to_json(value: object) -> object:
    """Models as the fields that were set, anything else as JSON has it."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {str(key): to_json(item) for key, item in items}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in cast("Sequence[object]", value)]
    return to_jsonable_python(value)


def segment(text: str) -> str:
    """An id as a part of a path. An empty one would ask for another thing."""
    if not text:
        raise ValueError("An id must not be empty.")
    return quote(text, safe="")
