# Generated from _async/_skills.py by scripts/unasync.py; do not edit.
"""`client.skills`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._models import ListSkillsResponse
from .._params import ListSkillsParams
from .._parse import into
from .._request import Call
from .._split import split
from ._streaming_response import raw_method, streaming_method
from ._transport import RawTransport, StreamingTransport, Transport


class Skills:
    """`client.skills`"""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> SkillsWithRawResponse:
        """The same methods, returning status and headers as well."""
        return SkillsWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> SkillsWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return SkillsWithStreamingResponse(self._transport)

    def list(self, **params: Unpack[ListSkillsParams]) -> ListSkillsResponse:
        """Skills of the environments' repositories, as the last run of each environment found them."""
        fields, options = split("list", params, ListSkillsParams)
        return self._transport.send(Call("GET", "/agent", fields), into(ListSkillsResponse), options)


class SkillsWithRawResponse:
    """`client.skills.with_raw_response`"""

    def __init__(self, transport: Transport) -> None:
        self.list = raw_method(Skills(RawTransport(transport.settings, transport.http)).list)


class SkillsWithStreamingResponse:
    """`client.skills.with_streaming_response`"""

    def __init__(self, transport: Transport) -> None:
        skills = Skills(StreamingTransport(transport.settings, transport.http))
        self.list = streaming_method(skills.list)
