"""What all requests of a client share."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

from ._errors import RunyardError
from ._query import Query

API_PATH = "/api/v1"
# Where `runyard dev` listens.
DEFAULT_BASE_URL = "http://127.0.0.1:4200"
DEFAULT_TIMEOUT = 60.0
DEFAULT_MAX_RETRIES = 2


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
        base_url=_normalise_base_url(base_url or os.environ.get("RUNYARD_BASE_URL") or DEFAULT_BASE_URL),
        api_key=_require_key(os.environ.get("RUNYARD_API_KEY") if api_key is None else api_key),
        timeout=choose_timeout(timeout, DEFAULT_TIMEOUT),
        max_retries=choose_count(max_retries, DEFAULT_MAX_RETRIES, "max_retries"),
        headers=dict(headers or {}),
        query=dict(query or {}),
    )


def choose_timeout(given: object, default: float, name: str = "timeout") -> float:
    """Seconds, perhaps infinity; `RunyardError` for what is no time."""
    if given is None:
        return default
    # `not >` also refuses what is no number at all.
    if not isinstance(given, (int, float)) or isinstance(given, bool) or not given > 0:
        raise RunyardError(f"{name} must be a number of seconds above 0; math.inf is no limit.")
    return given


def choose_count(given: object, default: int, name: str) -> int:
    """`RunyardError` for what is no count."""
    if given is None:
        return default
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise RunyardError(f"{name} must be an integer from 0 on.")
    return given


def _normalise_base_url(text: str) -> str:
    """With `/api/v1`, whether it was given or not."""
    complaint = "base_url must be an http or https address without credentials, query and fragment."
    try:
        parts = urlsplit(text.strip())
        path = parts.path.rstrip("/")
        url = f"{parts.scheme}://{parts.netloc}{path if path.endswith(API_PATH) else path + API_PATH}"
        # Each of the two finds what the other lets pass, in ports for example.
        port, host = parts.port, httpx.URL(url).host
    except (ValueError, httpx.InvalidURL):
        raise RunyardError(complaint) from None
    if parts.scheme not in ("http", "https") or not host or port == 0 or re.search(r"\s", parts.netloc):
        raise RunyardError(complaint)
    if parts.username is not None or parts.query or parts.fragment:
        raise RunyardError(complaint)
    return url


def _require_key(key: str | None) -> str:
    # Checked here, because the complaint about a bad header would quote it.
    trimmed = (key or "").strip()
    if not trimmed:
        raise RunyardError("An API key is needed: pass api_key or set RUNYARD_API_KEY.")
    if not re.fullmatch(r"[\x21-\x7e]+", trimmed):
        raise RunyardError("The API key holds characters that no key has.")
    return trimmed
