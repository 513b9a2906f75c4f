"""A page of runs."""

from __future__ import annotations

from collections.abc import AsyncIterator

from .._errors import RunyardError
from .._method import AsyncMethod
from .._models import ListRunsResponse, PageInfo, RunItem


class AsyncRunPage:
    """A page of runs, and the way to the next one."""

    response: ListRunsResponse
    """The page as it came."""

    def __init__(
        self, response: ListRunsResponse, cursor: str | None, fetch: AsyncMethod[[str], ListRunsResponse]
    ) -> None:
        self.response = response
        self._cursor = cursor
        self._fetch = fetch

    @property
    def runs(self) -> list[RunItem]:
        """Those of this page."""
        return self.response.runs

    @property
    def page_info(self) -> PageInfo:
        return self.response.page_info

    @property
    def has_next_page(self) -> bool:
        # An older service may leave out what the contract asks for.
        return bool(getattr(self.page_info, "has_next_page", False) and self.page_info.next_cursor)

    async def next_page(self) -> AsyncRunPage | None:
        """The page after this one; None after the last."""
        cursor = self.page_info.next_cursor if self.has_next_page else None
        if cursor is None:
            return None
        if cursor == self._cursor:
            raise RunyardError("The service gave the same page again.")
        return AsyncRunPage(await self._fetch(cursor), cursor, self._fetch)

    async def iter_pages(self) -> AsyncIterator[AsyncRunPage]:
        """This page and those after it, each fetched when it is needed."""
        page: AsyncRunPage | None = self
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[RunItem]:
        async for page in self.iter_pages():
            for run in page.runs:
                yield run

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.runs)} runs, has_next_page={self.has_next_page})"
