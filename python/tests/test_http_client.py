# pyright: basic
"""What sends the requests when nothing else is given."""

from __future__ import annotations

import gc
import socket
import ssl
import subprocess
import sys
import warnings
from typing import Any

import anyio
import httpx
import pytest
from behaviour_call import Script

from runyard import AsyncDefaultHttpClient, AsyncRunyard, DefaultAioHttpClient, DefaultHttpClient, Runyard

MAKERS: list[Any] = [DefaultHttpClient, AsyncDefaultHttpClient, DefaultAioHttpClient]


@pytest.mark.parametrize("make", MAKERS)
def test_arguments_of_httpx_are_taken(make: Any) -> None:
    http = make(headers={"X-Own": "1"}, follow_redirects=True, verify=False)
    assert (http.headers["X-Own"], http.follow_redirects) == ("1", True)
    assert isinstance(http, (httpx.Client, httpx.AsyncClient))
    with pytest.raises(TypeError, match="prxy"):
        make(prxy="http://127.0.0.1:1")


def test_certificates_are_shared_unless_given(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, Any]] = []
    monkeypatch.setattr(httpx.Client, "__init__", lambda self, **options: given.append(options))
    own = ssl.create_default_context()
    for options in ({}, {"limits": httpx.Limits()}, {"verify": own}, {"cert": "a.pem"}, {"trust_env": False}):
        DefaultHttpClient(**options)
    shared = given[0]["verify"]
    assert isinstance(shared, ssl.SSLContext)
    assert [options.get("verify") for options in given] == [shared, shared, own, None, None]
    assert given[0]["limits"] == httpx.Limits(max_connections=1000, max_keepalive_connections=100)
    assert given[1]["limits"] == httpx.Limits()


@pytest.mark.parametrize("make", [AsyncDefaultHttpClient, DefaultAioHttpClient])
def test_proxies_of_the_environment_are_used(
    fault_server: str, monkeypatch: pytest.MonkeyPatch, make: Any
) -> None:
    script = Script(fault_server, [{"run": {}}])
    monkeypatch.setenv("HTTP_PROXY", fault_server)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)

    async def ask() -> None:
        url = script.url.replace(fault_server, "http://runyard.test")
        async with make() as http:
            await AsyncRunyard(api_key="ry_test", base_url=url, http_client=http).runs.retrieve("r1")

    anyio.run(ask)
    assert [request["via"] for request in script.requests()] == ["proxy"]


def test_a_dropped_client_closes_its_connections(fault_server: str) -> None:
    script = Script(fault_server, [{"run": {}, "connection": "keep"}])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        client = Runyard(api_key="ry_test", base_url=script.url)
        client.runs.retrieve("r1")
        http = client._transport.http
        [kept] = http._transport._pool.connections  # type: ignore[attr-defined]
        del client, http
        gc.collect()
    assert kept.is_closed()


def test_a_copy_outlives_what_it_was_made_of(fault_server: str) -> None:
    script = Script(fault_server, [{"run": {}}])
    client = Runyard(api_key="ry_test", base_url=script.url).with_options(timeout=30)
    gc.collect()
    assert client.runs.retrieve("r1").run_id == "r1"
    client._transport.http.close()


def test_a_client_may_live_until_the_interpreter_ends() -> None:
    code = (
        "import runyard; client = runyard.Runyard(api_key='ry_1', base_url='http://127.0.0.1:9', max_retries=0)\n"
        "other = runyard.AsyncRunyard(api_key='ry_1')\n"
        "try: client.get('/x')\nexcept runyard.APIConnectionError: pass"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


def test_a_client_that_could_not_be_made_is_dropped_quietly() -> None:
    with pytest.raises(TypeError):
        DefaultHttpClient(prxy=1)
    gc.collect()
    assert socket.getdefaulttimeout() is None


def test_async_clients_are_dropped_quietly(fault_server: str) -> None:
    """Whether their loop still runs or not."""
    script = Script(fault_server, [{"run": {}, "connection": "keep"}])
    code = (
        "import asyncio, gc, runyard\n"
        "gc.disable()\n"
        "async def ask():\n"
        f"    client = runyard.AsyncRunyard(api_key='ry_1', base_url={script.url!r})\n"
        "    await client.runs.retrieve('r1')\n"
        "async def drop(): gc.collect()\n"
        "asyncio.run(ask())\n"
        "asyncio.run(drop())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
