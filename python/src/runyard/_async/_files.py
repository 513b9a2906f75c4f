"""`client.files`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._lists import AsyncWorkspaceFileList
from .._models import ListWorkspaceFilesResponse, WorkspaceFileResponse
from .._params import ListWorkspaceFilesParams, WorkspaceFileParams
from .._parse import into, parse_json, read_bytes
from .._request import Call, run_path
from .._split import split
from ._page import AsyncWorkspaceFilePage
from ._streaming_response import raw_method, streaming_method
from ._transport import AsyncRawTransport, AsyncStreamingTransport, AsyncTransport


class AsyncFiles:
    """`client.files`: the workspaces of runs, as their turns left them.

    For who may send the run a message; viewers may not.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> AsyncFilesWithRawResponse:
        """The same methods, returning status and headers as well."""
        return AsyncFilesWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncFilesWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return AsyncFilesWithStreamingResponse(self._transport)

    def list(self, run_id: str, **params: Unpack[ListWorkspaceFilesParams]) -> AsyncWorkspaceFileList:
        """What lies directly in a folder, by name; /workspace itself by default.

        Iterated, it goes through all pages.
        """
        fields, options = split("list", params, ListWorkspaceFilesParams)

        async def fetch(cursor: str | None) -> AsyncWorkspaceFilePage:
            call = Call("GET", run_path(run_id, "/files"), {**fields, "cursor": cursor})
            read = into(ListWorkspaceFilesResponse, "files")
            return AsyncWorkspaceFilePage(await self._transport.send(call, read, options), cursor, fetch)

        return AsyncWorkspaceFileList(lambda: fetch(fields.get("cursor")))

    async def list_page(
        self, run_id: str, **params: Unpack[ListWorkspaceFilesParams]
    ) -> ListWorkspaceFilesResponse:
        """One page of a folder as it comes. `list` goes on to the next ones."""
        fields, options = split("list", params, ListWorkspaceFilesParams)
        call = Call("GET", run_path(run_id, "/files"), fields)
        return await self._transport.send(call, into(ListWorkspaceFilesResponse), options)

    async def retrieve(self, run_id: str, **params: Unpack[WorkspaceFileParams]) -> WorkspaceFileResponse:
        """What a file is, with a link to its bytes that works without a key for 15 minutes."""
        fields, options = split("retrieve", params, WorkspaceFileParams)
        call = Call("GET", run_path(run_id, "/file"), fields)
        return await self._transport.send(call, into(WorkspaceFileResponse), options)

    async def download(self, run_id: str, **params: Unpack[WorkspaceFileParams]) -> bytes:
        """The bytes of a file. The signed link is asked without the key.

        `with_streaming_response.download` gives large ones piece by piece.
        """
        fields, options = split("download", params, WorkspaceFileParams)
        path = run_path(run_id, "/file")
        answer = await self._transport.request(Call("GET", path, fields), options)
        link = parse_json(answer.content, WorkspaceFileResponse).download_url
        return await self._transport.send(Call("GET", path, accept="*/*", link=link), read_bytes, options)


class AsyncFilesWithRawResponse:
    """`client.files.with_raw_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        files = AsyncFiles(AsyncRawTransport(transport.settings, transport.http))
        self.list = raw_method(files.list_page)
        self.retrieve = raw_method(files.retrieve)
        self.download = raw_method(files.download)


class AsyncFilesWithStreamingResponse:
    """`client.files.with_streaming_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        files = AsyncFiles(AsyncStreamingTransport(transport.settings, transport.http))
        self.list = streaming_method(files.list_page)
        self.retrieve = streaming_method(files.retrieve)
        self.download = streaming_method(files.download)
