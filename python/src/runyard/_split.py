"""Keyword arguments, told apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, cast

from ._options import RequestOptions

_OPTIONS = RequestOptions.__optional_keys__


class Shape(Protocol):
    """A TypedDict class."""

    @property
    def __required_keys__(self) -> frozenset[str]: ...
    @property
    def __optional_keys__(self) -> frozenset[str]: ...


def split(method: str, params: Mapping[str, object], known: Shape) -> tuple[dict[str, Any], RequestOptions]:
    """Fields of the request and options of its sending. A name that is neither is a TypeError, as in any call.

    None is the same as leaving one out.
    """
    unknown = [name for name in params if name not in known.__required_keys__ | known.__optional_keys__]
    if unknown:
        raise TypeError(f"{method}() got an unexpected keyword argument {unknown[0]!r}")
    fields = {name: value for name, value in params.items() if name not in _OPTIONS and value is not None}
    return fields, pick_options(params)


def pick_options(params: Mapping[str, object]) -> RequestOptions:
    """Only the options."""
    return cast("RequestOptions", {name: value for name, value in params.items() if name in _OPTIONS})


def for_waiting(options: Mapping[str, object]) -> RequestOptions:
    """What of the options of a create or a wait goes for the requests that wait for the run."""
    kept = _OPTIONS - {"extra_body", "idempotency_key"}
    return cast("RequestOptions", {name: value for name, value in options.items() if name in kept})
