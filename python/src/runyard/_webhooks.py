"""`client.webhooks`: deliveries of the service, verified."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ._errors import RunyardError, WebhookVerificationError

if TYPE_CHECKING:
    from ._models import WebhookEvent

_TOLERANCE = 5 * 60


class Webhooks:
    """`client.webhooks`. The same for both clients: it sends nothing."""

    def __init__(self, secret: str | None) -> None:
        self._secret = secret

    def unwrap(
        self, payload: str | bytes, headers: Mapping[str, str], secret: str | None = None
    ) -> WebhookEvent:
        """The event in a delivery, after its signature and age were checked (Standard Webhooks).

        `payload` is the body as it came, before anything has parsed it. `secret` (`whsec_…`) defaults to the client's
        `webhook_secret`, then RUNYARD_WEBHOOK_SECRET. Raises `WebhookVerificationError`, too, for what is more than
        five minutes old or ahead.
        """
        from ._models import WebhookEvent
        from ._parse import parse_json

        body = payload.encode() if isinstance(payload, str) else payload
        verify(body, headers, secret or self._secret, time.time())
        return parse_json(body, WebhookEvent)


def verify(body: bytes, headers: Mapping[str, str], secret: str | None, now: float) -> None:
    """Raises `WebhookVerificationError` unless one of the signatures is right and the delivery is fresh."""
    if not secret:
        raise RunyardError(
            "A secret is needed to verify webhooks: pass webhook_secret or set RUNYARD_WEBHOOK_SECRET."
        )
    key = _decode_secret(secret)
    # Frameworks differ in how they spell header names.
    found = {name.lower(): value for name, value in headers.items()}
    message_id, timestamp, signatures = (
        found.get(f"webhook-{name}") for name in ("id", "timestamp", "signature")
    )
    if not message_id or not timestamp or not signatures:
        raise WebhookVerificationError(
            "The headers webhook-id, webhook-timestamp and webhook-signature are needed."
        )
    if not (timestamp.isascii() and timestamp.isdigit()):
        raise WebhookVerificationError("The webhook-timestamp is not a number of seconds.")
    if abs(now - int(timestamp)) > _TOLERANCE:
        raise WebhookVerificationError("The webhook-timestamp is more than five minutes away from now.")
    signed = f"{message_id}.{timestamp}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    for signature in signatures.split():
        version, _, value = signature.partition(",")
        if version == "v1" and hmac.compare_digest(value.encode(), expected):
            return
    raise WebhookVerificationError("No signature of the webhook is right. Is it the secret of this webhook?")


def _decode_secret(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.strip().removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raise WebhookVerificationError("The webhook secret must be whsec_ followed by base64.") from None
