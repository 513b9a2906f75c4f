# pyright: basic
"""Streams that are closed while they are read, and waits with an end."""

from __future__ import annotations

import threading
import time
from typing import Any

import anyio
import pytest
from behaviour_call import Json, Script

from runyard import (
    APITimeoutError,
    AsyncRunyard,
    DefaultAioHttpClient,
    InternalServerError,
    Runyard,
    RunyardError,
)

# Well below the 45 s after which a silent stream is given up.
SOON = 10

USAGE: Json = {"sequence": 1, "type": "usage", "data": {}}
STALLED: Json = {"events": [USAGE], "fault": {"at": "body", "how": "stall"}}
GOES_ON: Json = {"run": {"state": "INPROGRESS"}}


def sync_client(script: Script) -> Runyard:
    return Runyard(api_key="ry_test", base_url=script.url, max_retries=0)


def async_client(script: Script, **options: Any) -> AsyncRunyard:
    return AsyncRunyard(api_key="ry_test", base_url=script.url, max_retries=0, **options)


def is_hung_up(requests: list[Json]) -> bool:
    return bool(requests) and requests[-1]["aborted"]


def test_another_thread_ends_a_stream(fault_server: str) -> None:
    script = Script(fault_server, [STALLED])
    seen: list[int] = []
    has_begun = threading.Event()
    with sync_client(script) as client:
        stream = client.runs.stream("r1")

        def read() -> None:
            for event in stream:
                seen.append(getattr(event, "sequence", 0))
                has_begun.set()

        reader = threading.Thread(target=read)
        reader.start()
        assert has_begun.wait(SOON)
        script.until(lambda requests: requests[0]["state"] == "answering", SOON)
        stream.close()
        reader.join(SOON)
        assert not reader.is_alive()
        assert seen == [1]
        assert list(stream) == []
        assert is_hung_up(script.until(is_hung_up, SOON))
        assert len(script.requests()) == 1


def test_another_thread_ends_the_pause_between_two_connections(fault_server: str) -> None:
    script = Script(fault_server, [{"events": [USAGE], "retry_ms": 10_000}])
    with sync_client(script) as client:
        stream = client.runs.stream("r1")
        reader = threading.Thread(target=lambda: list(stream))
        reader.start()
        script.until(lambda requests: bool(requests) and requests[0]["state"] == "answered", SOON)
        stream.close()
        reader.join(5)
        assert not reader.is_alive()


@pytest.mark.parametrize("flavour", ["asyncio", "trio", "aiohttp"])
def test_another_task_ends_a_stream(fault_server: str, flavour: str) -> None:
    script = Script(fault_server, [STALLED])
    seen: list[int] = []

    async def main() -> None:
        http = DefaultAioHttpClient() if flavour == "aiohttp" else None
        async with async_client(script, http_client=http) as client:
            stream = client.runs.stream("r1")
            has_begun = anyio.Event()

            async def read() -> None:
                async for event in stream:
                    seen.append(getattr(event, "sequence", 0))
                    has_begun.set()

            with anyio.fail_after(SOON):
                async with anyio.create_task_group() as group:
                    group.start_soon(read)
                    await has_begun.wait()
                    await anyio.lowlevel.checkpoint()
                    await stream.aclose()
            assert [event async for event in stream] == []
        if http:
            await http.aclose()

    anyio.run(main, backend="trio" if flavour == "trio" else "asyncio")
    assert seen == [1]
    assert is_hung_up(script.until(is_hung_up, SOON))


def test_a_stream_can_be_closed_before_and_after_it_is_read(fault_server: str) -> None:
    script = Script(fault_server, [{"events": [USAGE, {"end": True}]}])
    with sync_client(script) as client:
        unread = client.runs.stream("r1")
        unread.close()
        assert list(unread) == []
        with client.runs.stream("r1") as read:
            assert len(list(read)) == 1
        read.close()
    assert len(script.requests()) == 1


def wait_briefly(script: Script, flavour: str, **options: Any) -> None:
    if flavour == "sync":
        with sync_client(script) as client:
            client.runs.wait("r1", max_wait=0.5, **options)
        return

    async def wait() -> None:
        async with async_client(script) as client:
            await client.runs.wait("r1", max_wait=0.5, **options)

    anyio.run(wait, backend=flavour)


@pytest.mark.parametrize("answers", [[GOES_ON, STALLED], [GOES_ON, {"status": 502}, GOES_ON]])
@pytest.mark.parametrize("flavour", ["sync", "asyncio", "trio"])
def test_a_wait_has_an_end_when_it_is_asked_for(fault_server: str, flavour: str, answers: list[Json]) -> None:
    started_at = time.monotonic()
    with pytest.raises(APITimeoutError, match=r"Run r1 has not settled within 0\.5 s") as caught:
        wait_briefly(Script(fault_server, answers), flavour)
    assert caught.value.run_id == "r1"
    assert time.monotonic() - started_at < SOON


def test_the_end_of_a_wait_cuts_a_look_short(fault_server: str) -> None:
    script = Script(fault_server, [{"fault": {"at": "request", "how": "stall"}}])
    with sync_client(script) as client, pytest.raises(APITimeoutError, match="has not settled"):
        client.runs.wait("r1", max_wait=0.5)


def test_a_run_that_was_made_is_named_when_the_wait_ends(fault_server: str) -> None:
    created = {"run_id": "r7", "task_id": "r7", "state": "QUEUED", "at_capacity": False}
    script = Script(fault_server, [{"json": created}, STALLED])
    started_at = time.monotonic()
    with sync_client(script) as client, pytest.raises(APITimeoutError) as caught:
        client.runs.create_and_wait(prompt="Hello", max_wait=0.5)
    assert caught.value.run_id == "r7"
    assert time.monotonic() - started_at < SOON
    assert is_hung_up(script.until(is_hung_up, SOON))


def test_limits_of_a_wait_are_checked(fault_server: str) -> None:
    with sync_client(Script(fault_server, [GOES_ON])) as client:
        with pytest.raises(RunyardError, match="max_wait must be"):
            client.runs.wait("r1", max_wait=0)
        with pytest.raises(RunyardError, match="max_reconnects must be"):
            client.runs.wait("r1", max_reconnects=-1)


@pytest.mark.parametrize("limit", [{"max_wait": 0}, {"max_reconnects": -1}])
def test_a_run_that_cannot_be_waited_for_is_not_made(fault_server: str, limit: Any) -> None:
    script = Script(fault_server, [GOES_ON])
    with sync_client(script) as client, pytest.raises(RunyardError, match="must be"):
        client.runs.create_and_wait(prompt="Hello", **limit)
    assert script.requests() == []


def test_a_run_that_was_made_is_named_whatever_goes_wrong_with_it(fault_server: str) -> None:
    created = {"run_id": "..", "task_id": "..", "state": "QUEUED", "at_capacity": False}
    script = Script(fault_server, [{"json": created}])
    with sync_client(script) as client, pytest.raises(RunyardError, match="is not an id") as caught:
        client.runs.create_and_wait(prompt="Hello")
    assert caught.value.run_id == ".."


# What httpx leaves behind in a stream that nobody reads; trio complains of it.
@pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")
@pytest.mark.parametrize("flavour", ["asyncio", "trio", "aiohttp"])
def test_several_tasks_may_close_a_stream_at_once(fault_server: str, flavour: str) -> None:
    script = Script(fault_server, [STALLED])

    async def main() -> None:
        http = DefaultAioHttpClient() if flavour == "aiohttp" else None
        async with async_client(script, http_client=http) as client:
            stream = client.runs.stream("r1")
            await anext(stream)

            async def read_on() -> None:
                async with stream:
                    assert [event async for event in stream] == []

            with anyio.fail_after(SOON):
                async with anyio.create_task_group() as group:
                    for task in (stream.aclose, stream.aclose, read_on):
                        group.start_soon(task)
        if http:
            await http.aclose()

    anyio.run(main, backend="trio" if flavour == "trio" else "asyncio")
    assert is_hung_up(script.until(is_hung_up, SOON))


@pytest.mark.parametrize("flavour", ["sync", "asyncio", "trio"])
def test_the_end_of_a_wait_cuts_the_pauses_of_its_looks_short(fault_server: str, flavour: str) -> None:
    script = Script(fault_server, [{"status": 503, "headers": {"retry-after": "20"}}])
    started_at = time.monotonic()
    with pytest.raises(APITimeoutError, match="has not settled"):
        wait_briefly(script, flavour, max_retries=2)
    assert time.monotonic() - started_at < SOON
    assert len(script.requests()) == 1


def test_a_wait_with_an_end_is_as_patient_as_one_without(fault_server: str) -> None:
    script = Script(fault_server, [{"status": 503, "headers": {"retry-after-ms": "1"}}])
    with sync_client(script) as client, pytest.raises(InternalServerError):
        client.runs.wait("r1", max_wait=60, max_reconnects=3, max_retries=5)
    assert len(script.requests()) == 4


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence and the pauses between two looks, shortened."""
    monkeypatch.setattr("runyard._sync._stream._SILENCE", 0.3)
    monkeypatch.setattr("runyard._sync._watch._POLL", 0.01)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("lost", "asked"),
    [
        # Something new came, if only text on its way.
        ({"events": [{"message_id": "m1", "delta": "Hi"}]}, "LSLSLS"),
        # A connection that says nothing is given up for good, and not one that says little.
        ({"events": [], "fault": {"at": "body", "after": 0, "how": "stall"}}, "LSLLLL"),
        ({"events": [{"comment": "hi"}], "fault": {"at": "body", "how": "stall"}}, "LSLLSL"),
        ({"events": [], "fault": {"at": "body", "after": 0, "how": "reset"}}, "LSLLSL"),
        ({"events": [{"comment": "hi"}]}, "LSLLSL"),
    ],
)
def test_how_a_stream_was_lost_decides_when_it_is_tried_again(
    fault_server: str, lost: Json, asked: str
) -> None:
    ends: Json = {"run": {"state": "SUCCEEDED"}}
    script = Script(fault_server, [lost if letter == "S" else GOES_ON for letter in asked] + [ends])
    with sync_client(script) as client:
        client.runs.wait("r1")
    letters = ["S" if request["path"].endswith("/events") else "L" for request in script.requests()]
    assert "".join(letters).startswith(asked)
