# Generated from _async/_sign_in_links.py by scripts/unasync.py; do not edit.
"""`client.sign_in_links`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._models import SignInLink
from .._params import CreateSignInLinkParams
from .._parse import into
from .._request import Call
from .._split import split
from ._streaming_response import raw_method, streaming_method
from ._transport import RawTransport, StreamingTransport, Transport


class SignInLinks:
    """`client.sign_in_links`: links that open the page in a browser, signed in."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> SignInLinksWithRawResponse:
        """The same methods, returning status and headers as well."""
        return SignInLinksWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> SignInLinksWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return SignInLinksWithStreamingResponse(self._transport)

    def create(self, **params: Unpack[CreateSignInLinkParams]) -> SignInLink:
        """A link that signs a browser in with the client's key, once and within 60 seconds.

        With `path`, to what the page then shows. An admin's with `principal_id` signs in as that
        person, within 24 hours.
        """
        body, options = split("create", params, CreateSignInLinkParams)
        call = Call("POST", "/agent/sign-in-links", body=body)
        return self._transport.send(call, into(SignInLink), options)


class SignInLinksWithRawResponse:
    """`client.sign_in_links.with_raw_response`"""

    def __init__(self, transport: Transport) -> None:
        sign_in_links = SignInLinks(RawTransport(transport.settings, transport.http))
        self.create = raw_method(sign_in_links.create)


class SignInLinksWithStreamingResponse:
    """`client.sign_in_links.with_streaming_response`"""

    def __init__(self, transport: Transport) -> None:
        sign_in_links = SignInLinks(StreamingTransport(transport.settings, transport.http))
        self.create = streaming_method(sign_in_links.create)
