"""Requests as they are sent, without sending them."""

from __future__ import annotations

import json
import platform
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import quote

import httpx
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from ._errors import RunyardError
from ._options import RequestOptions
from ._query import Query, query_pairs
from ._settings import Settings, choose_count, choose_timeout
from ._version import VERSION

_RUNTIME = (
    f"{platform.python_implementation().lower().replace('cpython', 'python')}/{platform.python_version()}"
)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


@dataclass(frozen=True)
class Upload:
    """A file as it is."""

    content: bytes
    mime_type: str


@dataclass(frozen=True)
class Call:
    """One request, before headers."""

    method: str
    path: str
    """Below the base URL, ids in it already encoded; perhaps with a query."""
    query: Query = field(default_factory=dict[str, str])
    body: object = None
    """Sent as JSON; None sends none."""
    accept: str = "application/json"
    link: str | None = None
    """A signed link, which is asked instead of the path, without credentials."""
    upload: Upload | None = None
    """Sent instead of the body."""


@dataclass(frozen=True)
class Prepared:
    """A request as all its attempts send it, but for the X-Runyard-Retry-Count."""

    method: str
    url: httpx.URL
    name: str
    """For logs: without the query, which may hold secrets."""
    headers: httpx.Headers
    content: bytes | None
    timeout: float
    max_retries: int


def prepare(settings: Settings, call: Call, options: RequestOptions) -> Prepared:
    """Builds and checks a request; what cannot be sent is a `RunyardError`."""
    content = _build_body(call, options)
    url = _build_url(settings, call, options)
    return Prepared(
        method=call.method,
        url=url,
        name=f"{call.method} {url.path}",
        headers=_build_headers(settings, call, options, content),
        content=content,
        timeout=choose_timeout(options.get("timeout"), settings.timeout),
        max_retries=choose_count(options.get("max_retries"), settings.max_retries, "max_retries"),
    )


def idempotency_key_of(request: Prepared | httpx.Request) -> str | None:
    """That of a POST."""
    found: str | None = request.headers.get("Idempotency-Key")
    return found if request.method == "POST" else None


def run_path(run_id: str, rest: str = "") -> str:
    """`/agent/runs/{run_id}`, and what follows it."""
    return f"/agent/runs/{segment(run_id)}{rest}"


def segment(text: object) -> str:
    """An id as a part of a path. Dots would be steps to another path, and so would nothing at all."""
    if not isinstance(text, str) or text in ("", ".", ".."):
        raise RunyardError(f"{text!r} is not an id.")
    try:
        return quote(text, safe="")
    except ValueError as error:
        raise RunyardError(f"{text!r} is not an id.") from error


def _build_url(settings: Settings, call: Call, options: RequestOptions) -> httpx.URL:
    try:
        if call.link is not None:
            link = httpx.URL(call.link)
            # Only this looks whether it is the name of a host.
            _ = link.host
            return link
        # An address would be given the key.
        if not call.path.startswith("/") or "#" in call.path:
            raise RunyardError("A path begins with / and has no fragment; it is below base_url.")
        url = settings.base_url + call.path
        pairs = query_pairs({**settings.query, **call.query, **(options.get("extra_query") or {})})
        if pairs:
            url += f"{'&' if '?' in call.path else '?'}{httpx.QueryParams(tuple(pairs))}"
        return httpx.URL(url)
    except (httpx.InvalidURL, ValueError) as error:
        raise RunyardError(f"The address of the request cannot be asked: {error}.") from error


def _build_headers(
    settings: Settings, call: Call, options: RequestOptions, content: bytes | None
) -> httpx.Headers:
    headers = {
        "accept": call.accept,
        "user-agent": f"runyard-python/{VERSION}",
        "x-runyard-runtime": _RUNTIME,
        "x-runyard-retry-count": "0",
    }
    if content is not None:
        headers["content-type"] = "application/json" if call.upload is None else call.upload.mime_type
        headers["content-length"] = str(len(content))
    given: dict[str, str] = {}
    if call.method == "POST":
        # One for all attempts: a create whose answer was lost must not be done twice.
        given["idempotency-key"] = options.get("idempotency_key") or secrets.token_hex(16)
    if call.link is None:
        # A link leads anywhere, and what is meant for the service may hold credentials.
        headers["authorization"] = f"Bearer {settings.api_key}"
        given.update(settings.headers)
        given.update(options.get("extra_headers") or {})
    for name, value in given.items():
        # The complaint of the transport would quote the value, or let a line break pass.
        if not _HEADER_NAME.fullmatch(name) or not _is_header_value(value):
            raise RunyardError(f"The header {name!r} cannot be sent: it holds what no header may.")
        headers[name.lower()] = value.strip(" \t")
    return httpx.Headers(headers, encoding="latin-1")


def _is_header_value(value: object) -> bool:
    return isinstance(value, str) and _HEADER_VALUE.fullmatch(value) is not None


def _build_body(call: Call, options: RequestOptions) -> bytes | None:
    """The file to upload, or UTF-8 JSON."""
    if call.upload is not None:
        return call.upload.content
    extra = options.get("extra_body")
    if call.body is None and not extra:
        return None
    try:
        body = _to_json(call.body)
        if extra:
            if body is not None and not isinstance(body, dict):
                raise TypeError("extra_body adds fields to an object, and this request sends none")
            body = _to_json({**cast("dict[str, object]", body or {}), **extra})
        # Not escaped: limits of the service count bytes. Half a surrogate pair has no UTF-8.
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise RunyardError(f"The body of the request cannot be sent as JSON: {error}.") from error
    return text.encode("utf-8", "replace")


def _to_json(value: object) -> object:
    """Models as the fields that were set, anything else as JSON has it."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {str(key): _to_json(item) for key, item in items}
    if isinstance(value, (list, tuple)):
        return [_to_json(item) for item in cast("Sequence[object]", value)]
    return to_jsonable_python(value)
