# Generated from _async/_api_keys.py by scripts/unasync.py; do not edit.
"""`client.api_keys`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._lists import ApiKeyList
from .._models import ApiKey, ListApiKeysResponse, NewApiKey
from .._options import RequestOptions
from .._params import CreateApiKeyParams, ListApiKeysParams, RotateApiKeyParams
from .._parse import into
from .._request import Call, segment
from .._split import split
from ._page import ApiKeyPage
from ._streaming_response import raw_method, streaming_method
from ._transport import RawTransport, StreamingTransport, Transport

_PATH = "/api-keys"


class ApiKeys:
    """`client.api_keys`: keys of users and identities. Only what makes one gives its text, once."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> ApiKeysWithRawResponse:
        """The same methods, returning status and headers as well."""
        return ApiKeysWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> ApiKeysWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return ApiKeysWithStreamingResponse(self._transport)

    def create(self, **params: Unpack[CreateApiKeyParams]) -> NewApiKey:
        """Makes a key, for admins.

        It is one more of the caller's, of somebody else, of an identity, or the first of a new user.
        """
        body, options = split("create", params, CreateApiKeyParams)
        return self._transport.send(Call("POST", _PATH, body=body), into(NewApiKey), options)

    def list(self, **params: Unpack[ListApiKeysParams]) -> ApiKeyList:
        """Keys, masked, newest first. Iterated, it goes through all pages.

        Admins see all, others those of their own principal.
        """
        fields, options = split("list", params, ListApiKeysParams)

        def fetch(cursor: str | None) -> ApiKeyPage:
            call = Call("GET", _PATH, {**fields, "cursor": cursor})
            read = into(ListApiKeysResponse, "api_keys")
            return ApiKeyPage(self._transport.send(call, read, options), cursor, fetch)

        return ApiKeyList(lambda: fetch(fields.get("cursor")))

    def list_page(self, **params: Unpack[ListApiKeysParams]) -> ListApiKeysResponse:
        """One page of keys as it comes. `list` goes on to the next ones."""
        fields, options = split("list", params, ListApiKeysParams)
        return self._transport.send(Call("GET", _PATH, fields), into(ListApiKeysResponse), options)

    def rotate(self, key_id: str, **params: Unpack[RotateApiKeyParams]) -> NewApiKey:
        """Makes a key in place of another, which still works for `grace_minutes`, by default five."""
        body, options = split("rotate", params, RotateApiKeyParams)
        call = Call("POST", f"{_PATH}/{segment(key_id)}/rotate", body=body)
        return self._transport.send(call, into(NewApiKey), options)

    def revoke(self, key_id: str, **options: Unpack[RequestOptions]) -> ApiKey:
        """Revokes a key at once, and returns it as it is then.

        The last admin key that works is a `ConflictError`.
        """
        return self._transport.send(Call("DELETE", f"{_PATH}/{segment(key_id)}"), into(ApiKey), options)


class ApiKeysWithRawResponse:
    """`client.api_keys.with_raw_response`"""

    def __init__(self, transport: Transport) -> None:
        api_keys = ApiKeys(RawTransport(transport.settings, transport.http))
        self.create = raw_method(api_keys.create)
        self.list = raw_method(api_keys.list_page)
        self.rotate = raw_method(api_keys.rotate)
        self.revoke = raw_method(api_keys.revoke)


class ApiKeysWithStreamingResponse:
    """`client.api_keys.with_streaming_response`"""

    def __init__(self, transport: Transport) -> None:
        api_keys = ApiKeys(StreamingTransport(transport.settings, transport.http))
        self.create = streaming_method(api_keys.create)
        self.list = streaming_method(api_keys.list_page)
        self.rotate = streaming_method(api_keys.rotate)
        self.revoke = streaming_method(api_keys.revoke)
