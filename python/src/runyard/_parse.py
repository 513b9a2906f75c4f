"""Answers into what was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar, cast

import httpx
from pydantic import ValidationError

from ._adapter import as_model, validate_json
from ._errors import APIResponseValidationError
from ._lenient import as_fields, construct, has_any
from ._wire_model import WireModel

T = TypeVar("T")

_NO_JSON = "The answer is not JSON, so it is not from a Runyard service. Is base_url right?"


def into(kind: type[T], *needed: str) -> Callable[[httpx.Response], T]:
    """Reads the body of an answer as this type. What is read leniently may lack fields, but not the needed ones."""

    def read(response: httpx.Response) -> T:
        if not response.content:
            status = response.status_code
            raise APIResponseValidationError(f"The server answered {status} with nothing. Is base_url right?")
        value = parse_json(response.content, kind)
        for name in needed:
            if not hasattr(value, name):
                raise APIResponseValidationError(
                    f"The answer does not fit {kind.__name__}: it has no {name}.", value
                )
        return value

    return read


def read_json(response: httpx.Response) -> Any:
    """The body as a JSON value; None when there is none."""
    return load_json(response.content) if response.content else None


def read_text(response: httpx.Response) -> str:
    """The body as it is."""
    return response.text


def read_bytes(response: httpx.Response) -> bytes:
    """The body as it is."""
    return response.content


def parse_json(body: bytes, kind: type[T], what: str = "The answer") -> T:
    """The JSON value as this type; `APIResponseValidationError` when it is no JSON or does not fit."""
    try:
        return validate_json(kind, body)
    except ValidationError as error:
        misfit = error
    value = load_json(body)
    if misfit.errors(include_input=False, include_url=False)[0]["type"] == "json_invalid":
        # Only for strict readers, who refuse halves of characters.
        try:
            return validate_json(kind, json.dumps(value))
        except ValidationError as error:
            misfit = error
    fields, model = as_fields(value), as_model(kind)
    if fields is None or model is None or not issubclass(model, WireModel) or not has_any(model, fields):
        raise APIResponseValidationError(f"{what} {describe_misfit(kind, misfit)}.", value) from misfit
    return cast("T", construct(model, fields))


def load_json(body: bytes) -> Any:
    """Any JSON value; None for an empty body is the caller's matter."""
    try:
        return mend(json.loads(body), body)
    except (ValueError, RecursionError) as error:
        raise APIResponseValidationError(_NO_JSON, body.decode("utf-8", "replace")) from error


def mend(value: object, text: bytes) -> object:
    """What the text says, without halves of surrogate pairs: JavaScript sends them, and here they are no characters."""
    if b"\\ud" not in text and b"\\uD" not in text:
        return value
    whole = json.dumps(value, ensure_ascii=False).encode("utf-16-le", "surrogatepass")
    mended: object = json.loads(whole.decode("utf-16-le", "replace"))
    return mended


def describe_misfit(kind: type[object], error: Exception) -> str:
    """`does not fit Report: files.0: Input should be a valid string`: what is wrong first, without the values."""
    name = getattr(kind, "__name__", str(kind))
    if not isinstance(error, ValidationError):
        return f"does not fit {name}: its validator raised {type(error).__name__}"
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"does not fit {name}: {f'{place}: ' if place else ''}{first['msg']}"
