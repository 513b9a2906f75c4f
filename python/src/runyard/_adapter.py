"""Validators of types, each built once: building one takes far longer than using it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar, cast, get_origin

from pydantic import BaseModel, TypeAdapter

T = TypeVar("T")


def validate(kind: type[T], value: object) -> T:
    """A value that was JSON as this type, or pydantic's ValidationError."""
    model = as_model(kind)
    return cast(
        "T", model.model_validate(value) if model else _adapter_of(cast("Any", kind)).validate_python(value)
    )


def validate_json(kind: type[T], text: str | bytes) -> T:
    """JSON as this type, or pydantic's ValidationError."""
    model = as_model(kind)
    return cast(
        "T", model.model_validate_json(text) if model else _adapter_of(cast("Any", kind)).validate_json(text)
    )


def as_model(kind: object) -> type[BaseModel] | None:
    """The type if it is a model, and no union or the like."""
    # Python 3.10 takes dict[str, str] for a class, until issubclass is asked.
    if not isinstance(kind, type) or get_origin(kind) is not None:
        return None
    return kind if issubclass(kind, BaseModel) else None


# Models keep their validators themselves, and take them along when they go; other types are few.
@lru_cache(maxsize=256)
def _adapter_of(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
