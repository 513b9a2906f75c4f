"""Sends requests."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar, cast

import httpx

from .._deadline import AsyncDeadline
from .._errors import RunyardError, create_api_error
from .._failure import failed_attempt
from .._log import log_headers, logger
from .._options import RequestOptions
from .._raw_response import RawResponse, read_answer
from .._redirect import MAX_REDIRECTS, next_hop, origin_of, without_credentials
from .._request import Call, Prepared, idempotency_key_of, prepare
from .._retry import is_retryable, retry_delay
from .._settings import Settings
from .._sleep import async_sleep
from ._streaming_response import AsyncStreamingResponse

T = TypeVar("T")


class AsyncTransport:
    """Where requests go and how; made once per client."""

    def __init__(self, settings: Settings, http: httpx.AsyncClient) -> None:
        self.settings = settings
        self.http = http
        self._home = origin_of(httpx.URL(settings.base_url))

    async def send(self, call: Call, read: Callable[[httpx.Response], T], options: RequestOptions) -> T:
        """What `read` makes of the answer."""
        return read_answer(await self.request(call, options), read)

    async def request(
        self, call: Call, options: RequestOptions, silence: float | None = None
    ) -> httpx.Response:
        """Sends a request until it succeeds, may not be repeated, or `max_retries` are used up.

        The body of the answer belongs to the attempt: one that breaks off is fetched again, and the timeout covers it.
        With `silence` it is left unread, for the caller to close; so many seconds without a byte of it are a timeout.
        """
        prepared = prepare(self.settings, call, options)
        retry = 0
        while True:
            try:
                return await self._attempt(prepared, silence)
            except RunyardError as error:
                error.idempotency_key = idempotency_key_of(prepared)
                if retry >= prepared.max_retries or not is_retryable(error):
                    raise
                delay = retry_delay(error, retry)
                logger.info("%s: %s Trying again in %.1f s.", prepared.name, error, delay)
            await async_sleep(delay)
            retry += 1
            prepared.headers["X-Runyard-Retry-Count"] = str(retry)

    async def _attempt(self, prepared: Prepared, silence: float | None) -> httpx.Response:
        started_at = time.monotonic()
        log_headers(prepared.name, prepared.headers)
        try:
            async with AsyncDeadline(prepared.timeout, silence) as deadline:
                response = await self._exchange(prepared, deadline)
                if silence is None or not response.is_success:
                    await deadline.read(response)
        except (TimeoutError, httpx.RequestError, httpx.InvalidURL, UnicodeError) as error:
            raise failed_attempt(error, prepared.url, prepared.timeout) from error
        milliseconds = (time.monotonic() - started_at) * 1000
        logger.info("%s: %d in %.0f ms", prepared.name, response.status_code, milliseconds)
        log_headers(prepared.name, response.headers)
        if response.is_success:
            return response
        raise create_api_error(response)

    async def _exchange(self, prepared: Prepared, deadline: AsyncDeadline) -> httpx.Response:
        """The answer, wherever a GET is led. The redirect of a write would repeat it elsewhere."""
        request = self.http.build_request(
            prepared.method,
            prepared.url,
            headers=prepared.headers,
            content=deadline.upload(prepared.content),
            extensions={"timeout": deadline.timeouts},
        )
        is_home = True
        for _ in range(1 + MAX_REDIRECTS):
            is_home = is_home and origin_of(request.url) == self._home
            if not is_home:
                request = without_credentials(request)
            # Not by httpx: it takes along all headers but the one named authorization.
            auth = httpx.USE_CLIENT_DEFAULT if is_home else None
            response = await self.http.send(request, auth=auth, stream=True, follow_redirects=False)
            following = next_hop(response) if prepared.method == "GET" else None
            if following is None:
                return response
            await deadline.read(response)
            request = following
        raise RunyardError(f"{origin_of(prepared.url)} redirects in circles. Is base_url right?")


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
