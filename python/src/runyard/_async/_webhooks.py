"""`client.webhooks`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._lists import AsyncWebhookDeliveryList, AsyncWebhookList
from .._models import (
    ListDeliveriesResponse,
    ListWebhooksResponse,
    Webhook,
    WebhookDelivery,
    WebhookEvent,
    WebhookTest,
    WebhookWithSecret,
)
from .._options import RequestOptions
from .._params import CreateWebhookParams, ListDeliveriesParams, ListWebhooksParams, UpdateWebhookParams
from .._parse import into
from .._request import Call, segment
from .._split import split
from .._webhooks import WebhookBody, WebhookHeaders, unwrap
from ._page import AsyncWebhookDeliveryPage, AsyncWebhookPage
from ._streaming_response import raw_method, streaming_method
from ._transport import AsyncRawTransport, AsyncStreamingTransport, AsyncTransport

_PATH = "/agent/webhooks"


class AsyncWebhooks:
    """`client.webhooks`: addresses that changes of runs are sent to, and the check of what is sent there."""

    def __init__(self, transport: AsyncTransport, secret: str | None) -> None:
        self._transport = transport
        self._secret = secret

    @property
    def with_raw_response(self) -> AsyncWebhooksWithRawResponse:
        """The same methods, besides `unwrap`, returning status and headers as well."""
        return AsyncWebhooksWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncWebhooksWithStreamingResponse:
        """The same methods, besides `unwrap`, as context managers, with a body that is not read yet."""
        return AsyncWebhooksWithStreamingResponse(self._transport)

    def unwrap(
        self, payload: WebhookBody, headers: WebhookHeaders, secret: str | None = None
    ) -> WebhookEvent:
        """The event in a delivery, after its signature and age were checked (Standard Webhooks).

        Nothing is sent, and nothing is to be awaited. `payload` is the body as it came, before anything has parsed
        it. `secret` (`whsec_…`) defaults to the client's `webhook_secret`, then RUNYARD_WEBHOOK_SECRET. Raises
        `WebhookVerificationError`, too, for what is more than five minutes old or ahead.
        """
        return unwrap(payload, headers, secret or self._secret)

    async def create(self, **params: Unpack[CreateWebhookParams]) -> WebhookWithSecret:
        """Has changes of runs sent to an address.

        `secret` of the answer is what they are signed with; besides `rotate_secret` no other answer has it.
        """
        body, options = split("create", params, CreateWebhookParams)
        return await self._transport.send(Call("POST", _PATH, body=body), into(WebhookWithSecret), options)

    async def retrieve(self, webhook_id: str, **options: Unpack[RequestOptions]) -> Webhook:
        """One webhook. One that is not there, or is somebody else's own: `NotFoundError`."""
        call = Call("GET", f"{_PATH}/{segment(webhook_id)}")
        return await self._transport.send(call, into(Webhook), options)

    async def update(self, webhook_id: str, **params: Unpack[UpdateWebhookParams]) -> Webhook:
        """Replaces what a webhook is made of; its secret stays.

        What is left out becomes the default, so one that was disabled is enabled unless `enabled` is False.
        """
        body, options = split("update", params, UpdateWebhookParams)
        call = Call("PUT", f"{_PATH}/{segment(webhook_id)}", body=body)
        return await self._transport.send(call, into(Webhook), options)

    async def delete(self, webhook_id: str, **options: Unpack[RequestOptions]) -> Webhook:
        """Deletes a webhook with what waits to be sent, and returns it as it was."""
        call = Call("DELETE", f"{_PATH}/{segment(webhook_id)}")
        return await self._transport.send(call, into(Webhook), options)

    async def rotate_secret(self, webhook_id: str, **options: Unpack[RequestOptions]) -> WebhookWithSecret:
        """Gives a webhook another secret. For 24 hours deliveries are signed with the one before as well."""
        call = Call("POST", f"{_PATH}/{segment(webhook_id)}/rotate-secret")
        return await self._transport.send(call, into(WebhookWithSecret), options)

    async def test(self, webhook_id: str, **options: Unpack[RequestOptions]) -> WebhookTest:
        """Sends one signed event `webhook.test` now, enabled or not, and says what came back.

        `delivery.error` is why it did not go well. Six in a minute, then `RateLimitError`.
        """
        path = f"{_PATH}/{segment(webhook_id)}/test"
        return await self._transport.send(Call("POST", path), into(WebhookTest), options)

    async def redeliver(
        self, webhook_id: str, delivery_id: str, **options: Unpack[RequestOptions]
    ) -> WebhookDelivery:
        """Sends a delivery again, whatever became of it, under the same `webhook-id`.

        A webhook that is disabled: `ConflictError`.
        """
        path = f"{_PATH}/{segment(webhook_id)}/deliveries/{segment(delivery_id)}/redeliver"
        return await self._transport.send(Call("POST", path), into(WebhookDelivery), options)

    def list(self, **params: Unpack[ListWebhooksParams]) -> AsyncWebhookList:
        """Webhooks of the team and your own, newest first. Iterated, it goes through all pages."""
        fields, options = split("list", params, ListWebhooksParams)

        async def fetch(cursor: str | None) -> AsyncWebhookPage:
            call = Call("GET", _PATH, {**fields, "cursor": cursor})
            read = into(ListWebhooksResponse, "webhooks")
            return AsyncWebhookPage(await self._transport.send(call, read, options), cursor, fetch)

        return AsyncWebhookList(lambda: fetch(fields.get("cursor")))

    async def list_page(self, **params: Unpack[ListWebhooksParams]) -> ListWebhooksResponse:
        """One page of webhooks as it comes. `list` goes on to the next ones."""
        fields, options = split("list", params, ListWebhooksParams)
        return await self._transport.send(Call("GET", _PATH, fields), into(ListWebhooksResponse), options)

    def deliveries(self, webhook_id: str, **params: Unpack[ListDeliveriesParams]) -> AsyncWebhookDeliveryList:
        """What was sent, or waits to be, newest first; kept for 30 days. Iterated, it goes through all pages."""
        fields, options = split("deliveries", params, ListDeliveriesParams)
        path = f"{_PATH}/{segment(webhook_id)}/deliveries"

        async def fetch(cursor: str | None) -> AsyncWebhookDeliveryPage:
            call = Call("GET", path, {**fields, "cursor": cursor})
            read = into(ListDeliveriesResponse, "deliveries")
            return AsyncWebhookDeliveryPage(await self._transport.send(call, read, options), cursor, fetch)

        return AsyncWebhookDeliveryList(lambda: fetch(fields.get("cursor")))

    async def deliveries_page(
        self, webhook_id: str, **params: Unpack[ListDeliveriesParams]
    ) -> ListDeliveriesResponse:
        """One page of deliveries as it comes. `deliveries` goes on to the next ones."""
        fields, options = split("deliveries", params, ListDeliveriesParams)
        call = Call("GET", f"{_PATH}/{segment(webhook_id)}/deliveries", fields)
        return await self._transport.send(call, into(ListDeliveriesResponse), options)


class AsyncWebhooksWithRawResponse:
    """`client.webhooks.with_raw_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        webhooks = AsyncWebhooks(AsyncRawTransport(transport.settings, transport.http), None)
        self.create = raw_method(webhooks.create)
        self.retrieve = raw_method(webhooks.retrieve)
        self.update = raw_method(webhooks.update)
        self.delete = raw_method(webhooks.delete)
        self.rotate_secret = raw_method(webhooks.rotate_secret)
        self.test = raw_method(webhooks.test)
        self.redeliver = raw_method(webhooks.redeliver)
        self.list = raw_method(webhooks.list_page)
        self.deliveries = raw_method(webhooks.deliveries_page)


class AsyncWebhooksWithStreamingResponse:
    """`client.webhooks.with_streaming_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        webhooks = AsyncWebhooks(AsyncStreamingTransport(transport.settings, transport.http), None)
        self.create = streaming_method(webhooks.create)
        self.retrieve = streaming_method(webhooks.retrieve)
        self.update = streaming_method(webhooks.update)
        self.delete = streaming_method(webhooks.delete)
        self.rotate_secret = streaming_method(webhooks.rotate_secret)
        self.test = streaming_method(webhooks.test)
        self.redeliver = streaming_method(webhooks.redeliver)
        self.list = streaming_method(webhooks.list_page)
        self.deliveries = streaming_method(webhooks.deliveries_page)
