# Generated from _async/_grants.py by scripts/unasync.py; do not edit.
"""`client.grants`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._models import ResourceGrants
from .._params import GrantsParams, PutGrantsParams
from .._parse import into
from .._request import Call
from .._split import split
from ._streaming_response import raw_method, streaming_method
from ._transport import RawTransport, StreamingTransport, Transport

_PATH = "/agent/grants"


class Grants:
    """`client.grants`: who may use a pool, an environment, an identity or a secret."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> GrantsWithRawResponse:
        """The same methods, returning status and headers as well."""
        return GrantsWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> GrantsWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return GrantsWithStreamingResponse(self._transport)

    def get(self, **params: Unpack[GrantsParams]) -> ResourceGrants:
        """Those of one pool, environment, identity or secret."""
        fields, options = split("get", params, GrantsParams)
        return self._transport.send(Call("GET", _PATH, fields), into(ResourceGrants), options)

    def put(self, **params: Unpack[PutGrantsParams]) -> ResourceGrants:
        """Replaces those of one pool, environment, identity or secret.

        With nobody in `principal_ids` it is as it was without grants.
        """
        body, options = split("put", params, PutGrantsParams)
        return self._transport.send(Call("PUT", _PATH, body=body), into(ResourceGrants), options)


class GrantsWithRawResponse:
    """`client.grants.with_raw_response`"""

    def __init__(self, transport: Transport) -> None:
        grants = Grants(RawTransport(transport.settings, transport.http))
        self.get = raw_method(grants.get)
        self.put = raw_method(grants.put)


class GrantsWithStreamingResponse:
    """`client.grants.with_streaming_response`"""

    def __init__(self, transport: Transport) -> None:
        grants = Grants(StreamingTransport(transport.settings, transport.http))
        self.get = streaming_method(grants.get)
        self.put = streaming_method(grants.put)
