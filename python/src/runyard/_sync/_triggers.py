# Generated from _async/_triggers.py by scripts/unasync.py; do not edit.
"""`client.triggers`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._lists import TriggerDeliveryList, TriggerList
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
from ._page import TriggerDeliveryPage, TriggerPage
from ._streaming_response import raw_method, streaming_method
from ._transport import RawTransport, StreamingTransport, Transport

_PATH = "/agent/triggers"


class Triggers:
    """`client.triggers`: addresses where what others post starts runs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> TriggersWithRawResponse:
        """The same methods, returning status and headers as well."""
        return TriggersWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> TriggersWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return TriggersWithStreamingResponse(self._transport)

    def create(self, **params: Unpack[CreateTriggerParams]) -> TriggerWithSecret:
        """Creates a trigger.

        What its runs are to be is checked as if one were created now; they are created as you. `url` of the answer is
        where its sender posts to, and `secret` what it signs with; no other answer has that.
        """
        body, options = split("create", params, CreateTriggerParams)
        return self._transport.send(Call("POST", _PATH, body=body), into(TriggerWithSecret), options)

    def retrieve(self, trigger_id: str, **options: Unpack[RequestOptions]) -> Trigger:
        """One trigger. One that is not there, or is somebody else's own: `NotFoundError`."""
        call = Call("GET", f"{_PATH}/{segment(trigger_id)}")
        return self._transport.send(call, into(Trigger), options)

    def update(self, trigger_id: str, **params: Unpack[UpdateTriggerParams]) -> Trigger:
        """Replaces a trigger.

        What is left out is gone, but the secret stays, and values `***` of tool servers keep the ones they have. From
        now on its runs are created as you.
        """
        body, options = split("update", params, UpdateTriggerParams)
        call = Call("PUT", f"{_PATH}/{segment(trigger_id)}", body=body)
        return self._transport.send(call, into(Trigger), options)

    def delete(self, trigger_id: str, **options: Unpack[RequestOptions]) -> DeleteTriggerResponse:
        """Deletes a trigger and its deliveries; its runs stay.

        Repeated after its answer was lost, it finds nothing any more: `NotFoundError`.
        """
        call = Call("DELETE", f"{_PATH}/{segment(trigger_id)}")
        return self._transport.send(call, into(DeleteTriggerResponse), options)

    def pause(self, trigger_id: str, **options: Unpack[RequestOptions]) -> Trigger:
        """Its address is not found until it is resumed. Runs that exist go on."""
        call = Call("POST", f"{_PATH}/{segment(trigger_id)}/pause")
        return self._transport.send(call, into(Trigger), options)

    def resume(self, trigger_id: str, **options: Unpack[RequestOptions]) -> Trigger:
        """Lets it go on; what was sent meanwhile was refused, and is not made up for."""
        call = Call("POST", f"{_PATH}/{segment(trigger_id)}/resume")
        return self._transport.send(call, into(Trigger), options)

    def try_filter(self, trigger_id: str, **params: Unpack[TryFilterParams]) -> TryTriggerResponse:
        """What a filter would do with the newest deliveries: `filter` in place of the one it has, empty for none.

        Nothing is started. A filter that is none: `BadRequestError`, with line and column.
        """
        body, options = split("try_filter", params, TryFilterParams)
        call = Call("POST", f"{_PATH}/{segment(trigger_id)}/try", body=body)
        return self._transport.send(call, into(TryTriggerResponse), options)

    def replay(self, trigger_id: str, delivery_id: str, **options: Unpack[RequestOptions]) -> TriggerDelivery:
        """Does what the trigger does now with the body of a delivery, as a new delivery.

        A trigger that is paused: `ConflictError`.
        """
        path = f"{_PATH}/{segment(trigger_id)}/deliveries/{segment(delivery_id)}/replay"
        return self._transport.send(Call("POST", path), into(TriggerDelivery), options)

    def deliveries(
        self, trigger_id: str, **params: Unpack[ListTriggerDeliveriesParams]
    ) -> TriggerDeliveryList:
        """What came to it with a right signature and what that did, newest first; kept for 30 days.

        Iterated, it goes through all pages.
        """
        fields, options = split("deliveries", params, ListTriggerDeliveriesParams)
        path = f"{_PATH}/{segment(trigger_id)}/deliveries"

        def fetch(cursor: str | None) -> TriggerDeliveryPage:
            call = Call("GET", path, {**fields, "cursor": cursor})
            read = into(ListTriggerDeliveriesResponse, "deliveries")
            return TriggerDeliveryPage(self._transport.send(call, read, options), cursor, fetch)

        return TriggerDeliveryList(lambda: fetch(fields.get("cursor")))

    def deliveries_page(
        self, trigger_id: str, **params: Unpack[ListTriggerDeliveriesParams]
    ) -> ListTriggerDeliveriesResponse:
        """One page of deliveries as it comes. `deliveries` goes on to the next ones."""
        fields, options = split("deliveries", params, ListTriggerDeliveriesParams)
        call = Call("GET", f"{_PATH}/{segment(trigger_id)}/deliveries", fields)
        return self._transport.send(call, into(ListTriggerDeliveriesResponse), options)

    def list(self, **params: Unpack[ListTriggersParams]) -> TriggerList:
        """Triggers of the team and your own, by name. Iterated, it goes through all pages."""
        fields, options = split("list", params, ListTriggersParams)

        def fetch(cursor: str | None) -> TriggerPage:
            call = Call("GET", _PATH, {**fields, "cursor": cursor})
            read = into(ListTriggersResponse, "triggers")
            return TriggerPage(self._transport.send(call, read, options), cursor, fetch)

        return TriggerList(lambda: fetch(fields.get("cursor")))

    def list_page(self, **params: Unpack[ListTriggersParams]) -> ListTriggersResponse:
        """One page of triggers as it comes. `list` goes on to the next ones."""
        fields, options = split("list", params, ListTriggersParams)
        return self._transport.send(Call("GET", _PATH, fields), into(ListTriggersResponse), options)


class TriggersWithRawResponse:
    """`client.triggers.with_raw_response`"""

    def __init__(self, transport: Transport) -> None:
        triggers = Triggers(RawTransport(transport.settings, transport.http))
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


class TriggersWithStreamingResponse:
    """`client.triggers.with_streaming_response`"""

    def __init__(self, transport: Transport) -> None:
        triggers = Triggers(StreamingTransport(transport.settings, transport.http))
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
