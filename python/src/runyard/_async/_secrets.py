"""`client.secrets`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._lists import AsyncSecretList
from .._models import ListSecretsResponse, Secret
from .._params import ListSecretsParams, PutSecretParams, SecretParams
from .._parse import into
from .._request import Call, segment
from .._split import split
from ._page import AsyncSecretPage
from ._streaming_response import raw_method, streaming_method
from ._transport import AsyncRawTransport, AsyncStreamingTransport, AsyncTransport

_PATH = "/agent/secrets"


class AsyncSecrets:
    """`client.secrets`: values for commands and tokens of git. No method ever gives a value back."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> AsyncSecretsWithRawResponse:
        """The same methods, returning status and headers as well."""
        return AsyncSecretsWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncSecretsWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return AsyncSecretsWithStreamingResponse(self._transport)

    async def put(self, name: str, **params: Unpack[PutSecretParams]) -> Secret:
        """Keeps a value under a name, encrypted; one that is there is replaced.

        With `git` it is a token that never enters a sandbox. To make another kind of a secret that is there is a
        `ConflictError`: delete it first.
        """
        body, options = split("put", params, PutSecretParams)
        scope = body.pop("scope", None)
        call = Call("PUT", f"{_PATH}/{segment(name)}", {"scope": scope}, body)
        return await self._transport.send(call, into(Secret), options)

    async def get(self, name: str, **params: Unpack[SecretParams]) -> Secret:
        """What is known of a secret besides its value."""
        fields, options = split("get", params, SecretParams)
        call = Call("GET", f"{_PATH}/{segment(name)}", fields)
        return await self._transport.send(call, into(Secret), options)

    async def delete(self, name: str, **params: Unpack[SecretParams]) -> Secret:
        """Deletes a secret, and returns it as it was."""
        fields, options = split("delete", params, SecretParams)
        call = Call("DELETE", f"{_PATH}/{segment(name)}", fields)
        return await self._transport.send(call, into(Secret), options)

    def list(self, **params: Unpack[ListSecretsParams]) -> AsyncSecretList:
        """Secrets by name, up to 500 a page. Iterated, it goes through all pages."""
        fields, options = split("list", params, ListSecretsParams)

        async def fetch(cursor: str | None) -> AsyncSecretPage:
            call = Call("GET", _PATH, {**fields, "cursor": cursor})
            read = into(ListSecretsResponse, "secrets")
            return AsyncSecretPage(await self._transport.send(call, read, options), cursor, fetch)

        return AsyncSecretList(lambda: fetch(fields.get("cursor")))

    async def list_page(self, **params: Unpack[ListSecretsParams]) -> ListSecretsResponse:
        """One page of secrets as it comes. `list` goes on to the next ones."""
        fields, options = split("list", params, ListSecretsParams)
        return await self._transport.send(Call("GET", _PATH, fields), into(ListSecretsResponse), options)


class AsyncSecretsWithRawResponse:
    """`client.secrets.with_raw_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        secrets = AsyncSecrets(AsyncRawTransport(transport.settings, transport.http))
        self.put = raw_method(secrets.put)
        self.get = raw_method(secrets.get)
        self.delete = raw_method(secrets.delete)
        self.list = raw_method(secrets.list_page)


class AsyncSecretsWithStreamingResponse:
    """`client.secrets.with_streaming_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        secrets = AsyncSecrets(AsyncStreamingTransport(transport.settings, transport.http))
        self.put = streaming_method(secrets.put)
        self.get = streaming_method(secrets.get)
        self.delete = streaming_method(secrets.delete)
        self.list = streaming_method(secrets.list_page)
