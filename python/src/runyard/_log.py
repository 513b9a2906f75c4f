"""The logger `runyard`, without secrets."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping

logger = logging.getLogger("runyard")

_LEVELS = {
    "off": logging.CRITICAL + 1,
    "error": logging.ERROR,
    "warn": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
}
_SECRET_WORDS = ("auth", "cookie", "key", "token", "secret", "sign", "pass", "credential")
# Named like a secret and no secret; it joins the lines of one request.
_HARMLESS = "idempotency-key"


def setup_logging() -> None:
    """Lets RUNYARD_LOG (off, error, warn, info, debug) set the level; unset, logging is the application's matter."""
    level = _LEVELS.get(os.environ.get("RUNYARD_LOG", "").strip().lower())
    if level is None:
        return
    logger.setLevel(level)
    # An application that has set up logging prints these lines already.
    if not logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
        logger.addHandler(handler)


def log_headers(request: str, headers: Mapping[str, str]) -> None:
    """Writes them at the level debug; nothing is redacted for nobody."""
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug("%s: %s", request, redact(headers))


def redact(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers as they may be logged: keys, cookies and authorization are `***`, a Location has no query."""
    return {
        name: "***" if _is_secret(name) else without_query(value) if name.lower() == "location" else value
        for name, value in headers.items()
    }


def without_query(address: str) -> str:
    """The address as it may be printed: the signature of a link stands in its query."""
    return re.split("[?#]", address, maxsplit=1)[0]


def _is_secret(name: str) -> bool:
    lower = name.lower()
    return lower != _HARMLESS and any(word in lower for word in _SECRET_WORDS)
