"""`client.skills`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._models import ListSkillsResponse
from .._params import ListSkillsParams
from .._parse import into
from .._request import Call
from .._split import split
from ._streaming_response import raw_method, streaming_method
from ._transport import AsyncRawTransport, AsyncStreamingTransport, AsyncTransport


class AsyncSkills:
    """`client.skills`"""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> AsyncSkillsWithRawResponse:
        """The same methods, returning status and headers as well."""
        return AsyncSkillsWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncSkillsWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return AsyncSkillsWithStreamingResponse(self._transport)

    async def list(self, **params: Unpack[ListSkillsParams]) -> ListSkillsResponse:
        """Skills of the environments' repositories, as the last run of each environment found them."""
        fields, options = split("list", params, ListSkillsParams)
        return await self._transport.send(Call("GET", "/agent", fields), into(ListSkillsResponse), options)


class AsyncSkillsWithRawResponse:
    """`client.skills.with_raw_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        self.list = raw_method(AsyncSkills(AsyncRawTransport(transport.settings, transport.http)).list)


class AsyncSkillsWithStreamingResponse:
    """`client.skills.with_streaming_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        skills = AsyncSkills(AsyncStreamingTransport(transport.settings, transport.http))
        self.list = streaming_method(skills.list)
