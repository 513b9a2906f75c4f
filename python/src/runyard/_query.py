"""Queries as the service reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timezone
from enum import Enum
from typing import TypeAlias

QueryScalar: TypeAlias = str | int | float | bool | date | None
QueryValue: TypeAlias = QueryScalar | Sequence[QueryScalar] | Mapping[str, QueryScalar]
Query: TypeAlias = Mapping[str, QueryValue]


def query_pairs(query: Query) -> list[tuple[str, str]]:
    """Arrays repeat the key, maps use brackets, dates are RFC 3339 in UTC; None is left out.

    A datetime without a time zone is local time, as it is to `datetime.timestamp`.
    """
    return [pair for name, value in query.items() for pair in _pairs(name, value)]


def _pairs(name: str, value: QueryValue) -> Iterator[tuple[str, str]]:
    if value is None:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _pairs(f"{name}[{key}]", item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _pairs(name, item)
    else:
        yield name, _scalar(value)


def _scalar(value: str | int | float | bool | date) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return f"{value.isoformat()}T00:00:00.000Z"
    return str(value.value) if isinstance(value, Enum) else str(value)
