"""`client.environments`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._lists import AsyncEnvironmentList
from .._models import Environment, ListEnvironmentsResponse
from .._options import RequestOptions
from .._params import EnvironmentParams, ListEnvironmentsParams
from .._parse import into
from .._request import Call, segment
from .._split import split
from ._page import AsyncEnvironmentPage
from ._streaming_response import raw_method, streaming_method
from ._transport import AsyncRawTransport, AsyncStreamingTransport, AsyncTransport

_PATH = "/agent/environments"


class AsyncEnvironments:
    """`client.environments`"""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> AsyncEnvironmentsWithRawResponse:
        """The same methods, returning status and headers as well."""
        return AsyncEnvironmentsWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncEnvironmentsWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return AsyncEnvironmentsWithStreamingResponse(self._transport)

    async def create(self, **params: Unpack[EnvironmentParams]) -> Environment:
        """Makes an environment that runs can name."""
        body, options = split("create", params, EnvironmentParams)
        return await self._transport.send(Call("POST", _PATH, body=body), into(Environment), options)

    async def retrieve(self, environment_id: str, **options: Unpack[RequestOptions]) -> Environment:
        """One environment, by id or name."""
        call = Call("GET", f"{_PATH}/{segment(environment_id)}")
        return await self._transport.send(call, into(Environment), options)

    async def update(self, environment_id: str, **params: Unpack[EnvironmentParams]) -> Environment:
        """Replaces the configuration of an environment, by id or name.

        What is left out is gone, but variables whose value is `***` keep the one they have.
        """
        body, options = split("update", params, EnvironmentParams)
        call = Call("PUT", f"{_PATH}/{segment(environment_id)}", body=body)
        return await self._transport.send(call, into(Environment), options)

    async def delete(self, environment_id: str, **options: Unpack[RequestOptions]) -> Environment:
        """Deletes an environment, by id or name, and returns it as it was.

        Repeated after its answer was lost, it finds nothing any more: `NotFoundError`.
        """
        call = Call("DELETE", f"{_PATH}/{segment(environment_id)}")
        return await self._transport.send(call, into(Environment), options)

    def list(self, **params: Unpack[ListEnvironmentsParams]) -> AsyncEnvironmentList:
        """Environments in the order asked for, up to 500 a page. Iterated, it goes through all pages."""
        fields, options = split("list", params, ListEnvironmentsParams)

        async def fetch(cursor: str | None) -> AsyncEnvironmentPage:
            call = Call("GET", _PATH, {**fields, "cursor": cursor})
            read = into(ListEnvironmentsResponse, "environments")
            return AsyncEnvironmentPage(await self._transport.send(call, read, options), cursor, fetch)

        return AsyncEnvironmentList(lambda: fetch(fields.get("cursor")))

    async def list_page(self, **params: Unpack[ListEnvironmentsParams]) -> ListEnvironmentsResponse:
        """One page of environments as it comes. `list` goes on to the next ones."""
        fields, options = split("list", params, ListEnvironmentsParams)
        return await self._transport.send(Call("GET", _PATH, fields), into(ListEnvironmentsResponse), options)


class AsyncEnvironmentsWithRawResponse:
    """`client.environments.with_raw_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        environments = AsyncEnvironments(AsyncRawTransport(transport.settings, transport.http))
        self.create = raw_method(environments.create)
        self.retrieve = raw_method(environments.retrieve)
        self.update = raw_method(environments.update)
        self.delete = raw_method(environments.delete)
        self.list = raw_method(environments.list_page)


class AsyncEnvironmentsWithStreamingResponse:
    """`client.environments.with_streaming_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        environments = AsyncEnvironments(AsyncStreamingTransport(transport.settings, transport.http))
        self.create = streaming_method(environments.create)
        self.retrieve = streaming_method(environments.retrieve)
        self.update = streaming_method(environments.update)
        self.delete = streaming_method(environments.delete)
        self.list = streaming_method(environments.list_page)
