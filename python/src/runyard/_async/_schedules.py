"""`client.schedules`"""

from __future__ import annotations

from typing_extensions import Unpack

from .._lists import AsyncFiringList, AsyncScheduleList
from .._models import (
    DeleteScheduleResponse,
    ListFiringsResponse,
    ListSchedulesResponse,
    ListScheduleTimesResponse,
    ScheduledAgentItem,
    ScheduleFiring,
)
from .._options import RequestOptions
from .._params import (
    CreateScheduleParams,
    ListFiringsParams,
    ListSchedulesParams,
    ListScheduleTimesParams,
    UpdateScheduleParams,
)
from .._parse import into
from .._request import Call, segment
from .._split import split
from ._page import AsyncFiringPage, AsyncSchedulePage
from ._streaming_response import raw_method, streaming_method
from ._transport import AsyncRawTransport, AsyncStreamingTransport, AsyncTransport

_PATH = "/agent/schedules"


class AsyncSchedules:
    """`client.schedules`: runs at the times that a cron expression names."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_raw_response(self) -> AsyncSchedulesWithRawResponse:
        """The same methods, returning status and headers as well."""
        return AsyncSchedulesWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncSchedulesWithStreamingResponse:
        """The same methods as context managers, with a body that is not read yet."""
        return AsyncSchedulesWithStreamingResponse(self._transport)

    async def create(self, **params: Unpack[CreateScheduleParams]) -> ScheduledAgentItem:
        """Creates a schedule.

        What its runs are to be is checked as if one were created now; `next_runs` has their next three times. They are
        created as you.
        """
        body, options = split("create", params, CreateScheduleParams)
        return await self._transport.send(Call("POST", _PATH, body=body), into(ScheduledAgentItem), options)

    async def retrieve(self, schedule_id: str, **options: Unpack[RequestOptions]) -> ScheduledAgentItem:
        """One schedule. One that is not there: `NotFoundError`."""
        call = Call("GET", f"{_PATH}/{segment(schedule_id)}")
        return await self._transport.send(call, into(ScheduledAgentItem), options)

    async def update(self, schedule_id: str, **params: Unpack[UpdateScheduleParams]) -> ScheduledAgentItem:
        """Replaces a schedule.

        What is left out is gone, but `time_zone`, `overlap`, `catch_up`, `title`, `priority`, `budget` and
        `output_schema` stay, of which `None` takes away the last four, and values `***` of tool servers keep the ones
        they have. From now on its runs are created as you.
        """
        body, options = split("update", params, UpdateScheduleParams)
        call = Call("PUT", f"{_PATH}/{segment(schedule_id)}", body=body)
        return await self._transport.send(call, into(ScheduledAgentItem), options)

    async def delete(self, schedule_id: str, **options: Unpack[RequestOptions]) -> DeleteScheduleResponse:
        """Deletes a schedule; its runs stay.

        Repeated after its answer was lost, it finds nothing any more: `NotFoundError`.
        """
        call = Call("DELETE", f"{_PATH}/{segment(schedule_id)}")
        return await self._transport.send(call, into(DeleteScheduleResponse), options)

    async def pause(self, schedule_id: str, **options: Unpack[RequestOptions]) -> ScheduledAgentItem:
        """No more runs until it is resumed. Runs that exist go on."""
        call = Call("POST", f"{_PATH}/{segment(schedule_id)}/pause")
        return await self._transport.send(call, into(ScheduledAgentItem), options)

    async def resume(self, schedule_id: str, **options: Unpack[RequestOptions]) -> ScheduledAgentItem:
        """Lets it go on with its next time; nothing is made up for."""
        call = Call("POST", f"{_PATH}/{segment(schedule_id)}/resume")
        return await self._transport.send(call, into(ScheduledAgentItem), options)

    async def times(self, **params: Unpack[ListScheduleTimesParams]) -> ListScheduleTimesResponse:
        """The next three times of a cron expression, before there is a schedule.

        What a schedule would be refused for: `BadRequestError`.
        """
        fields, options = split("times", params, ListScheduleTimesParams)
        call = Call("GET", "/agent/schedule-times", fields)
        return await self._transport.send(call, into(ListScheduleTimesResponse), options)

    async def run(self, schedule_id: str, **options: Unpack[RequestOptions]) -> ScheduleFiring:
        """Has it run at once, paused or not; its next time stays.

        `outcome` is `skipped` while an earlier run is not over and `overlap` is `skip`; what a run is refused for is
        raised.
        """
        call = Call("POST", f"{_PATH}/{segment(schedule_id)}/run")
        return await self._transport.send(call, into(ScheduleFiring), options)

    def firings(self, schedule_id: str, **params: Unpack[ListFiringsParams]) -> AsyncFiringList:
        """What it did, newest first: each time that was due, and the run that was created or why there is none.

        The service keeps 500. Iterated, it goes through all pages.
        """
        path = f"{_PATH}/{segment(schedule_id)}/firings"
        fields, options = split("firings", params, ListFiringsParams)

        async def fetch(cursor: str | None) -> AsyncFiringPage:
            call = Call("GET", path, {**fields, "cursor": cursor})
            read = into(ListFiringsResponse, "firings")
            return AsyncFiringPage(await self._transport.send(call, read, options), cursor, fetch)

        return AsyncFiringList(lambda: fetch(fields.get("cursor")))

    async def firings_page(
        self, schedule_id: str, **params: Unpack[ListFiringsParams]
    ) -> ListFiringsResponse:
        """One page of `firings` as it comes."""
        fields, options = split("firings", params, ListFiringsParams)
        call = Call("GET", f"{_PATH}/{segment(schedule_id)}/firings", fields)
        return await self._transport.send(call, into(ListFiringsResponse), options)

    def list(self, **params: Unpack[ListSchedulesParams]) -> AsyncScheduleList:
        """Schedules by name, up to 500 a page. Iterated, it goes through all pages."""
        fields, options = split("list", params, ListSchedulesParams)

        async def fetch(cursor: str | None) -> AsyncSchedulePage:
            call = Call("GET", _PATH, {**fields, "cursor": cursor})
            read = into(ListSchedulesResponse, "schedules")
            return AsyncSchedulePage(await self._transport.send(call, read, options), cursor, fetch)

        return AsyncScheduleList(lambda: fetch(fields.get("cursor")))

    async def list_page(self, **params: Unpack[ListSchedulesParams]) -> ListSchedulesResponse:
        """One page of schedules as it comes. `list` goes on to the next ones."""
        fields, options = split("list", params, ListSchedulesParams)
        return await self._transport.send(Call("GET", _PATH, fields), into(ListSchedulesResponse), options)


class AsyncSchedulesWithRawResponse:
    """`client.schedules.with_raw_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        schedules = AsyncSchedules(AsyncRawTransport(transport.settings, transport.http))
        self.create = raw_method(schedules.create)
        self.retrieve = raw_method(schedules.retrieve)
        self.update = raw_method(schedules.update)
        self.delete = raw_method(schedules.delete)
        self.pause = raw_method(schedules.pause)
        self.resume = raw_method(schedules.resume)
        self.times = raw_method(schedules.times)
        self.run = raw_method(schedules.run)
        self.firings = raw_method(schedules.firings_page)
        self.list = raw_method(schedules.list_page)


class AsyncSchedulesWithStreamingResponse:
    """`client.schedules.with_streaming_response`"""

    def __init__(self, transport: AsyncTransport) -> None:
        schedules = AsyncSchedules(AsyncStreamingTransport(transport.settings, transport.http))
        self.create = streaming_method(schedules.create)
        self.retrieve = streaming_method(schedules.retrieve)
        self.update = streaming_method(schedules.update)
        self.delete = streaming_method(schedules.delete)
        self.pause = streaming_method(schedules.pause)
        self.resume = streaming_method(schedules.resume)
        self.times = streaming_method(schedules.times)
        self.run = streaming_method(schedules.run)
        self.firings = streaming_method(schedules.firings_page)
        self.list = streaming_method(schedules.list_page)
