"""Requests that lead elsewhere."""

from __future__ import annotations

import httpx

from ._errors import RunyardError

MAX_REDIRECTS = 20

# What may go to any origin. Everything else may be a credential, those of the caller by whatever name.
_HARMLESS = {
    *("accept", "accept-encoding", "connection", "host", "user-agent", "x-runyard-runtime"),
    # Those of a file that is uploaded to a signed link.
    *("content-type", "content-length", "transfer-encoding"),
}


def origin_of(url: httpx.URL) -> str:
    """Scheme, host and port."""
    return f"{url.scheme}://{url.netloc.decode()}"


def without_credentials(request: httpx.Request) -> httpx.Request:
    """The request as strangers may see it."""
    headers = [pair for pair in request.headers.multi_items() if pair[0] in _HARMLESS]
    return httpx.Request(
        request.method, request.url, headers=headers, stream=request.stream, extensions=request.extensions
    )


def next_hop(response: httpx.Response) -> httpx.Request | None:
    """Where the answer leads, if it does; `RunyardError` when that is nowhere."""
    request = response.next_request
    if request is None:
        return None
    location = httpx.URL(response.headers["location"])
    # Of an address without a host httpx makes one on the host that was asked.
    if request.url.scheme not in ("http", "https") or (location.scheme and not location.host):
        raise redirected_nowhere(origin_of(response.request.url))
    return request


def redirected_nowhere(origin: str) -> RunyardError:
    """For an answer of this origin that leads to no address."""
    return RunyardError(f"{origin} redirects to nowhere. Is base_url right?")
