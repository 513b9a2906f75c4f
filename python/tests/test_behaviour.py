# pyright: basic
"""The behaviour table of both libraries (client/behaviour/*.json), against the sync and the async client.

`client/test/fault-server.ts` says what the parts of a case mean.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import httpx
import pytest
from matching import differs
from pydantic import BaseModel

import runyard
from runyard import AsyncRunyard, Runyard

Json = dict[str, Any]

LONG = "RUNYARD_TEST_LONG" in os.environ
DEADLINE = 120 if LONG else 30


# Making a client reads certificates: one for all scripts.
HTTP = httpx.Client(trust_env=False)


class Answer(BaseModel):
    answer: int


class Script:
    """Answers that the fault server gives in turn, and what it was asked."""

    def __init__(self, server: str, answers: list[Json]) -> None:
        made = HTTP.post(f"{server}/scripts", json={"answers": answers}).json()
        self._requests = f"{server}/scripts/{made['id']}"
        self.url: str = made["url"]
        self.lengths: list[int] = made["lengths"]

    def requests(self) -> list[Json]:
        found: list[Json] = HTTP.get(self._requests).json()["requests"]
        return found

    def until(self, is_there: Callable[[list[Json]], bool], within: float) -> list[Json]:
        give_up = time.monotonic() + within
        requests = self.requests()
        while not is_there(requests) and time.monotonic() < give_up:
            requests = self.requests()
        return requests


def load_table(server: str) -> list[Json]:
    table: list[Json] = httpx.get(f"{server}/cases", trust_env=False).json()
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


def plain(value: Any) -> Any:
    """A page as the answer it came as, bytes as the text of an answer."""
    if isinstance(value, (runyard.RunPage, runyard.AsyncRunPage)):
        return value.response
    return {"status": 200, "text": value.decode()} if isinstance(value, bytes) else value


def call_sync(client: Runyard, call: Json) -> Any:
    if "first" in call:
        call_sync(client, call["first"])
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
    if "iterate" not in call and call["method"] != "runs.stream":
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
    if "iterate" not in call and call["method"] != "runs.stream":
        return plain(await result)
    collected: list[Any] = []
    async for item in result.iter_pages() if call.get("iterate") == "pages" else result:
        collected.append(plain(item))
        if on_item:
            on_item()
        if len(collected) >= stop_after:
            break
    return collected


async def call_and_cancel(client: AsyncRunyard, call: Json, script: Script) -> Any:
    """Cancels the task where the case says so."""
    after = call.get("abort_after")
    task: asyncio.Task[Any]
    on_item = (lambda: task.cancel()) if after == "stream" else None
    task = asyncio.create_task(call_async(client, call, on_item))
    if after == "before":
        task.cancel()
    state = {"headers": "received", "body": "answering", "wait": "answered"}.get(after or "")
    if state:
        await asyncio.to_thread(script.until, lambda got: bool(got) and got[0]["state"] == state, 5)
        task.cancel()
    return await task


def fill_number(value: Any, number: int) -> Any:
    return json.loads(json.dumps(value).replace("${n}", str(number)))


def run_sync(server: str, case: Json, script: Script) -> list[tuple[Any, BaseException | None]]:
    def one(client: Runyard, number: int) -> tuple[Any, BaseException | None]:
        try:
            return call_sync(client, fill_number(case["call"], number)), None
        except Exception as error:
            return None, error

    http = httpx.Client(proxy=server, trust_env=False) if case["call"].get("proxy") else None
    count = case["call"].get("concurrent", 1)
    with Runyard(**client_options(server, case, script), http_client=http) as client:
        if count == 1:
            outcomes = [one(client, 0)]
        else:
            with ThreadPoolExecutor(count) as pool:
                outcomes = list(pool.map(lambda number: one(client, number), range(count)))
    if http:
        http.close()
    return outcomes


def run_async(server: str, case: Json, script: Script) -> list[tuple[Any, BaseException | None]]:
    async def one(client: AsyncRunyard, number: int) -> tuple[Any, BaseException | None]:
        try:
            call = call_and_cancel(client, fill_number(case["call"], number), script)
            return await asyncio.wait_for(call, DEADLINE), None
        except (Exception, asyncio.CancelledError) as error:
            return None, error

    async def all_of_them() -> list[tuple[Any, BaseException | None]]:
        http = httpx.AsyncClient(proxy=server, trust_env=False) if case["call"].get("proxy") else None
        count = case["call"].get("concurrent", 1)
        async with AsyncRunyard(**client_options(server, case, script), http_client=http) as client:
            outcomes = await asyncio.gather(*(one(client, number) for number in range(count)))
        if http:
            await http.aclose()
        return outcomes

    return asyncio.run(all_of_them())


RUNNERS = {"python-sync": run_sync, "python-async": run_async}


def check_outcome(value: Any, error: BaseException | None, expected: Json) -> None:
    if "error" not in expected:
        if error:
            raise error
        for name in ("value", "items", "events"):
            if name in expected:
                problem = differs(value, expected[name], name)
                assert problem is None, problem
        if "count" in expected:
            unique = {getattr(item, expected["unique"]) for item in value}
            assert (len(value), len(unique)) == (expected["count"], expected["count"])
        return
    wanted = dict(expected["error"])
    assert error is not None, f"It did not fail, but gave {value!r}."
    if wanted.get("class") == "APIUserAbortError":
        assert isinstance(error, asyncio.CancelledError), repr(error)
        return
    name = wanted.pop("class", None)
    assert name is None or type(error).__name__ == name, repr(error)
    for kind in wanted.pop("kind_of", []):
        assert isinstance(error, getattr(runyard, kind)), repr(error)
    problem = differs(error, wanted, "error")
    assert problem is None, problem


def check_requests(script: Script, expected: Json) -> None:
    wanted = expected.get("requests")
    # What the server sees of a hang-up comes a little later than what the caller sees.
    requests = script.until(lambda got: wanted is None or not differs(got, wanted, "requests"), 2)
    if wanted is not None:
        problem = differs(requests, wanted, "requests")
        assert problem is None, problem
    for index, least in enumerate(expected.get("waits_ms", [])):
        waited = requests[index + 1]["arrived_ms"] - requests[index]["arrived_ms"]
        assert waited >= least - 2, f"It waited {waited} ms after request {index}, not {least}."
    for name in expected.get("same_header", []) + expected.get("new_header", []):
        seen = {request["headers"].get(name) for request in requests}
        assert None not in seen
        assert len(seen) == (1 if name in expected.get("same_header", []) else len(requests)), seen


def check_case(server: str, case: Json, flavour: str) -> None:
    script = Script(server, case["answers"])
    for number, (value, error) in enumerate(RUNNERS[flavour](server, case, script)):
        check_outcome(value, error, fill_number(case["expect"], number))
    check_requests(script, case["expect"])


def check_cuts(server: str, case: Json, flavour: str) -> None:
    """Whatever byte the first connection breaks at, all comes, once and in order."""
    first, *others = case["answers"]
    stored = [item["sequence"] for item in first["events"] if "sequence" in item]
    texts: dict[str, str] = {}
    for item in first["events"]:
        if "delta" in item:
            texts[item["message_id"]] = texts.get(item["message_id"], "") + item["delta"]

    def check_cut(cut: int) -> None:
        script = Script(server, [{**first, "fault": {**first["fault"], "after": cut}}, *others])
        [(events, error)] = RUNNERS[flavour](server, case, script)
        if error:
            raise AssertionError(f"Cut at byte {cut}, it failed.") from error
        sequences: list[int] = []
        joined: dict[str, str] = {}
        for event in events:
            if event.type != "message.assistant.delta":
                sequences.append(event.sequence)
                continue
            before = joined.get(event.data.message_id, "")
            assert event.data.offset == len(before.encode("utf-16-le")) // 2, f"cut at byte {cut}"
            joined[event.data.message_id] = before + event.data.text
        assert (sequences, joined) == (stored, texts), f"cut at byte {cut}"

    length = Script(server, case["answers"]).lengths[0]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(check_cut, range(length + 1)))


@pytest.mark.parametrize("flavour", RUNNERS)
def test_behaviour(fault_server: str, flavour: str, subtests: pytest.Subtests) -> None:
    cases = [
        case
        for case in load_table(fault_server)
        if flavour not in case.get("except", []) and (LONG or not case.get("long"))
    ]
    assert cases

    def check(case: Json) -> None:
        (check_cuts if case["call"].get("cut_every_byte") else check_case)(fault_server, case, flavour)

    # Most cases wait most of the time.
    with ThreadPoolExecutor(8) as pool:
        checks = {case["name"]: pool.submit(check, case) for case in cases}
        for name, outcome in checks.items():
            with subtests.test(name):
                outcome.result()
