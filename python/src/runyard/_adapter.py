"""Validators of types, each built once: building one takes far longer than using it."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import TypeAdapter

T = TypeVar("T")

_adapters: dict[Any, TypeAdapter[Any]] = {}


def adapter_of(kind: type[T]) -> TypeAdapter[T]:
    """What validates values of this type."""
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]
