"""What an attempt can fail with, in the errors of this library."""

from __future__ import annotations

import httpx

from ._errors import APIConnectionError, APITimeoutError, RunyardError
from ._redirect import origin_of, redirected_nowhere

CONNECT_TIMEOUT = 5.0


def failed_attempt(error: Exception, asked: httpx.URL, timeout: float) -> RunyardError:
    """For an attempt without a whole answer."""
    # A redirect may have led elsewhere.
    origin = origin_of(error.request.url if isinstance(error, httpx.RequestError) else asked)
    if _is_bad_redirect(error):
        return redirected_nowhere(origin)
    if is_timeout(error):
        limit = min(timeout, CONNECT_TIMEOUT) if isinstance(error, httpx.ConnectTimeout) else timeout
        return APITimeoutError(f"{origin} did not answer within {limit:g} s.")
    if isinstance(error, (httpx.UnsupportedProtocol, httpx.LocalProtocolError)):
        # Not quoted: it may hold the value of a header.
        return RunyardError(f"The request cannot be sent to {origin}: {type(error).__name__}.")
    reason = str(error).rstrip(".") or type(error).__name__
    return APIConnectionError(f"Cannot reach {origin}: {reason}.")


def _is_bad_redirect(error: Exception) -> bool:
    # httpx reads every Location, to be followed or not, and gives no answer when it is none: only one of these.
    is_refused = isinstance(error, httpx.RemoteProtocolError) and "location header" in str(error)
    return is_refused or isinstance(error, (httpx.InvalidURL, UnicodeError))


def broken_body(error: httpx.RequestError) -> APIConnectionError:
    """For a body that does not come to its end."""
    if is_timeout(error):
        return APITimeoutError("The rest of the answer did not come in time.")
    return APIConnectionError("The answer broke off.")


def is_timeout(error: BaseException) -> bool:
    """Whether it took too long."""
    if isinstance(error, httpx.ConnectTimeout) and type(error.__cause__).__module__.startswith("aiohttp"):
        # Only here, where it has been imported already: otherwise it takes a fifth of the whole import.
        import asyncio

        # httpx-aiohttp calls every lost connection that; aiohttp knows better.
        return isinstance(error.__cause__, asyncio.TimeoutError)
    return isinstance(error, (TimeoutError, httpx.TimeoutException))
