# pyright: basic
"""Answers, events and results as models."""

from __future__ import annotations

import gc
import json
import warnings
import weakref
from datetime import date
from typing import Annotated, Any

import httpx
import pytest
from behaviour_call import RUN
from pydantic import BaseModel, ConfigDict, Field, field_validator

import runyard
from runyard import APIResponseValidationError, RunItem
from runyard._adapter import as_model
from runyard._output_schema import parse_result, to_json_schema
from runyard._parse import into, parse_json
from runyard._progress import Progress
from runyard._sse import ServerSentEvent


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)

    day: date
    pair: tuple[int, int]


def finished(result: object) -> RunItem:
    return parse_json(json.dumps({**RUN, "result": result}).encode(), RunItem)


def test_a_strict_model_reads_what_json_can_say() -> None:
    run = parse_result(finished({"day": "2026-01-02", "pair": [1, 2]}), Strict)
    assert run.result == Strict(day=date(2026, 1, 2), pair=(1, 2))


def test_a_result_that_does_not_fit_is_one_sentence_and_keeps_the_run() -> None:
    with pytest.raises(APIResponseValidationError) as caught:
        parse_result(finished({"day": "x" * 20_000, "pair": []}), Strict)
    assert len(str(caught.value)) < 200
    assert str(caught.value).startswith("The result of run r1 does not fit Strict: day: ")
    assert caught.value.run is not None
    assert (caught.value.run_id, caught.value.run.state) == ("r1", "SUCCEEDED")


class Faulty(BaseModel):
    answer: int

    @field_validator("answer")
    @classmethod
    def check(cls, value: int) -> int:
        raise KeyError(value)


def test_a_validator_that_fails_keeps_the_run() -> None:
    with pytest.raises(
        APIResponseValidationError, match=r"does not fit Faulty: .* raised KeyError"
    ) as caught:
        parse_result(finished({"answer": 1}), Faulty)
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.run is not None
    assert (caught.value.run_id, caught.value.run.result) == ("r1", {"answer": 1})


def test_unknown_fields_may_have_any_name() -> None:
    odd = {"cls": 1, "_fields_set": 2, "self": 3}
    run = parse_json(json.dumps({**RUN, **odd, "state": "BLOCKED", "attempt": None}).encode(), RunItem)
    assert run.model_extra == odd
    assert parse_result(run, Strict).model_extra == odd


def test_a_generic_alias_is_no_model() -> None:
    """On Python 3.10 `isinstance(dict[str, str], type)` is true, and issubclass refuses it."""
    kinds: list[Any] = [
        dict[str, str],
        list[Strict],
        Strict | None,
        Annotated[Strict, Field()],
        int,
        "Strict",
    ]
    assert [as_model(kind) for kind in kinds] == [None] * len(kinds)
    assert as_model(Strict) is Strict
    assert to_json_schema({"type": "object"}) == {"type": "object"}
    run = parse_json(json.dumps({**RUN, "metadata": {"n": 1}, "attempt": None}).encode(), RunItem)
    assert run.metadata["n"] == 1  # type: ignore[comparison-overlap]


def test_models_of_a_function_are_forgotten() -> None:
    def read() -> weakref.ref[Any]:
        class Local(BaseModel):
            run_id: str

        assert parse_json(b'{"run_id": "r1"}', Local).run_id == "r1"
        assert parse_result(finished({"run_id": "r2"}), Local).result == Local(run_id="r2")
        return weakref.ref(Local)

    found = [read() for _ in range(3)]
    gc.collect()
    assert [ref() for ref in found] == [None] * 3


def test_what_was_read_leniently_is_written_without_a_warning() -> None:
    run = parse_json(json.dumps({**RUN, "attempt": "many", "created_at": "x"}).encode(), RunItem)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert json.loads(run.model_dump_json(exclude_unset=True))["attempt"] == "many"
        assert run.model_dump()["created_at"] == "x"
    with pytest.warns(UserWarning, match="serializer"):
        run.model_dump_json(warnings=True)


def test_json_that_is_too_deep_is_an_error_of_ours() -> None:
    with pytest.raises(APIResponseValidationError, match="not JSON"):
        parse_json(b"[" * 200_000, RunItem)
    with pytest.raises(APIResponseValidationError, match="does not fit"):
        parse_json(b"[" * 300 + b"]" * 300, RunItem)
    with pytest.raises(runyard.RunyardError, match="not JSON"):
        Progress(0).accept(ServerSentEvent("usage", "[" * 200_000, ""))


def test_half_a_character_in_an_answer_that_does_not_fit() -> None:
    run = parse_json(json.dumps({**RUN, "title": "a\ud83d", "attempt": None}).encode(), RunItem)
    assert run.title == "a\ufffd"


def test_an_answer_of_a_model_is_not_empty() -> None:
    with pytest.raises(APIResponseValidationError, match="answered 202 with nothing"):
        into(RunItem)(httpx.Response(202))


def test_what_is_needed_next_must_be_there() -> None:
    read = into(RunItem, "run_id", "state")
    assert read(httpx.Response(200, json={"run_id": "r1", "state": "DREAMING"})).state == "DREAMING"
    with pytest.raises(APIResponseValidationError, match="does not fit RunItem: it has no state"):
        read(httpx.Response(200, json={"run_id": "r1"}))


def event(text: str, kind: str = "usage") -> object:
    return Progress(0).accept(ServerSentEvent(kind, text, ""))


@pytest.mark.parametrize("runs", ["7", "null", '"x"', "{}"])
def test_a_page_without_a_list_is_an_error_of_ours(runs: str) -> None:
    body = f'{{"runs": {runs}, "page_info": {{"has_next_page": false}}}}'
    transport = httpx.MockTransport(lambda _: httpx.Response(200, text=body))
    with runyard.Runyard(
        api_key="k", base_url="https://x.test", http_client=httpx.Client(transport=transport)
    ) as client:
        page = client.runs.list()
        assert repr(page) == "RunList(no runs, has_next_page=False)"
        with pytest.raises(
            APIResponseValidationError, match="does not fit ListRunsResponse: it has no list of runs"
        ):
            list(page)


def test_an_event_in_an_unknown_shape_is_kept() -> None:
    found: Any = event('{"sequence": 3, "run_id": "r1", "data": [1]}', "message.assistant")
    assert (type(found).__name__, found.sequence, found.type, found.data) == (
        "UnknownEvent",
        3,
        "message.assistant",
        [1],
    )
    with pytest.raises(AttributeError):
        print(found.occurred_at)


@pytest.mark.parametrize("text", ["null", "{}", "[]", "7", '{"sequence": true}', '{"sequence": "1"}'])
def test_what_is_no_event_is_passed_over(text: str) -> None:
    assert event(text) is None
    assert event(text, "message.assistant.delta") is None
