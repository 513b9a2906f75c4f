# pyright: basic
"""What the behaviour table cannot say of webhooks: types and headers of Python's frameworks."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest
from behaviour_call import webhook_arguments

from runyard import Runyard, RunyardError, WebhookVerificationError

SECRET = "whsec_c2VjcmV0LW9uZQ=="
OTHER = "whsec_c2VjcmV0LXR3bw=="
TEXT = '{"type":"run.failed","timestamp":"2026-01-01T00:00:00.000Z","data":{"run_id":"é","state":"FAILED"}}'
WEBHOOKS = Runyard(api_key="ry_test", webhook_secret=SECRET).webhooks


def signed(payload: str = TEXT, secret: str = SECRET) -> dict[str, str]:
    found: dict[str, str] = webhook_arguments({"payload": payload, "age_s": 0, "sign_with": [secret]})[1]
    return found


@pytest.mark.parametrize(
    "kind", [str, str.encode, lambda t: bytearray(t.encode()), lambda t: memoryview(t.encode())]
)
def test_a_body_as_it_came(kind: Any) -> None:
    assert WEBHOOKS.unwrap(kind(TEXT), signed()).data.run_id == "é"


@pytest.mark.parametrize("body", [None, {"type": "run.failed"}, 7])
def test_a_body_that_was_parsed_is_refused(body: Any) -> None:
    with pytest.raises(RunyardError, match="as it came"):
        WEBHOOKS.unwrap(body, signed())


class Pairs(dict[str, str]):
    """Headers as Starlette has them: `items` names those that came twice twice."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        super().__init__(pairs)
        self._pairs = pairs

    def items(self) -> Any:
        return self._pairs


def test_several_signatures_however_they_are_kept() -> None:
    ours, theirs = signed(), signed(secret=OTHER)["webhook-signature"]
    both = [ours.pop("webhook-signature"), theirs]
    pairs = [*ours.items(), *(("Webhook-Signature", value) for value in both)]
    joined = {**ours, "webhook-signature": " ".join(both)}
    for headers in ({**ours, "WEBHOOK-SIGNATURE": both}, httpx.Headers(pairs), Pairs(pairs), joined):
        assert WEBHOOKS.unwrap(TEXT, headers).type == "run.failed"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("webhook-timestamp", "1" * 5000),
        ("webhook-timestamp", "\u0661" * 10),
        ("webhook-timestamp", f"{int(time.time())}.5"),
        ("webhook-signature", "v1,\udc80"),
        ("webhook-id", "msg_\udc80"),
        ("webhook-id", ""),
        ("webhook-id", None),
        ("webhook-timestamp", int(time.time())),
        ("webhook-signature", b"v1,abc"),
        ("webhook-signature", [b"v1,abc"]),
        (b"webhook-signature", "v1,abc"),
        (7, "v1,abc"),
    ],
)
def test_odd_headers_are_refused(name: Any, value: Any) -> None:
    headers = {key: kept for key, kept in signed().items() if key == "webhook-id" or isinstance(name, str)}
    with pytest.raises(WebhookVerificationError):
        WEBHOOKS.unwrap(TEXT, {**headers, name: value})


def test_a_body_of_half_characters_is_refused() -> None:
    with pytest.raises(WebhookVerificationError):
        WEBHOOKS.unwrap("\udc80", signed())


@pytest.mark.parametrize("secret", ["whsec_", "whsec_%%%", "é"])
def test_a_secret_that_is_none_is_a_mistake_of_the_caller(secret: str) -> None:
    with pytest.raises(RunyardError, match="must be whsec_") as caught:
        WEBHOOKS.unwrap(TEXT, signed(), secret)
    assert not isinstance(caught.value, WebhookVerificationError)


def test_a_signed_body_that_is_no_json() -> None:
    with pytest.raises(WebhookVerificationError, match="signed, but its body is not JSON"):
        WEBHOOKS.unwrap("abc", signed("abc"))
    with pytest.raises(RunyardError, match="The webhook does not fit WebhookEvent"):
        WEBHOOKS.unwrap("[]", signed("[]"))
