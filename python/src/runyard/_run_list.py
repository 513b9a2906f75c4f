"""`runs.list`: what the two trees do differently."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import TYPE_CHECKING

from ._async._run_page import AsyncRunPage
from ._sync._run_page import RunPage

if TYPE_CHECKING:
    from ._models import RunItem


class AsyncRunList:
    """A list of runs that has not been asked for yet.

    Awaited, it is the first page; iterated, every run of every page, each page fetched when it is needed.
    """

    def __init__(self, first: Callable[[], Awaitable[AsyncRunPage]]) -> None:
        self._first = first

    def __await__(self) -> Generator[object, object, AsyncRunPage]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[RunItem]:
        async for run in await self._first():
            yield run

    async def iter_pages(self) -> AsyncIterator[AsyncRunPage]:
        """Page by page."""
        async for page in (await self._first()).iter_pages():
            yield page


class RunList(RunPage):
    """The first page of a list of runs. Iterated, every run of every page, each page fetched when it is needed."""

    def __init__(self, first: Callable[[], RunPage]) -> None:
        page = first()
        super().__init__(page.response, page._cursor, page._fetch)
