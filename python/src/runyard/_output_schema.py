"""Typed results of runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel

from ._adapter import as_model
from ._errors import APIResponseValidationError, RunFailedError
from ._lenient import construct_as
from ._models import RunItem
from ._parse import describe_misfit

ModelT = TypeVar("ModelT", bound=BaseModel)

JsonSchema = Mapping[str, object]

_TERMINAL = ("SUCCEEDED", "FAILED", "ERROR", "CANCELLED")


class FinishedRun(RunItem, Generic[ModelT]):
    """A run that is waited for no longer, with its result as the model that was given for it."""

    result: ModelT | None = None
    """There once the run SUCCEEDED."""


def to_json_schema(schema: JsonSchema | type[BaseModel]) -> JsonSchema:
    """What the service is sent."""
    model = as_model(schema)
    return cast("JsonSchema", schema) if model is None else model.model_json_schema()


def model_of(schema: JsonSchema | type[ModelT] | None) -> type[ModelT] | None:
    """What the result is checked with, if the schema is a model."""
    return cast("type[ModelT]", schema) if as_model(schema) else None


def finish_run(
    run: RunItem, schema: type[ModelT] | None, raise_on_failure: bool
) -> RunItem | FinishedRun[ModelT]:
    """What waiting for the run gives, or raises."""
    if raise_on_failure and is_terminal(run.state) and run.state != "SUCCEEDED":
        raise RunFailedError(run)
    return run if schema is None else parse_result(run, schema)


def parse_result(run: RunItem, schema: type[ModelT]) -> FinishedRun[ModelT]:
    """The run with its result as the model; one that does not fit: `APIResponseValidationError`."""
    values: dict[str, Any] = dict(run)
    result: ModelT | None = None
    if run.state == "SUCCEEDED":
        try:
            # As the JSON that it was: strict models take a date from JSON, and not from a string of Python.
            result = schema.model_validate_json(json.dumps(values.get("result")))
        except Exception as error:
            # Validators of the caller's may raise anything, and the run was paid for.
            message = f"The result of run {run.run_id} {describe_misfit(schema, error)}."
            raise APIResponseValidationError(message, values.get("result"), run) from error
    kind = cast("type[FinishedRun[ModelT]]", FinishedRun)
    # Not validated again: a model of a run that was read leniently may not satisfy a strict one.
    return construct_as(kind, run.model_fields_set, {**values, "result": result})


def is_terminal(state: str) -> bool:
    """Whether a run in this state has ended. BLOCKED has not: it waits for a person."""
    return state in _TERMINAL
