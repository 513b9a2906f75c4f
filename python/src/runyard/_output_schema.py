"""Typed results of runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel

from ._models import RunItem
from ._parse import parse_value

ModelT = TypeVar("ModelT", bound=BaseModel)

JsonSchema = Mapping[str, object]

_TERMINAL = ("SUCCEEDED", "FAILED", "ERROR", "CANCELLED")


class FinishedRun(RunItem, Generic[ModelT]):
    """A run that is waited for no longer, with its result as the model that was given for it."""

    result: ModelT | None = None
    """There once the run SUCCEEDED."""


def to_json_schema(schema: JsonSchema | type[BaseModel]) -> JsonSchema:
    """What the service is sent."""
    return schema.model_json_schema() if isinstance(schema, type) else schema


def parse_result(run: RunItem, schema: type[ModelT]) -> FinishedRun[ModelT]:
    """The run with its result as the model; one that does not fit: `APIResponseValidationError`."""
    values: dict[str, Any] = dict(run)
    result: ModelT | None = None
    if run.state == "SUCCEEDED":
        result = parse_value(values.get("result"), schema, f"The result of run {run.run_id}")
    kind = cast("type[FinishedRun[ModelT]]", FinishedRun)
    # Not validated again: a model of a run that was read leniently may not satisfy a strict one.
    return kind.model_construct(run.model_fields_set, **{**values, "result": result})


def is_terminal(state: str) -> bool:
    """Whether a run in this state has ended. BLOCKED has not: it waits for a person."""
    return state in _TERMINAL
