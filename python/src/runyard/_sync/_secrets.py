# Generated from _async/_secrets.py by scripts/unasync.py; do not edit.
"""`client.secrets`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._lists import SecretList
from .._models import ListSecretsResponse, Secret
from .._params import ListSecretsParams, PutSecretParams, SecretParams
from .._parse import into
from .._request import Call, segment
from .._split import split
from ._page import SecretPage
from ._streaming_response import raw_method, streaming_method
from ._transport import RawTransport, StreamingTransport, Transport

_PATH = "/agent/secrets"


class Secrets:
    """`client.secrets`: values for commands and tokens of git. No method ever gives a value back."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> SecretsWithRawResponse:
        """The same methods, returning status and headers as well."""
        return SecretsWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> SecretsWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return SecretsWithStreamingResponse(self._transport)

    def put(self, name: str, **params: Unpack[PutSecretParams]) -> Secret:
        """Keeps a value under a name, encrypted; one that is there is replaced.

        With `git` it is a token that never enters a sandbox. To make another kind of a secret that is there is a
        `ConflictError`: delete it first.
        """
        body, options = split("put", params, PutSecretParams)
        scope = body.pop("scope", None)
        call = Call("PUT", f"{_PATH}/{segment(name)}", {"scope": scope}, body)
        return self._transport.send(call, into(Secret), options)

    def get(self, name: str, **params: Unpack[SecretParams]) -> Secret:
        """What is known of a secret besides its value."""
        fields, options = split("get", params, SecretParams)
        call = Call("GET", f"{_PATH}/{segment(name)}", fields)
        return self._transport.send(call, into(Secret), options)

    def delete(self, name: str, **params: Unpack[SecretParams]) -> Secret:
        """Deletes a secret, and returns it as it was."""
        fields, options = split("delete", params, SecretParams)
        call = Call("DELETE", f"{_PATH}/{segment(name)}", fields)
        return self._transport.send(call, into(Secret), options)

    def list(self, **params: Unpack[ListSecretsParams]) -> SecretList:
        """Secrets by name, up to 500 a page. Iterated, it goes through all pages."""
        fields, options = split("list", params, ListSecretsParams)

        def fetch(cursor: str | None) -> SecretPage:
            call = Call("GET", _PATH, {**fields, "cursor": cursor})
            read = into(ListSecretsResponse, "secrets")
            return SecretPage(self._transport.send(call, read, options), cursor, fetch)

        return SecretList(lambda: fetch(fields.get("cursor")))

    def list_page(self, **params: Unpack[ListSecretsParams]) -> ListSecretsResponse:
        """One page of secrets as it comes. `list` goes on to the next ones."""
        fields, options = split("list", params, ListSecretsParams)
        return self._transport.send(Call("GET", _PATH, fields), into(ListSecretsResponse), options)


class SecretsWithRawResponse:
    """`client.secrets.with_raw_response`"""

    def __init__(self, transport: Transport) -> None:
        secrets = Secrets(RawTransport(transport.settings, transport.http))
        self.put = raw_method(secrets.put)
        self.get = raw_method(secrets.get)
        self.delete = raw_method(secrets.delete)
        self.list = raw_method(secrets.list_page)


class SecretsWithStreamingResponse:
    """`client.secrets.with_streaming_response`"""

    def __init__(self, transport: Transport) -> None:
        secrets = Secrets(StreamingTransport(transport.settings, transport.http))
        self.put = streaming_method(secrets.put)
        self.get = streaming_method(secrets.get)
        self.delete = streaming_method(secrets.delete)
        self.list = streaming_method(secrets.list_page)
