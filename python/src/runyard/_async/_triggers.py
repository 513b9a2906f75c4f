"""`client.triggers`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._lists import AsyncTriggerDeliveryList, AsyncTriggerList
from .._models import (
    DeleteTriggerResponse,
    ListTriggerDeliveriesResponse,
    ListTriggersResponse,
    Trigger,
    TriggerDelivery,
    TriggerWithSecret,
    TryTriggerResponse,
)
from .._options import RequestOptions
from .._params import (
    CreateTriggerParams,
    ListTriggerDeliveriesParams,
    ListTriggersParams,
    TryFilterParams,
    UpdateTriggerParams,
)
from .._parse import into
from .._request import Call, segment
from .._split import split
from ._page import AsyncTriggerDeliveryPage, AsyncTriggerPage
from ._streaming_response import raw_method, streaming_method
from ._transport import AsyncRawTransport, AsyncStreamingTransport, AsyncTransport

_PATH = "/agent/triggers"


class AsyncTriggers:
    """`client.triggers`: addresses where what others post starts runs."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> AsyncTriggersWithRawResponse:
        """The same methods, returning status and headers as well."""
        return AsyncTriggersWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncTriggersWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return AsyncTriggersWithStreamingResponse(self._transport)

    async def create(self, **params: Unpack[CreateTriggerParams]) -> TriggerWithSecret:
        """Creates a trigger.

        What its runs are to be is checked as if one were created now; they are created as you. `url` of the answer is
        where its sender posts to, and `secret` what it signs with; no other answer has that.
        """
        body, options = split("create", params, CreateTriggerParams)
        return await self._transport.send(Call("POST", _PATH, body=body), into(TriggerWithSecret), options)

    async def retrieve(self, trigger_id: str, **options: Unpack[RequestOptions]) -> Trigger:
        """One trigger. One that is not there, or is somebody else's own: `NotFoundError`."""
        call = Call("GET", f"{_PATH}/{segment(trigger_id)}")
        return await self._transport.send(call, into(Trigger), options)

    async def update(self, trigger_id: str, **params: Unpack[UpdateTriggerParams]) -> Trigger:
        """Replaces a trigger.

        What is left out is gone, but the secret stays, and values `***` of tool servers keep the ones they have. From
        now on its runs are created as you.
        """
        body, options = split("update", params, UpdateTriggerParams)
        call = Call("PUT", f"{_PATH}/{segment(trigger_id)}", body=body)
        return await self._transport.send(call, into(Trigger), options)

    async def delete(self, trigger_id: str, **options: Unpack[RequestOptions]) -> DeleteTriggerResponse:
        """Deletes a trigger and its deliveries; its runs stay.

        Repeated after its answer was lost, it finds nothing any more: `NotFoundError`.
        """
        call = Call("DELETE", f"{_PATH}/{segment(trigger_id)}")
        return await self._transport.send(call, into(DeleteTriggerResponse), options)

    async def pause(self, trigger_id: str, **options: Unpack[RequestOptions]) -> Trigger:
        """Its address is not found until it is resumed. Runs that exist go on."""
        call = Call("POST", f"{_PATH}/{segment(trigger_id)}/pause")
        return await self._transport.send(call, into(Trigger), options)

    async def resume(self, trigger_id: str, **options: Unpack[RequestOptions]) -> Trigger:
        """Lets it go on; what was sent meanwhile was refused, and is not made up for."""
        call = Call("POST", f"{_PATH}/{segment(trigger_id)}/resume")
        return await self._transport.send(call, into(Trigger), options)

    async def try_filter(self, trigger_id: str, **params: Unpack[TryFilterParams]) -> TryTriggerResponse:
        """What a filter would do with the newest deliveries: `filter` in place of the one it has, empty for none.

        Nothing is started. A filter that is none: `BadRequestError`, with line and column.
        """
        body, options = split("try_filter", params, TryFilterParams)
        call = Call("POST", f"{_PATH}/{segment(trigger_id)}/try", body=body)
        return await self._transport.send(call, into(TryTriggerResponse), options)

    async def replay(
        self, trigger_id: str, delivery_id: str, **options: Unpack[RequestOptions]
    ) -> TriggerDelivery:
        """Does what the trigger does now with the body of a delivery, as a new delivery.

        A trigger that is paused: `ConflictError`.
        """
        path = f"{_PATH}/{segment(trigger_id)}/deliveries/{segment(delivery_id)}/replay"
        return await self._transport.send(Call("POST", path), into(TriggerDelivery), options)

    def deliveries(
        self, trigger_id: str, **params: Unpack[ListTriggerDeliveriesParams]
    ) -> AsyncTriggerDeliveryList:
        """What came to it with a right signature and what that did, newest first; kept for 30 days.

        Iterated, it goes through all pages.
        """
        fields, options = split("deliveries", params, ListTriggerDeliveriesParams)
        path = f"{_PATH}/{segment(trigger_id)}/deliveries"

        async def fetch(cursor: str | None) -> AsyncTriggerDeliveryPage:
            call = Call("GET", path, {**fields, "cursor": cursor})
            read = into(ListTriggerDeliveriesResponse, "deliveries")
            return AsyncTriggerDeliveryPage(await self._transport.send(call, read, options), cursor, fetch)

        return AsyncTriggerDeliveryList(lambda: fetch(fields.get("cursor")))

    async def deliveries_page(
        self, trigger_id: str, **params: Unpack[ListTriggerDeliveriesParams]
    ) -> ListTriggerDeliveriesResponse:
        """One page of deliveries as it comes. `deliveries` goes on to the next ones."""
        fields, options = split("deliveries", params, ListTriggerDeliveriesParams)
        call = Call("GET", f"{_PATH}/{segment(trigger_id)}/deliveries", fields)
        return await self._transport.send(call, into(ListTriggerDeliveriesResponse), options)

    def list(self, **params: Unpack[ListTriggersParams]) -> AsyncTriggerList:
        """Triggers of the team and your own, by name. Iterated, it goes through all pages."""
        fields, options = split("list", params, ListTriggersParams)

        async def fetch(cursor: str | None) -> AsyncTriggerPage:
            call = Call("GET", _PATH, {**fields, "cursor": cursor})
            read = into(ListTriggersResponse, "triggers")
            return AsyncTriggerPage(await self._transport.send(call, read, options), cursor, fetch)

        return AsyncTriggerList(lambda: fetch(fields.get("cursor")))

    async def list_page(self, **params: Unpack[ListTriggersParams]) -> ListTriggersResponse:
        """One page of triggers as it comes. `list` goes on to the next ones."""
        fields, options = split("list", params, ListTriggersParams)
        return await self._transport.send(Call("GET", _PATH, fields), into(ListTriggersResponse), options)


class AsyncTriggersWithRawResponse:
    """`client.triggers.with_raw_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        triggers = AsyncTriggers(AsyncRawTransport(transport.settings, transport.http))
        self.create = raw_method(triggers.create)
        self.retrieve = raw_method(triggers.retrieve)
        self.update = raw_method(triggers.update)
        self.delete = raw_method(triggers.delete)
        self.pause = raw_method(triggers.pause)
        self.resume = raw_method(triggers.resume)
        self.try_filter = raw_method(triggers.try_filter)
        self.replay = raw_method(triggers.replay)
        self.deliveries = raw_method(triggers.deliveries_page)
        self.list = raw_method(triggers.list_page)


class AsyncTriggersWithStreamingResponse:
    """`client.triggers.with_streaming_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        triggers = AsyncTriggers(AsyncStreamingTransport(transport.settings, transport.http))
        self.create = streaming_method(triggers.create)
        self.retrieve = streaming_method(triggers.retrieve)
        self.update = streaming_method(triggers.update)
        self.delete = streaming_method(triggers.delete)
        self.pause = streaming_method(triggers.pause)
        self.resume = streaming_method(triggers.resume)
        self.try_filter = streaming_method(triggers.try_filter)
        self.replay = streaming_method(triggers.replay)
        self.deliveries = streaming_method(triggers.deliveries_page)
        self.list = streaming_method(triggers.list_page)
