# pyright: basic
"""What errors hold, and that they can be sent to another process."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import httpx
import pytest
from behaviour_call import RUN

import runyard
from runyard import (
    APIConnectionError,
    APIError,
    APIResponseValidationError,
    APITimeoutError,
    NotFoundError,
    RunFailedError,
    RunItem,
    RunyardError,
    WebhookVerificationError,
)
from runyard._errors import create_api_error

RUN_ITEM = RunItem.model_validate(RUN)


def answer(status: int, body: bytes, **headers: str) -> httpx.Response:
    asked = httpx.Request("GET", "http://runyard.test/x?a=ry_secret", headers={"Authorization": "ry_secret"})
    response = httpx.Response(status, content=body, headers=headers, request=asked)
    response.next_request = asked
    response.history = [httpx.Response(302, request=asked)]
    return response


def not_found() -> NotFoundError:
    problem = {"error_code": "resource_not_found", "title": "Not found", "detail": "No such run."}
    headers = {"x-request-id": "request-1", "set-cookie": "a=ry_secret", "location": "/x?a=ry_secret"}
    error = create_api_error(answer(404, json.dumps(problem).encode(), **headers))
    assert isinstance(error, NotFoundError)
    return error


def with_run_id(error: RunyardError) -> RunyardError:
    error.run_id, error.idempotency_key = "r1", "k1"
    return error


@pytest.mark.parametrize(
    "error",
    [
        not_found(),
        RunFailedError(RUN_ITEM),
        APIResponseValidationError("No.", {"a": 1}, RUN_ITEM),
        with_run_id(APITimeoutError("Late.")),
        with_run_id(APIConnectionError("Away.")),
        WebhookVerificationError("No."),
        RunyardError("No."),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("through", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
def test_errors_can_be_copied(error: RunyardError, through: Callable[[RunyardError], RunyardError]) -> None:
    copied = through(error)
    assert type(copied) is type(error)
    assert (str(copied), repr(copied)) == (str(error), repr(error))
    different = {name for name, value in vars(error).items() if getattr(copied, name) != value}
    assert different <= {"response"}


def test_a_copied_error_has_no_credentials() -> None:
    sent = pickle.dumps(not_found())
    assert b"ry_secret" not in sent
    error = pickle.loads(sent)
    assert (error.status, error.code, error.request_id) == (404, "resource_not_found", "request-1")
    assert (error.headers["x-request-id"], error.headers["location"]) == ("request-1", "/x")
    assert "set-cookie" not in error.headers
    assert str(error.response.request.url) == "http://runyard.test/x"
    assert error.response.json()["title"] == "Not found"


def fail() -> None:
    raise not_found()


def test_errors_come_home_from_worker_processes() -> None:
    with ProcessPoolExecutor(1) as pool, pytest.raises(NotFoundError, match="No such run"):
        pool.submit(fail).result(timeout=30)


def test_every_error_class_can_be_made_and_is_one_of_ours() -> None:
    names = [name for name in runyard.__all__ if name.endswith("Error") and name != "Error"]
    assert len(names) == 15
    assert all(issubclass(getattr(runyard, name), RunyardError) for name in names)


def test_json_of_any_depth_is_an_error_of_ours() -> None:
    error = create_api_error(answer(500, b"[" * 200_000))
    assert isinstance(error, APIError)
    assert error.body == "[" * 200_000


@pytest.mark.parametrize("body", [{"title": 1, "detail": None}, {"message": "no"}, [1], "text", None])
def test_what_is_no_problem_document(body: object) -> None:
    error = create_api_error(answer(403, json.dumps(body).encode()))
    assert (error.code, error.detail, error.body) == (None, None, body)
    assert str(error).startswith("The server answered 403")
