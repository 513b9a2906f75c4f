"""Sends requests."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar, cast

import httpx

from .._deadline import AsyncDeadline
from .._errors import APIConnectionError, APITimeoutError, RunyardError, create_api_error
from .._log import log_headers, logger
from .._options import RequestOptions
from .._raw_response import RawResponse
from .._request import Call, Settings, build_body, build_headers, build_url, create_key
from .._retry import is_retryable, retry_delay
from .._sleep import async_sleep
from ._streaming_response import AsyncStreamingResponse

T = TypeVar("T")


class AsyncTransport:
    """Where requests go and how; made once per client."""

    def __init__(self, settings: Settings, http: httpx.AsyncClient) -> None:
        self.settings = settings
        self.http = http

    async def send(self, call: Call, read: Callable[[httpx.Response], T], options: RequestOptions) -> T:
        """What `read` makes of the answer."""
        return read(await self.request(call, options))

    async def request(
        self, call: Call, options: RequestOptions, silence: float | None = None
    ) -> httpx.Response:
        """Sends a request until it succeeds, may not be repeated, or `max_retries` are used up.

        The body of the answer belongs to the attempt: one that breaks off is fetched again, and the timeout covers it.
        With `silence` it is left unread, for the caller to close; so many seconds without a byte of it are a timeout.
        """
        asked = options.get("max_retries")
        max_retries = self.settings.max_retries if asked is None else asked
        key = create_key(call, options)
        retry = 0
        while True:
            try:
                return await self._attempt(call, options, silence, retry, key)
            except RunyardError as error:
                if retry >= max_retries or not is_retryable(error):
                    raise
                delay = retry_delay(error, retry)
                logger.info("%s %s: %s Trying again in %.1f s.", call.method, call.path, error, delay)
            await async_sleep(delay)
            retry += 1

    async def _attempt(
        self, call: Call, options: RequestOptions, silence: float | None, retry: int, key: str | None
    ) -> httpx.Response:
        asked = options.get("timeout")
        timeout = self.settings.timeout if asked is None else asked
        url = build_url(self.settings, call, options)
        origin = f"{url.scheme}://{url.netloc.decode()}"
        started_at = time.monotonic()
        try:
            async with AsyncDeadline(timeout, silence) as deadline:
                request = self.http.build_request(
                    call.method,
                    url,
                    headers=build_headers(self.settings, call, options, retry, key),
                    content=build_body(call, options),
                    extensions={"timeout": deadline.timeouts},
                )
                log_headers(call.method, url.path, request.headers)
                # Following the redirect of a write would repeat it elsewhere.
                response = await self.http.send(request, stream=True, follow_redirects=call.method == "GET")
                if silence is None or not response.is_success:
                    await deadline.read(response)
        except (TimeoutError, httpx.TimeoutException) as error:
            limit = 5.0 if isinstance(error, httpx.ConnectTimeout) and timeout > 5 else timeout
            raise APITimeoutError(f"{origin} did not answer within {limit:g} s.") from error
        except (httpx.TooManyRedirects, httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
            # Not quoted: it may hold the value of a header.
            raise RunyardError(f"The request cannot be sent to {origin}: {type(error).__name__}.") from None
        except httpx.RequestError as error:
            reason = str(error).rstrip(".") or type(error).__name__
            raise APIConnectionError(f"Cannot reach {origin}: {reason}.") from error
        milliseconds = (time.monotonic() - started_at) * 1000
        logger.info("%s %s: %d in %.0f ms", call.method, url.path, response.status_code, milliseconds)
        log_headers(call.method, url.path, response.headers)
        if response.is_success:
            return response
        raise create_api_error(response)


class AsyncRawTransport(AsyncTransport):
    """Under `with_raw_response`: what is sent for comes as a RawResponse. Only `raw_method` tells the types."""

    async def send(self, call: Call, read: Callable[[httpx.Response], T], options: RequestOptions) -> T:
        return cast("T", RawResponse(await self.request(call, options), read))


class AsyncStreamingTransport(AsyncTransport):
    """Under `with_streaming_response`: the same with a body that is read by the caller."""

    async def send(self, call: Call, read: Callable[[httpx.Response], T], options: RequestOptions) -> T:
        silence = options.get("timeout")
        response = await self.request(call, options, self.settings.timeout if silence is None else silence)
        return cast("T", AsyncStreamingResponse(response, read))
