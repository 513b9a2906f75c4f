"""Answers of a service that is older or newer than its contract says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, ValidationError

from ._adapter import as_model, validate

ModelT = TypeVar("ModelT", bound=BaseModel)


def construct(kind: type[ModelT], value: Mapping[str, object]) -> ModelT:
    """The model with all that came: what fits is read as usual, the rest is kept as it is.

    A required field that did not come is an AttributeError when it is used, and not before.
    """
    kind.model_rebuild()
    fields = kind.model_fields
    values = {
        name: _read(fields[name].annotation, item) if name in fields else item for name, item in value.items()
    }
    return construct_as(kind, set(value), values)


def construct_as(kind: type[ModelT], fields_set: set[str], values: Mapping[str, object]) -> ModelT:
    """`model_construct`, for unknown fields of any name: its own parameters are names, too."""
    known = {name: value for name, value in values.items() if name in kind.model_fields}
    model = kind.model_construct(fields_set, **known)
    if model.model_extra is not None:
        model.model_extra.update({name: value for name, value in values.items() if name not in known})
    return model


def has_any(kind: type[BaseModel], value: Mapping[str, object]) -> bool:
    """Whether at least one required field came. Without any, it is the answer of something else."""
    required = {name for name, field in kind.model_fields.items() if field.is_required()}
    return not required or not required.isdisjoint(value)


def _read(kind: Any, value: object) -> object:
    try:
        return validate(kind, value)
    except ValidationError:
        pass
    arms = get_args(kind)
    fields = as_fields(value)
    if fields is not None:
        for model in map(as_model, (kind, *arms)):
            if model is not None:
                return construct(model, fields)
    if get_origin(kind) is list:
        items = as_items(value)
        return value if items is None else [_read(arms[0], item) for item in items]
    return value


def as_items(value: object) -> list[object] | None:
    """The value if it is a JSON array."""
    return cast("list[object]", value) if isinstance(value, list) else None


def as_fields(value: object) -> dict[str, object] | None:
    """The value if it is a JSON object."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else None
