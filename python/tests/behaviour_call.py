# pyright: basic
"""Making the call of a case of the behaviour table, with and without `async`.

`client/test/fault-server.ts` says what the parts of a case mean.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import os
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import anyio
from pydantic import BaseModel

import runyard
from runyard import AsyncRunyard, Runyard

Json = dict[str, Any]

LONG = "RUNYARD_TEST_LONG" in os.environ


class Answer(BaseModel):
    answer: int


def ask(server: str, path: str, body: Json | None = None) -> Any:
    """What the fault server answers to the tests themselves, several times for each case.

    By the standard library: httpx takes longer for it than the client under test takes for the case.
    """
    connection = http.client.HTTPConnection(server.removeprefix("http://"))
    try:
        if body is None:
            connection.request("GET", path)
        else:
            connection.request("POST", path, json.dumps(body))
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


class Script:
    """Answers that the fault server gives in turn, and what it was asked."""

    def __init__(self, server: str, answers: list[Json]) -> None:
        made = ask(server, "/scripts", {"answers": answers})
        self._server, self._path = server, f"/scripts/{made['id']}"
        self.url: str = made["url"]
        self.lengths: list[int] = made["lengths"]

    def requests(self) -> list[Json]:
        found: list[Json] = ask(self._server, self._path)["requests"]
        return found

    def until(self, is_there: Callable[[list[Json]], bool], within: float) -> list[Json]:
        give_up = time.monotonic() + within
        requests = self.requests()
        while not is_there(requests) and time.monotonic() < give_up:
            time.sleep(0.01)
            requests = self.requests()
        return requests


def load_table(server: str) -> list[Json]:
    table: list[Json] = ask(server, "/cases")
    return table


def client_options(server: str, case: Json, script: Script) -> Json:
    options: Json = {"base_url": script.url, "api_key": "ry_test", **case.get("client", {})}
    if "timeout" in options:
        options["timeout"] /= 1000
    if case["call"].get("proxy"):
        options["base_url"] = script.url.replace(server, "http://runyard.test")
    return options


def revive(value: Any) -> Any:
    if isinstance(value, list):
        return [revive(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$date" in value:
        return datetime.fromisoformat(value["$date"].replace("Z", "+00:00"))
    if "$bytes" in value:
        return base64.b64decode(value["$bytes"])
    return {
        key: Answer if key == "output_schema" and item == "Answer" else revive(item)
        for key, item in value.items()
    }


OPTION_NAMES = {"headers": "extra_headers", "query": "extra_query", "throw_on_failure": "raise_on_failure"}


def keywords(call: Json) -> Json:
    """`params` and `options` of a case as the keyword arguments of Python."""
    names: dict[str, str] = {**OPTION_NAMES, "query": "query"} if "." not in call["method"] else OPTION_NAMES
    given: Json = revive(call.get("options", {}))
    options: Json = {names.get(name, name): value for name, value in given.items()}
    if "timeout" in options:
        options["timeout"] /= 1000
    return {**revive(call.get("params", {})), **options}


def find_method(client: Any, call: Json) -> Callable[..., Any]:
    path = call["method"].split(".")
    owner = client
    for name in path[:-1]:
        owner = getattr(owner, name)
    if call.get("raw"):
        owner = owner.with_streaming_response if call["raw"] == "stream" else owner.with_raw_response
    method: Callable[..., Any] = getattr(owner, path[-1])
    return method


def webhook_arguments(webhook: Json) -> list[Any]:
    timestamp = str(int(time.time()) - webhook["age_s"])
    signed = f"msg_1.{timestamp}.{webhook['payload']}".encode()
    signatures = []
    for secret in webhook["sign_with"]:
        key = base64.b64decode(secret.removeprefix("whsec_"))
        signatures.append(f"v1,{base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()}")
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": timestamp,
        "webhook-signature": webhook.get("signature", " ".join(signatures)),
    }
    kept = {name: value for name, value in headers.items() if name not in webhook.get("drop", [])}
    secret = [webhook["secret"]] if "secret" in webhook else []
    return [webhook.get("sent_payload", webhook["payload"]), kept, *secret]


def read_raw(response: Any, kind: str) -> Json:
    whole = {
        "status": response.status_code,
        "headers": dict(response.headers),
        "request_id": response.request_id,
    }
    if kind == "parsed":
        return {**whole, "data": response.parse()}
    return {**whole, "body": json.loads(response.text())}


PAGES = (
    *(runyard.RunPage, runyard.EnvironmentPage, runyard.SecretPage, runyard.ConversationPage),
    *(runyard.SchedulePage, runyard.FiringPage, runyard.AsyncSchedulePage, runyard.AsyncFiringPage),
    *(runyard.ApiKeyPage, runyard.AuditPage, runyard.AsyncApiKeyPage, runyard.AsyncAuditPage),
    *(runyard.WebhookPage, runyard.WebhookDeliveryPage),
    *(runyard.TriggerPage, runyard.TriggerDeliveryPage),
    *(runyard.AsyncTriggerPage, runyard.AsyncTriggerDeliveryPage),
    *(
        runyard.AsyncRunPage,
        runyard.AsyncEnvironmentPage,
        runyard.AsyncSecretPage,
        runyard.AsyncWebhookPage,
        runyard.AsyncWebhookDeliveryPage,
        runyard.AsyncConversationPage,
    ),
)


def plain(value: Any) -> Any:
    """A page as the answer it came as, bytes as the text of an answer."""
    if isinstance(value, PAGES):
        return value.response
    return {"status": 200, "text": value.decode()} if isinstance(value, bytes) else value


def call_sync(client: Runyard, call: Json) -> Any:
    if "first" in call:
        call_sync(client, call["first"])
        time.sleep(call.get("pause_ms", 0) / 1000)
    method, stop_after = find_method(client, call), call.get("stop_after", float("inf"))
    if "webhook" in call:
        return method(*webhook_arguments(call["webhook"]))
    result = method(*call.get("args", []), **keywords(call))
    if call.get("raw") == "stream":
        with result as response:
            text = b"".join(response.iter_bytes()).decode()
            return {"status": response.status_code, "headers": dict(response.headers), "text": text}
    if call.get("raw"):
        return read_raw(result, call["raw"])
    if "iterate" not in call and call["method"] not in ("runs.stream", "runs.stream_many"):
        return plain(result)
    collected: list[Any] = []
    for item in result.iter_pages() if call.get("iterate") == "pages" else result:
        collected.append(plain(item))
        if len(collected) >= stop_after:
            break
    return collected


async def call_async(client: AsyncRunyard, call: Json, on_item: Callable[[], object] | None = None) -> Any:
    if "first" in call:
        await call_async(client, call["first"])
        await anyio.sleep(call.get("pause_ms", 0) / 1000)
    method, stop_after = find_method(client, call), call.get("stop_after", float("inf"))
    if "webhook" in call:
        return method(*webhook_arguments(call["webhook"]))
    result = method(*call.get("args", []), **keywords(call))
    if call.get("raw") == "stream":
        async with result as response:
            text = b"".join([chunk async for chunk in response.iter_bytes()]).decode()
            return {"status": response.status_code, "headers": dict(response.headers), "text": text}
    if call.get("raw"):
        return read_raw(await result, call["raw"])
    if "iterate" not in call and call["method"] not in ("runs.stream", "runs.stream_many"):
        return plain(await result)
    collected: list[Any] = []
    async for item in result.iter_pages() if call.get("iterate") == "pages" else result:
        collected.append(plain(item))
        if on_item:
            on_item()
        if len(collected) >= stop_after:
            break
    return collected


def fill_number(value: Any, number: int) -> Any:
    return json.loads(json.dumps(value).replace("${n}", str(number)))


RUN: Json = {
    **dict.fromkeys(("run_id", "task_id", "session_id", "conversation_id", "root_run_id"), "r1"),
    **dict.fromkeys(("created_at", "updated_at"), "2026-01-01T00:00:00.000Z"),
    **{key: {"type": "service_account", "uid": "u"} for key in ("creator", "executor")},
    "title": "A run",
    "state": "SUCCEEDED",
    "prompt": "Hello",
    "submitted_prompt": "Hello",
    "debug_agent_available": False,
    "source": "API",
    "session_link": "l",
    "agent_config": {},
    "metadata": {},
    "artifacts": [],
    "scope": {"type": "Team"},
    "execution_location": "REMOTE",
    "is_sandbox_running": False,
    "is_run_type_cancellable": True,
    "attempt": 1,
    "execution": 1,
}
"""A run with everything that a run must have."""
