# Generated from _async/_identities.py by scripts/unasync.py; do not edit.
"""`client.identities`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._lists import IdentityList
from .._models import AgentIdentity, ListAgentIdentitiesResponse
from .._options import RequestOptions
from .._params import CreateIdentityParams, ListIdentitiesParams, UpdateIdentityParams
from .._parse import into
from .._request import Call, segment
from .._split import split
from ._page import IdentityPage
from ._streaming_response import raw_method, streaming_method
from ._transport import RawTransport, StreamingTransport, Transport

_PATH = "/agent/identities"


class Identities:
    """`client.identities`: service accounts that execute runs, which name one in `agent_identity_uid`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> IdentitiesWithRawResponse:
        """The same methods, returning status and headers as well."""
        return IdentitiesWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> IdentitiesWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return IdentitiesWithStreamingResponse(self._transport)

    def create(self, **params: Unpack[CreateIdentityParams]) -> AgentIdentity:
        """Makes an identity. What of it this service does not offer is a `PermissionDeniedError`."""
        body, options = split("create", params, CreateIdentityParams)
        return self._transport.send(Call("POST", _PATH, body=body), into(AgentIdentity), options)

    def list(self, **params: Unpack[ListIdentitiesParams]) -> IdentityList:
        """Identities by name, up to 500 a page: all that there may be. Iterated, it goes through all pages."""
        fields, options = split("list", params, ListIdentitiesParams)

        def fetch(cursor: str | None) -> IdentityPage:
            call = Call("GET", _PATH, {**fields, "cursor": cursor})
            read = into(ListAgentIdentitiesResponse, "agents")
            return IdentityPage(self._transport.send(call, read, options), cursor, fetch)

        return IdentityList(lambda: fetch(fields.get("cursor")))

    def list_page(self, **params: Unpack[ListIdentitiesParams]) -> ListAgentIdentitiesResponse:
        """One page of identities as it comes. `list` goes on to the next ones."""
        fields, options = split("list", params, ListIdentitiesParams)
        return self._transport.send(Call("GET", _PATH, fields), into(ListAgentIdentitiesResponse), options)

    def retrieve(self, uid: str, **options: Unpack[RequestOptions]) -> AgentIdentity:
        """One identity. One that is not there is a `NotFoundError`."""
        return self._transport.send(Call("GET", f"{_PATH}/{segment(uid)}"), into(AgentIdentity), options)

    def update(self, uid: str, **params: Unpack[UpdateIdentityParams]) -> AgentIdentity:
        """Changes what is named. What is left out or None stays, an empty text or list is none."""
        body, options = split("update", params, UpdateIdentityParams)
        call = Call("PUT", f"{_PATH}/{segment(uid)}", body=body)
        return self._transport.send(call, into(AgentIdentity), options)

    def delete(self, uid: str, **options: Unpack[RequestOptions]) -> AgentIdentity:
        """Deletes an identity, and returns it as it was: its keys are revoked, its runs stay."""
        return self._transport.send(Call("DELETE", f"{_PATH}/{segment(uid)}"), into(AgentIdentity), options)


class IdentitiesWithRawResponse:
    """`client.identities.with_raw_response`"""

    def __init__(self, transport: Transport) -> None:
        identities = Identities(RawTransport(transport.settings, transport.http))
        self.create = raw_method(identities.create)
        self.list = raw_method(identities.list_page)
        self.retrieve = raw_method(identities.retrieve)
        self.update = raw_method(identities.update)
        self.delete = raw_method(identities.delete)


class IdentitiesWithStreamingResponse:
    """`client.identities.with_streaming_response`"""

    def __init__(self, transport: Transport) -> None:
        identities = Identities(StreamingTransport(transport.settings, transport.http))
        self.create = streaming_method(identities.create)
        self.list = streaming_method(identities.list_page)
        self.retrieve = streaming_method(identities.retrieve)
        self.update = streaming_method(identities.update)
        self.delete = streaming_method(identities.delete)
