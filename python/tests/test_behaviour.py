# pyright: basic
"""The behaviour table of both libraries (client/behaviour/*.json), in every flavour of this one.

`client/test/fault-server.ts` says what the parts of a case mean.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import httpx
import pytest
from behaviour_call import (
    LONG,
    Json,
    Script,
    call_async,
    call_sync,
    client_options,
    fill_number,
    load_table,
)
from matching import differs

import runyard
from runyard import AsyncRunyard, Runyard

DEADLINE = 120
# Nothing here is encrypted, and reading certificates takes longer than all else that a client does.
TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

Outcome = tuple[Any, "Exception | None"]


class Cancelled(Exception):
    """What a call ended with whose task was cancelled."""


async def call_and_cancel(client: AsyncRunyard, call: Json, script: Script) -> Outcome:
    """Cancels the task where the case says so."""
    after = call.get("abort_after")
    state = {"headers": "received", "body": "answering", "wait": "answered"}.get(after or "")
    outcome: Outcome = None, Cancelled()
    async with anyio.create_task_group() as group:

        async def cancel_later() -> None:
            arrived = partial(script.until, lambda got: bool(got) and got[-1]["state"] == state, 5)
            await anyio.to_thread.run_sync(arrived)
            group.cancel_scope.cancel()

        if after == "before":
            group.cancel_scope.cancel()
        elif state:
            group.start_soon(cancel_later)
        on_item = group.cancel_scope.cancel if after == "stream" else None
        try:
            with anyio.fail_after(DEADLINE):
                outcome = await call_async(client, call, on_item), None
        except Exception as error:
            outcome = None, error
        group.cancel_scope.cancel()
    return outcome


def run_sync(server: str, case: Json, script: Script) -> list[Outcome]:
    def one(client: Runyard, number: int) -> Outcome:
        try:
            return call_sync(client, fill_number(case["call"], number)), None
        except Exception as error:
            return None, error

    http = httpx.Client(proxy=server, trust_env=False, verify=TLS) if case["call"].get("proxy") else None
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


def run_async(
    backend: str,
    make_http: Callable[..., httpx.AsyncClient],
    server: str,
    case: Json,
    script: Script,
) -> list[Outcome]:
    count = case["call"].get("concurrent", 1)
    outcomes: list[Outcome] = [(None, None)] * count

    async def one(client: AsyncRunyard, number: int) -> None:
        outcomes[number] = await call_and_cancel(client, fill_number(case["call"], number), script)

    async def all_of_them() -> None:
        proxy = server if case["call"].get("proxy") else None
        async with (
            make_http(proxy=proxy, trust_env=False, verify=TLS) as http,
            AsyncRunyard(**client_options(server, case, script), http_client=http) as client,
            anyio.create_task_group() as group,
        ):
            for number in range(count):
                group.start_soon(one, client, number)

    anyio.run(all_of_them, backend=backend)
    return outcomes


RUNNERS: dict[str, Callable[[str, Json, Script], list[Outcome]]] = {
    "python-sync": run_sync,
    "python-async": partial(run_async, "asyncio", runyard.AsyncDefaultHttpClient),
    "python-trio": partial(run_async, "trio", runyard.AsyncDefaultHttpClient),
    "python-aiohttp": partial(run_async, "asyncio", runyard.DefaultAioHttpClient),
}


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
        assert isinstance(error, Cancelled), repr(error)
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
    requests = script.until(lambda got: wanted is None or not differs(got, wanted, "requests"), 20)
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
    # What differs in the other flavours does not take streams apart.
    steps = (1, 7) if LONG else (7, 29)
    step = steps[flavour not in ("python-sync", "python-async")]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(check_cut, range(0, length + 1, step)))


# Trio says so of the generators in httpx, too, which nobody else can close.
@pytest.mark.filterwarnings("ignore:Async generator .* was garbage collected:ResourceWarning")
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

    # One alone: anyio 4.0 loads what it runs on, and that not safely from several threads.
    check(cases[0])
    # Most cases wait most of the time.
    with ThreadPoolExecutor(8) as pool:
        checks = {case["name"]: pool.submit(check, case) for case in cases}
        for name, outcome in checks.items():
            with subtests.test(name):
                outcome.result()
