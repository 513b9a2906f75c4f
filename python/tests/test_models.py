"""The generated models read what a newer service sends."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime, timezone

import pytest
from pydantic import TypeAdapter

from runyard import APIResponseValidationError
from runyard._models import (
    ArtifactItem,
    ArtifactItemPullRequest,
    ErrorEvent,
    ListEventsResponse,
    ProblemDetails,
    RunAgentResponse,
    RunEvent,
    RunItem,
    UnknownArtifactItem,
    UnknownEvent,
)
from runyard._parse import parse_json

EVENT = {"sequence": 7, "run_id": "r1", "occurred_at": "2026-01-02T03:04:05.678Z"}
ERROR_DATA = {"error_code": "conflict", "message": "No.", "retryable": False}


def test_event_is_read_by_its_type() -> None:
    event = TypeAdapter[RunEvent](RunEvent).validate_python({**EVENT, "type": "error", "data": ERROR_DATA})
    assert isinstance(event, ErrorEvent)
    assert event.data.error_code == "conflict"
    assert event.occurred_at == datetime(2026, 1, 2, 3, 4, 5, 678000, timezone.utc)


def test_unknown_event_is_kept_among_known_ones() -> None:
    known = {**EVENT, "type": "error", "data": ERROR_DATA}
    unknown = {**EVENT, "type": "planet.aligned", "data": {"planets": ["Mars", "Venus"]}}
    page = ListEventsResponse.model_validate({"events": [known, unknown], "has_more": False})
    assert isinstance(page.events[0], ErrorEvent)
    assert isinstance(page.events[1], UnknownEvent)
    assert page.events[1].type == "planet.aligned"
    assert page.events[1].data == {"planets": ["Mars", "Venus"]}


def test_known_event_in_an_unknown_shape_is_kept() -> None:
    event = TypeAdapter[RunEvent](RunEvent).validate_python({**EVENT, "type": "error", "data": {"code": 1}})
    assert isinstance(event, UnknownEvent)
    assert event.data == {"code": 1}


def test_unknown_artifact_is_kept() -> None:
    artifact = TypeAdapter[ArtifactItem](ArtifactItem)
    data = {"branch": "b", "url": "https://example.com", "status": "open"}
    item = {"created_at": EVENT["occurred_at"], "data": data}
    assert isinstance(
        artifact.validate_python({**item, "artifact_type": "PULL_REQUEST"}), ArtifactItemPullRequest
    )
    assert isinstance(artifact.validate_python({**item, "artifact_type": "HOLOGRAM"}), UnknownArtifactItem)


def test_unknown_state_and_field_are_kept_and_written_again() -> None:
    sent = {
        "run_id": "r1",
        "task_id": "r1",
        "state": "DREAMING",
        "at_capacity": False,
        "mood": {"calm": True},
    }
    answer = RunAgentResponse.model_validate_json(json.dumps(sent))
    assert answer.state == "DREAMING"
    assert answer.model_extra == {"mood": {"calm": True}}
    assert json.loads(answer.model_dump_json(exclude_unset=True)) == sent


def test_what_an_older_service_leaves_out_is_missed_where_it_is_used() -> None:
    run = parse_json(b'{"run_id": "r1", "updated_at": "2026-01-02T03:04:05Z", "attempt": "many"}', RunItem)
    assert (run.run_id, run.updated_at.year, str(run.attempt)) == ("r1", 2026, "many")
    with pytest.raises(AttributeError, match="session_link"):
        print(run.session_link)


def test_answer_without_anything_of_a_run_is_no_run() -> None:
    """A base_url that leads to another service must not look like a run."""
    with pytest.raises(APIResponseValidationError, match="does not fit RunItem: run_id: Field required"):
        parse_json(b'{"message": "Welcome!"}', RunItem)


def test_limits_are_the_service_s_matter() -> None:
    """A newer service may allow more than this version was generated with."""
    problem = {"type": "t", "title": "T", "status": 418, "error": "e", "retryable": False, "trace_id": "x"}
    assert ProblemDetails.model_validate({**problem, "error_code": "tea_only"}).error_code == "tea_only"


def test_validators_are_built_on_first_use() -> None:
    """Building all of them at import would cost every program a fifth of a second."""
    code = "from runyard._models import RunItem; print(RunItem.__pydantic_complete__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
