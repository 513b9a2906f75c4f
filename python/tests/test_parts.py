# pyright: basic
"""What sends nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import runyard
from runyard._events import MessageDeltaEvent
from runyard._log import redact
from runyard._parse import parse_json
from runyard._progress import Progress
from runyard._query import query_pairs
from runyard._sse import ServerSentEvent, ServerSentEventParser
from runyard._wire_model import WireModel

SCHEMAS = json.loads((Path(__file__).parents[2] / "openapi.json").read_text("utf-8"))["components"]["schemas"]


def test_every_public_name_is_there() -> None:
    for name in runyard.__all__:
        assert getattr(runyard, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Runyrad'"):
        runyard.Runyrad  # noqa: B018
    assert set(SCHEMAS) <= set(runyard.__all__)


def test_importing_loads_neither_httpx_nor_pydantic() -> None:
    code = "import runyard, sys; assert not {'httpx', 'pydantic'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# Fields of the wire format that the service refuses.
NOT_OFFERED = {
    *("agent_type", "credential_strategy", "on_behalf_of_enabled", "default_runner_uid", "factory_uid"),
    *("secrets", "mcp_servers", "memory", "inference_providers", "harness_auth_secrets"),
}
NOT_OFFERED_TO_RUNS = {
    *("secrets", "runner_id", "memory_stores", "inference_providers", "credential_strategy"),
    "computer_use_model_id",
}


@pytest.mark.parametrize(
    ("params", "schema", "beside"),
    [
        ("RunParams", "RunAgentRequest", {"output_schema"}),
        ("AmbientAgentConfigParam", "AmbientAgentConfig", NOT_OFFERED_TO_RUNS),
        ("HarnessConfigParam", "HarnessConfig", set()),
        ("MCPServerConfigParam", "MCPServerConfig", {"warp_id"}),
        ("AttachmentParam", "Attachment", set()),
        ("FollowupAttachmentParam", "FollowupAttachment", set()),
        ("EnvironmentParams", "EnvironmentRequest", {"providers"}),
        ("SecretRefParam", "SecretRef", set()),
        ("EnvironmentRepositoryParam", "EnvironmentRepository", set()),
        ("CreateScheduleParams", "CreateScheduleRequest", set()),
        ("UpdateScheduleParams", "UpdateScheduleRequest", set()),
        ("SecretFields", "SecretConfig", set()),
        ("GitAccessParam", "GitAccess", set()),
        ("FollowupParams", "RunFollowupRequest", set()),
        ("UpdateRunParams", "UpdateRunRequest", set()),
        ("DeleteRunsParams", "DeleteRunsRequest", set()),
        ("EnvironmentRetentionParam", "EnvironmentRetention", set()),
        ("CreateApiKeyParams", "CreateApiKeyRequest", set()),
        ("RotateApiKeyParams", "RotateApiKeyRequest", set()),
        ("PutGrantsParams", "PutGrantsRequest", set()),
        ("CreateShareLinkParams", "CreateShareLinkRequest", set()),
        ("SessionSharingParam", "SessionSharing", set()),
        ("TriggerReplyParam", "TriggerReply", set()),
        ("CreateSignInLinkParams", "CreateSignInLinkRequest", set()),
        ("CreateIdentityParams", "CreateAgentIdentityRequest", NOT_OFFERED),
        ("UpdateIdentityParams", "UpdateAgentIdentityRequest", NOT_OFFERED),
        ("CreateTriggerParams", "CreateTriggerRequest", set()),
        ("UpdateTriggerParams", "UpdateTriggerRequest", set()),
        ("CreateWebhookParams", "CreateWebhookRequest", set()),
        ("UpdateWebhookParams", "UpdateWebhookRequest", set()),
    ],
)
def test_keyword_arguments_are_the_fields_of_the_contract(params: str, schema: str, beside: set[str]) -> None:
    from runyard import _params

    shape = getattr(_params, params)
    names = shape.__required_keys__ | shape.__optional_keys__
    options = runyard.RequestOptions.__optional_keys__
    assert names - options == set(SCHEMAS[schema]["properties"]) - beside


def test_an_unknown_keyword_argument_is_a_type_error() -> None:
    with (
        runyard.Runyard(api_key="ry_test") as client,
        pytest.raises(TypeError, match="unexpected keyword argument 'promt'"),
    ):
        client.runs.create(promt="Hello")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def test_queries() -> None:
    east = timezone(timedelta(hours=2))
    pairs = query_pairs(
        {"a": ["x", "y"], "m": {"k": "v"}, "b": True, "n": None, "d": datetime(2026, 1, 1, 2, tzinfo=east)}
    )
    assert pairs == [("a", "x"), ("a", "y"), ("m[k]", "v"), ("b", "true"), ("d", "2026-01-01T00:00:00.000Z")]


def test_secrets_are_not_logged() -> None:
    secret = ("Authorization", "Cookie", "X-Api-Key", "Set-Cookie", "X-Auth", "X-Signed", "X-Passphrase")
    assert redact(dict.fromkeys(secret, "a")) == dict.fromkeys(secret, "***")
    harmless = {"Accept": "a", "Idempotency-Key": "b"}
    assert redact(harmless) == harmless


def test_a_stream_reads_the_same_however_it_is_cut() -> None:
    raw = "id: 1\r\nevent: é\r\ndata: a\r\ndata: 😀\r\n\r\nretry: 5\n\ndata: b\r\r".encode()
    for size in range(1, len(raw) + 1):
        parser = ServerSentEventParser()
        chunks = [raw[start : start + size] for start in range(0, len(raw), size)]
        events = [event for chunk in chunks for event in parser.push(chunk)]
        assert events == [ServerSentEvent("é", "a\n😀", "1"), ServerSentEvent("message", "b", "1")]
        assert parser.retry == 5


def delta(offset: int, text: str) -> ServerSentEvent:
    data = {"run_id": "r1", "message_id": "m1", "offset": offset, "text": text}
    return ServerSentEvent("message.assistant.delta", json.dumps(data), "")


def test_a_character_that_was_cut_in_two_comes_whole() -> None:
    progress = Progress(0)
    pieces: list[Any] = [delta(0, "a\ud83d"), delta(2, "\ude00b"), delta(0, "a😀bc"), delta(0, "a😀bc")]
    events = [progress.accept(piece) for piece in pieces]
    found = [
        (event.data.offset, event.data.text) if isinstance(event, MessageDeltaEvent) else event
        for event in events
    ]
    assert found == [(0, "a"), (1, "😀b"), (4, "c"), None]


def test_half_a_character_in_an_answer_is_replaced() -> None:
    model = parse_json(b'{"run_id": "a\\ud83db"}', runyard.InterruptResponse)
    assert model.run_id == "a\ufffdb"
    assert isinstance(model, WireModel)
