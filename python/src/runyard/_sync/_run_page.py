# Generated from _async/_run_page.py by scripts/unasync.py; do not edit.
"""A page of runs."""

from __future__ import annotations

from collections.abc import Iterator

from .._errors import RunyardError
from .._method import Method
from .._models import ListRunsResponse, PageInfo, RunItem


class RunPage:
    """A page of runs, and the way to the next one."""

    response: ListRunsResponse
    """The page as it came."""

    def __init__(
        self, response: ListRunsResponse, cursor: str | None, fetch: Method[[str], ListRunsResponse]
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

    def next_page(self) -> RunPage | None:
        """The page after this one; None after the last."""
        cursor = self.page_info.next_cursor if self.has_next_page else None
        if cursor is None:
            return None
        if cursor == self._cursor:
            raise RunyardError("The service gave the same page again.")
        return RunPage(self._fetch(cursor), cursor, self._fetch)

    def iter_pages(self) -> Iterator[RunPage]:
        """This page and those after it, each fetched when it is needed."""
        page: RunPage | None = self
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[RunItem]:
        for page in self.iter_pages():
            for run in page.runs:
                yield run

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.runs)} runs, has_next_page={self.has_next_page})"
