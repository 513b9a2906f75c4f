"""Deliveries of webhooks, verified."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from ._errors import APIResponseValidationError, RunyardError, WebhookVerificationError

if TYPE_CHECKING:
    from ._models import WebhookEvent

_TOLERANCE = 5 * 60
# Longer ones are no time.
_TIMESTAMP = re.compile(r"\d{1,12}", re.ASCII)

WebhookHeaders = Mapping[str, str] | Mapping[str, "str | Sequence[str]"]


WebhookBody = str | bytes | bytearray | memoryview


def unwrap(payload: WebhookBody, headers: WebhookHeaders, secret: str | None) -> WebhookEvent:
    """What `client.webhooks.unwrap` does. It sends nothing, so it is the same for both clients."""
    from ._models import WebhookEvent
    from ._parse import load_json, parse_json

    body = _to_bytes(payload)
    verify(body, headers, secret, time.time())
    try:
        load_json(body)
    except APIResponseValidationError as error:
        raise WebhookVerificationError("The webhook is signed, but its body is not JSON.") from error
    return parse_json(body, WebhookEvent, "The webhook")


def verify(body: bytes, headers: WebhookHeaders, secret: str | None, now: float) -> None:
    """Raises `WebhookVerificationError` unless one of the signatures is right and the delivery is fresh."""
    if not secret:
        raise RunyardError(
            "A secret is needed to verify webhooks: pass webhook_secret or set RUNYARD_WEBHOOK_SECRET."
        )
    key = _decode_secret(secret)
    message_id = _find(headers, "webhook-id")
    timestamp = _find(headers, "webhook-timestamp")
    signatures = _find(headers, "webhook-signature")
    if not message_id or not timestamp or not signatures:
        raise WebhookVerificationError(
            "The headers webhook-id, webhook-timestamp and webhook-signature are needed."
        )
    if not _TIMESTAMP.fullmatch(timestamp):
        raise WebhookVerificationError("The webhook-timestamp is not a number of seconds.")
    if abs(now - int(timestamp)) > _TOLERANCE:
        raise WebhookVerificationError("The webhook-timestamp is more than five minutes away from now.")
    signed = _to_bytes(f"{message_id}.{timestamp}.") + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    for signature in signatures.split():
        version, _, value = signature.partition(",")
        # Where several headers were joined, a comma follows each.
        if version == "v1" and hmac.compare_digest(_to_bytes(value.rstrip(",")), expected):
            return
    raise WebhookVerificationError("No signature of the webhook is right. Is it the secret of this webhook?")


def _find(headers: WebhookHeaders, wanted: str) -> str:
    """All headers of this name, joined by spaces. Frameworks differ in how they spell names and keep several."""
    found: list[object] = []
    for name, value in cast("Mapping[object, object]", headers).items():
        if isinstance(name, str) and name.lower() == wanted:
            is_one = isinstance(value, str) or not isinstance(value, Sequence)
            found += [value] if is_one else cast("Sequence[object]", value)
    if not all(isinstance(value, str) for value in found):
        raise WebhookVerificationError(f"The header {wanted} is no text.")
    return " ".join(map(str, found))


def _decode_secret(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.strip().removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise RunyardError("The webhook secret must be whsec_ followed by base64.")
    return key


def _to_bytes(text: object) -> bytes:
    if isinstance(text, str):
        # Half a character of a wrong decoding matches no signature.
        return text.encode("utf-8", "surrogatepass")
    if isinstance(text, (bytes, bytearray)):
        return bytes(text)
    if isinstance(text, memoryview):
        return text.tobytes()
    raise RunyardError("The body of a webhook is needed as it came, its text or its bytes, not parsed.")
