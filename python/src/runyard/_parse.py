"""Answers into what was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar, cast

import httpx
from pydantic import ValidationError

from ._adapter import adapter_of
from ._errors import APIResponseValidationError
from ._lenient import as_fields, as_model, construct, has_any
from ._wire_model import WireModel

T = TypeVar("T")


def parse_json(body: bytes, kind: type[T]) -> T:
    """The JSON value as this type; `APIResponseValidationError` when it is no JSON or does not fit."""
    try:
        return adapter_of(kind).validate_json(body)
    except ValidationError as error:
        if error.errors(include_input=False, include_url=False)[0]["type"] != "json_invalid":
            return _read_leniently(kind, load_json(body), error)
    # No JSON, or half a surrogate pair, which JavaScript sends and Python reads, but strict readers refuse.
    whole = json.dumps(load_json(body), ensure_ascii=False)
    return adapter_of(kind).validate_json(
        whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    )


def parse_value(value: object, kind: type[T], what: str = "The answer") -> T:
    """A value that was JSON as this type."""
    try:
        return adapter_of(kind).validate_python(value)
    except ValidationError as error:
        raise _misfit(kind, error, value, what) from error


def load_json(body: bytes) -> Any:
    """Any JSON value; None for an empty body is the caller's matter."""
    try:
        return json.loads(body)
    except ValueError as error:
        raise APIResponseValidationError(
            "The answer is not JSON, so it is not from a Runyard service. Is base_url right?",
            body.decode("utf-8", "replace"),
        ) from error


def _read_leniently(kind: type[T], value: object, error: ValidationError) -> T:
    fields, model = as_fields(value), as_model(kind)
    if fields is None or model is None or not issubclass(model, WireModel) or not has_any(model, fields):
        raise _misfit(kind, error, value) from error
    return cast("T", construct(model, fields))


def _misfit(
    kind: type[object], error: ValidationError, body: object, what: str = "The answer"
) -> APIResponseValidationError:
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    name = getattr(kind, "__name__", str(kind))
    return APIResponseValidationError(
        f"{what} does not fit {name}: {place + ': ' if place else ''}{first['msg']}.", body
    )


def into(kind: type[T]) -> Callable[[httpx.Response], T]:
    """Reads the body of an answer as this type."""
    return lambda response: parse_json(response.content, kind)


def read_json(response: httpx.Response) -> Any:
    """The body as a JSON value; None when there is none."""
    return load_json(response.content) if response.content else None


def read_text(response: httpx.Response) -> str:
    """The body as it is."""
    return response.text


def read_bytes(response: httpx.Response) -> bytes:
    """The body as it is."""
    return response.content
