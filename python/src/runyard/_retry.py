"""When a request is sent again, and after how long."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from ._errors import APIConnectionError, APIError, is_retryable_status

_LONGEST_ASKED = 60.0
_LONGEST = 8.0
_NUMBER = re.compile(r"\d+(\.\d+)?", re.ASCII)


def is_retryable(error: BaseException) -> bool:
    """Whether the same request may be sent again after this error. `x-should-retry` decides when given."""
    if isinstance(error, APIConnectionError):
        return True
    if not isinstance(error, APIError):
        return False
    said: str | None = error.headers.get("x-should-retry")
    if said in ("true", "false"):
        return said == "true"
    return error.retryable and is_retryable_status(error.status)


def retry_delay(
    error: BaseException, retry: int, now: float | None = None, chance: float | None = None
) -> float:
    """Seconds to wait before the retry with this number (from 0): what the server asks for, else exponential."""
    asked = _asked_delay(error.headers, now) if isinstance(error, APIError) else None
    if asked is not None and asked <= _LONGEST_ASKED:
        return max(0.0, asked)
    spread = random.random() if chance is None else chance
    # The cap on the exponent keeps the power small, however often a stream is opened again.
    return min(0.5 * 2.0 ** min(retry, 10), _LONGEST) * (1 - 0.25 * spread)


def _asked_delay(headers: Mapping[str, str], now: float | None) -> float | None:
    milliseconds = headers.get("retry-after-ms", "").strip()
    if _NUMBER.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    after = headers.get("retry-after", "").strip()
    if _NUMBER.fullmatch(after):
        return float(after)
    try:
        return parsedate_to_datetime(after).timestamp() - (time.time() if now is None else now)
    except (ValueError, TypeError):
        return None
