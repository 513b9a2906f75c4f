# Generated from _async/_run_page.py by scripts/unasync.py; do not edit.
"""A page of runs."""

from __future__ import annotations

from collections.abc import Iterator

from .._method import Method
from .._models import ListRunsResponse, PageInfo, RunItem


class RunPage:
    """A page of runs, and the way to the next one."""

    response: ListRunsResponse
    """The page as it came."""

    def __init__(self, response: ListRunsResponse, fetch: Method[[str], ListRunsResponse]) -> None:
        self.response = response
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
        return self.page_info.has_next_page

    def next_page(self) -> RunPage | None:
        """The page after this one; None after the last."""
        cursor = self.page_info.next_cursor if self.has_next_page else None
        return None if cursor is None else RunPage(self._fetch(cursor), self._fetch)

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
