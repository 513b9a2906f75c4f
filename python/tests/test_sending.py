# pyright: basic
"""What is checked before anything is sent, and what is sent."""

from __future__ import annotations

import logging
import math
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from behaviour_call import Script

from runyard import (
    APIConnectionError,
    APIError,
    APIResponseValidationError,
    APITimeoutError,
    Runyard,
    RunyardError,
)


class Service:
    """Answers of a script of its own, on no socket."""

    def __init__(self, *answers: httpx.Response) -> None:
        self.requests: list[httpx.Request] = []
        self._answers = list(answers)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        return self._answers.pop(0)

    def client(self, **options: Any) -> Runyard:
        http = httpx.Client(transport=httpx.MockTransport(self))
        return Runyard(api_key="ry_test", base_url="http://runyard.test", http_client=http, **options)


CREATED = {"run_id": "r1", "task_id": "r1", "state": "QUEUED", "at_capacity": False}
AGAIN = httpx.Response(503, headers={"retry-after-ms": "1"})


def test_the_body_is_built_once() -> None:
    service = Service(AGAIN, httpx.Response(200, json={}))
    service.client().post("/things", body={"all": (number for number in (1, 2))})
    assert [request.content for request in service.requests] == [b'{"all":[1,2]}'] * 2
    counts = [request.headers["x-runyard-retry-count"] for request in service.requests]
    assert counts == ["0", "1"]


def test_none_is_the_same_as_leaving_out() -> None:
    service = Service(httpx.Response(200, json=CREATED))
    service.client().runs.create(prompt="Hello", title=None)  # type: ignore[arg-type]
    assert service.requests[0].content == b'{"prompt":"Hello"}'


@pytest.mark.parametrize("body", [object(), {"a": math.nan}, {"a": {1, object()}}])
def test_a_body_that_is_no_json_is_not_sent(body: object) -> None:
    service = Service()
    with pytest.raises(RunyardError, match="The body of the request cannot be sent as JSON"):
        service.client().post("/things", body=body)
    assert service.requests == []


@pytest.mark.parametrize(
    "options",
    [
        {"default_headers": {"X-Secret": "geheim-☕"}},
        {"default_headers": {"X-Secret": "geheim\r\nX-More: 1"}},
        {"default_headers": {"X-Secret": None}},
        {"default_headers": {"X-Secret\n": "geheim"}},
    ],
)
def test_a_header_that_cannot_be_sent_is_named_without_its_value(options: Any) -> None:
    service = Service()
    with pytest.raises(RunyardError, match=r"(?i)x-secret") as caught:
        service.client(**options).get("/things")
    assert "geheim" not in str(caught.value)
    assert service.requests == []


def test_headers_may_be_latin_1() -> None:
    service = Service(httpx.Response(200, json={}))
    service.client().get("/things", extra_headers={"X-Name": " café "})
    assert (b"x-name", "café".encode("latin-1")) in service.requests[0].headers.raw


@pytest.mark.parametrize(
    "url", ["http://h:abc", "http://h:99999", "http://[::1", "http://a b", "h", "http://"]
)
def test_a_base_url_that_leads_nowhere_is_refused_at_once(url: str) -> None:
    with pytest.raises(RunyardError, match="base_url must be"):
        Runyard(api_key="ry_test", base_url=url)


@pytest.mark.parametrize("timeout", [0, -1, math.nan, True, "5", httpx.Timeout(5)])
def test_a_timeout_that_is_none_is_refused(timeout: Any) -> None:
    with pytest.raises(RunyardError, match="timeout must be a number of seconds above 0"):
        Runyard(api_key="ry_test", timeout=timeout)
    with pytest.raises(RunyardError, match="timeout must be a number of seconds above 0"):
        Service().client().get("/things", timeout=timeout)


@pytest.mark.parametrize("timeout", [math.inf, 1e12])
def test_no_timeout_at_all(fault_server: str, timeout: float) -> None:
    script = Script(fault_server, [{"json": {"a": 1}}])
    with Runyard(api_key="ry_test", base_url=script.url, timeout=timeout) as client:
        assert client.get("/x") == {"a": 1}
        context: Any = client.with_streaming_response.get("/x")
        with context as response:
            assert response.read() == b'{"a":1}'


@pytest.mark.parametrize("bad", [None, 5, "", ".", "..", b"r1", "\ud800"])
def test_what_is_no_id_is_refused(bad: Any) -> None:
    client = Service().client()
    for method in (client.runs.retrieve, client.runs.cancel, client.runs.stream, client.runs.wait):
        with pytest.raises(RunyardError, match="is not an id"):
            method(bad)


def test_an_error_of_a_post_names_its_key_and_others_none() -> None:
    service = Service(httpx.Response(400), httpx.Response(400))
    with pytest.raises(RunyardError) as caught:
        service.client().runs.create(prompt="Hello")
    assert caught.value.idempotency_key == service.requests[0].headers["idempotency-key"]
    with pytest.raises(RunyardError) as caught:
        service.client().runs.retrieve("r1")
    assert caught.value.idempotency_key is None


def test_credentials_of_the_http_client_stay_at_home() -> None:
    requests: list[httpx.Request] = []

    def serve(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        there = "http://elsewhere.test/x"
        return (
            httpx.Response(200, json={})
            if len(requests) > 1
            else httpx.Response(302, headers={"location": there})
        )

    http = httpx.Client(transport=httpx.MockTransport(serve), auth=("user", "pass"), headers={"X-Own": "1"})
    Runyard(api_key="ry_test", base_url="http://runyard.test", http_client=http).get("/x")
    assert "x-own" in requests[0].headers
    assert {"authorization", "x-own"}.isdisjoint(requests[1].headers)
    assert requests[1].headers["host"] == "elsewhere.test"


def test_neither_queries_nor_secrets_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    service = Service(AGAIN, httpx.Response(200, json={}, headers={"X-Signed-Url": "secret-1"}))
    headers = {"X-Auth": "secret-2", "X-Passphrase": "secret-3", "Idempotency-Key": "harmless"}
    client = service.client(default_headers=headers, default_query={"code": "secret-4"})
    with caplog.at_level(logging.DEBUG, logger="runyard"):
        client.get("/things?mode=secret-5", query={"more": "secret-6"})
    assert "harmless" in caplog.text
    assert "GET /api/v1/things: 200" in caplog.text
    assert "secret-" not in caplog.text


def test_an_empty_answer_is_none_or_says_so() -> None:
    service = Service(httpx.Response(204), httpx.Response(204))
    assert service.client().get("/things") is None
    with pytest.raises(APIResponseValidationError, match="with nothing"):
        service.client().get("/things", cast_to=dict)


@pytest.fixture
def slow_reader() -> Iterator[int]:
    """The port of a server that takes a request slowly, and never answers."""
    listener = socket.create_server(("127.0.0.1", 0))
    is_over = threading.Event()

    def read() -> None:
        connection, _ = listener.accept()
        with connection:
            while not is_over.wait(0.05) and connection.recv(100_000):
                pass

    thread = threading.Thread(target=read)
    thread.start()
    yield listener.getsockname()[1]
    is_over.set()
    thread.join()
    listener.close()


def test_the_timeout_covers_the_upload(slow_reader: int) -> None:
    url = f"http://127.0.0.1:{slow_reader}"
    started_at = time.monotonic()
    with Runyard(api_key="ry_test", base_url=url, timeout=1, max_retries=0) as client:
        with pytest.raises(APITimeoutError, match="within 1 s"):
            client.post("/things", body="x" * 60_000_000)
        # Piece by piece it would take half a minute.
        assert time.monotonic() - started_at < 15


def test_a_large_body_comes_whole() -> None:
    service = Service(httpx.Response(200, json={}))
    service.client().post("/things", body="x" * 200_000)
    assert service.requests[0].content == b'"' + b"x" * 200_000 + b'"'
    assert service.requests[0].headers["content-length"] == "200002"
    assert "transfer-encoding" not in service.requests[0].headers


def test_an_answer_that_cannot_be_read_keeps_the_key() -> None:
    """The run was made, and can be found again with it."""
    answers = [
        httpx.Response(200, json={"ok": True}),
        httpx.Response(202),
        httpx.Response(200, text="<html>"),
    ]
    for answer in answers:
        for method in ("create", "with_raw_response.create", "with_streaming_response.create"):
            service = Service(httpx.Response(answer.status_code, content=answer.content))
            with pytest.raises(APIResponseValidationError) as caught:
                create_through(service.client(), method)
            assert caught.value.idempotency_key == service.requests[0].headers["idempotency-key"]


def create_through(client: Runyard, method: str) -> None:
    if method == "create":
        client.runs.create(prompt="Hello")
    elif "raw" in method:
        client.runs.with_raw_response.create(prompt="Hello").parse()
    else:
        with client.runs.with_streaming_response.create(prompt="Hello") as response:
            response.parse()


NOWHERE = ["http://a:b/", "mailto:x", "http://xn--/", "http:", "http://127.0.0.1:1:2/"]


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("location", NOWHERE)
def test_a_redirect_to_nowhere_is_an_error_of_ours(location: str, method: str) -> None:
    service = Service(*[httpx.Response(307, headers={b"location": location.encode()})] * 3)
    with pytest.raises(RunyardError, match="redirects to") as caught:
        getattr(service.client(), method)("/things")
    assert not isinstance(caught.value, APIConnectionError)
    assert len(service.requests) == 1


def test_a_link_to_nowhere_is_an_error_of_ours() -> None:
    data = {"download_url": "http://xn--/", "expires_at": "2026-01-01T00:00:00Z"}
    artifact = {
        "artifact_uid": "a1",
        "artifact_type": "FILE",
        "created_at": "2026-01-01T00:00:00Z",
        "data": data,
    }
    with pytest.raises(RunyardError, match="cannot be asked"):
        Service(httpx.Response(200, json=artifact)).client().artifacts.download("a1")


def test_what_a_redirect_leads_to_is_named_when_it_cannot_be_reached() -> None:
    def serve(request: httpx.Request) -> httpx.Response:
        if request.url.host == "elsewhere.test":
            raise httpx.ConnectError("refused")
        return httpx.Response(302, headers={"location": "http://elsewhere.test/x"})

    http = httpx.Client(transport=httpx.MockTransport(serve))
    client = Runyard(api_key="ry_test", base_url="http://runyard.test", http_client=http, max_retries=0)
    with pytest.raises(APIConnectionError, match=r"Cannot reach http://elsewhere\.test: refused"):
        client.get("/x")


def test_the_query_of_a_location_is_neither_told_nor_logged(caplog: pytest.LogCaptureFixture) -> None:
    there = httpx.Response(307, headers={"location": "http://elsewhere.test/x?signature=secret-1#secret-2"})
    with (
        caplog.at_level(logging.DEBUG, logger="runyard"),
        pytest.raises(APIError, match=r"redirects to http://elsewhere\.test/x, which"),
    ):
        Service(there).client().post("/things")
    assert "http://elsewhere.test/x" in caplog.text
    assert "secret-" not in caplog.text
