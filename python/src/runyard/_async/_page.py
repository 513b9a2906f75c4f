"""Pages of lists."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Generic, TypeVar

from .._errors import RunyardError
from .._join_steps import StepJoin
from .._method import AsyncMethod
from .._models import (
    AgentIdentity,
    ApiKey,
    AuditEntry,
    Conversation,
    ConversationStep,
    Environment,
    ListAgentIdentitiesResponse,
    ListApiKeysResponse,
    ListAuditLogResponse,
    ListDeliveriesResponse,
    ListEnvironmentsResponse,
    ListFiringsResponse,
    ListPoolsResponse,
    ListPrincipalsResponse,
    ListRunsResponse,
    ListSchedulesResponse,
    ListSecretsResponse,
    ListShareLinksResponse,
    ListTriggerDeliveriesResponse,
    ListTriggersResponse,
    ListWebhooksResponse,
    PageInfo,
    Pool,
    Principal,
    RunItem,
    ScheduledAgentItem,
    ScheduleFiring,
    Secret,
    ShareLink,
    Trigger,
    TriggerDelivery,
    Webhook,
    WebhookDelivery,
)

_R = TypeVar(
    "_R",
    ListPoolsResponse,
    ListPrincipalsResponse,
    ListRunsResponse,
    ListEnvironmentsResponse,
    ListSecretsResponse,
    ListAgentIdentitiesResponse,
    ListSchedulesResponse,
    ListFiringsResponse,
    Conversation,
    ListApiKeysResponse,
    ListAuditLogResponse,
    ListWebhooksResponse,
    ListDeliveriesResponse,
    ListTriggersResponse,
    ListTriggerDeliveriesResponse,
    ListShareLinksResponse,
)
_P = TypeVar("_P")


class AsyncPage(Generic[_R, _P]):
    """A page, and the way to the next one."""

    response: _R
    """The page as it came."""

    def __init__(self, response: _R, cursor: str | None, fetch: AsyncMethod[[str], _P]) -> None:
        self.response = response
        self._cursor = cursor
        self._fetch = fetch

    @property
    def page_info(self) -> PageInfo:
        return self.response.page_info

    @property
    def has_next_page(self) -> bool:
        # An older service may leave out what the contract asks for.
        page_info = getattr(self.response, "page_info", None)
        return bool(getattr(page_info, "has_next_page", False) and self.page_info.next_cursor)

    async def next_page(self) -> _P | None:
        """The page after this one; None after the last."""
        cursor = self.page_info.next_cursor if self.has_next_page else None
        if cursor is None:
            return None
        if cursor == self._cursor:
            raise RunyardError("The service gave the same page again.")
        return await self._fetch(cursor)


class AsyncRunPage(AsyncPage[ListRunsResponse, "AsyncRunPage"]):
    """A page of runs, and the way to the next one."""

    @property
    def runs(self) -> list[RunItem]:
        """Those of this page."""
        return self.response.runs

    async def iter_pages(self) -> AsyncIterator[AsyncRunPage]:
        """This page and those after it, each fetched when it is needed."""
        page: AsyncRunPage | None = self
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[RunItem]:
        async for page in self.iter_pages():
            for run in page.runs:
                yield run

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.runs)} runs, has_next_page={self.has_next_page})"


class AsyncEnvironmentPage(AsyncPage[ListEnvironmentsResponse, "AsyncEnvironmentPage"]):
    """A page of environments, and the way to the next one."""

    @property
    def environments(self) -> list[Environment]:
        """Those of this page."""
        return self.response.environments

    async def iter_pages(self) -> AsyncIterator[AsyncEnvironmentPage]:
        """This page and those after it, each fetched when it is needed."""
        page: AsyncEnvironmentPage | None = self
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[Environment]:
        async for page in self.iter_pages():
            for environment in page.environments:
                yield environment

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.environments)} environments, has_next_page={self.has_next_page})"


class AsyncSecretPage(AsyncPage[ListSecretsResponse, "AsyncSecretPage"]):
    """A page of secrets, and the way to the next one."""

    @property
    def secrets(self) -> list[Secret]:
        """Those of this page."""
        return self.response.secrets

    async def iter_pages(self) -> AsyncIterator[AsyncSecretPage]:
        """This page and those after it, each fetched when it is needed."""
        page: AsyncSecretPage | None = self
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[Secret]:
        async for page in self.iter_pages():
            for secret in page.secrets:
                yield secret

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.secrets)} secrets, has_next_page={self.has_next_page})"


class AsyncIdentityPage(AsyncPage[ListAgentIdentitiesResponse, "AsyncIdentityPage"]):
    """A page of identities, and the way to the next one."""

    @property
    def agents(self) -> list[AgentIdentity]:
        """Those of this page."""
        return self.response.agents

    async def iter_pages(self) -> AsyncIterator[AsyncIdentityPage]:
        """This page and those after it, each fetched when it is needed."""
        page: AsyncIdentityPage | None = self
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[AgentIdentity]:
        async for page in self.iter_pages():
            for identity in page.agents:
                yield identity

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.agents)} identities, has_next_page={self.has_next_page})"


class AsyncSchedulePage(AsyncPage[ListSchedulesResponse, "AsyncSchedulePage"]):
    """A page of schedules, and the way to the next one."""

    @property
    def schedules(self) -> list[ScheduledAgentItem]:
        """Those of this page."""
        return self.response.schedules

    async def iter_pages(self) -> AsyncIterator[AsyncSchedulePage]:
        """This page and those after it, each fetched when it is needed."""
        page: AsyncSchedulePage | None = self
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[ScheduledAgentItem]:
        async for page in self.iter_pages():
            for schedule in page.schedules:
                yield schedule

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.schedules)} schedules, has_next_page={self.has_next_page})"


class AsyncFiringPage(AsyncPage[ListFiringsResponse, "AsyncFiringPage"]):
    """A page of what a schedule did, and the way to the next one."""

    @property
    def firings(self) -> list[ScheduleFiring]:
        """Those of this page."""
        return self.response.firings

    async def iter_pages(self) -> AsyncIterator[AsyncFiringPage]:
        """This page and those after it, each fetched when it is needed."""
        page: AsyncFiringPage | None = self
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[ScheduleFiring]:
        async for page in self.iter_pages():
            for firing in page.firings:
                yield firing

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.firings)} firings, has_next_page={self.has_next_page})"


class AsyncConversationPage(AsyncPage[Conversation, "AsyncConversationPage"]):
    """A page of a conversation, and the way to the next one.

    Iterated, every step of every page, each whole: one that is longer than a page goes on in the next, under the same
    number.
    """

    @property
    def conversation_id(self) -> str:
        return self.response.conversation_id

    @property
    def run_ids(self) -> list[str]:
        """The runs that this page is of."""
        return self.response.run_ids

    @property
    def steps(self) -> list[ConversationStep]:
        """Those of this page."""
        return self.response.steps

    async def iter_pages(self) -> AsyncIterator[AsyncConversationPage]:
        """This page and those after it, each fetched when it is needed."""
        page: AsyncConversationPage | None = self
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[ConversationStep]:
        join = StepJoin()
        async for page in self.iter_pages():
            for step in page.steps:
                for whole in join.push(step):
                    yield whole
        for whole in join.end():
            yield whole

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.steps)} steps, has_next_page={self.has_next_page})"


class AsyncApiKeyPage(AsyncPage[ListApiKeysResponse, "AsyncApiKeyPage"]):
    """A page of API keys, and the way to the next one."""

    @property
    def api_keys(self) -> list[ApiKey]:
        """Those of this page."""
        return self.response.api_keys

    async def iter_pages(self) -> AsyncIterator[AsyncApiKeyPage]:
        """This page and those after it, each fetched when it is needed."""
        page: AsyncApiKeyPage | None = self
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[ApiKey]:
        async for page in self.iter_pages():
            for key in page.api_keys:
                yield key

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.api_keys)} keys, has_next_page={self.has_next_page})"


class AsyncPrincipalPage(AsyncPage[ListPrincipalsResponse, "AsyncPrincipalPage"]):
    """A page of people, and the way to the next one."""

    @property
    def principals(self) -> list[Principal]:
        """Those of this page."""
        return self.response.principals

    async def iter_pages(self) -> AsyncIterator[AsyncPrincipalPage]:
        """This page and those after it, each fetched when it is needed."""
        page: AsyncPrincipalPage | None = self
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[Principal]:
        async for page in self.iter_pages():
            for person in page.principals:
                yield person

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.principals)} people, has_next_page={self.has_next_page})"


class AsyncPoolPage(AsyncPage[ListPoolsResponse, "AsyncPoolPage"]):
    """A page of pools, and the way to the next one."""

    @property
    def pools(self) -> list[Pool]:
        """Those of this page."""
        return self.response.pools

    async def iter_pages(self) -> AsyncIterator[AsyncPoolPage]:
        """This page and those after it, each fetched when it is needed."""
        page: AsyncPoolPage | None = self
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[Pool]:
        async for page in self.iter_pages():
            for pool in page.pools:
                yield pool

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.pools)} pools, has_next_page={self.has_next_page})"


class AsyncAuditPage(AsyncPage[ListAuditLogResponse, "AsyncAuditPage"]):
    """A page of the audit log, and the way to the next one."""

    @property
    def entries(self) -> list[AuditEntry]:
        """Those of this page."""
        return self.response.entries

    async def iter_pages(self) -> AsyncIterator[AsyncAuditPage]:
        """This page and those after it, each fetched when it is needed."""
        page: AsyncAuditPage | None = self
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[AuditEntry]:
        async for page in self.iter_pages():
            for entry in page.entries:
                yield entry

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.entries)} entries, has_next_page={self.has_next_page})"


class AsyncWebhookPage(AsyncPage[ListWebhooksResponse, "AsyncWebhookPage"]):
    """A page of webhooks, and the way to the next one."""

    @property
    def webhooks(self) -> list[Webhook]:
        """Those of this page."""
        return self.response.webhooks

    async def iter_pages(self) -> AsyncIterator[AsyncWebhookPage]:
        """This page and those after it, each fetched when it is needed."""
        page: AsyncWebhookPage | None = self
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[Webhook]:
        async for page in self.iter_pages():
            for webhook in page.webhooks:
                yield webhook

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.webhooks)} webhooks, has_next_page={self.has_next_page})"


class AsyncWebhookDeliveryPage(AsyncPage[ListDeliveriesResponse, "AsyncWebhookDeliveryPage"]):
    """A page of what was sent to a webhook, and the way to the next one."""

    @property
    def deliveries(self) -> list[WebhookDelivery]:
        """Those of this page."""
        return self.response.deliveries

    async def iter_pages(self) -> AsyncIterator[AsyncWebhookDeliveryPage]:
        """This page and those after it, each fetched when it is needed."""
        page: AsyncWebhookDeliveryPage | None = self
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[WebhookDelivery]:
        async for page in self.iter_pages():
            for delivery in page.deliveries:
                yield delivery

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.deliveries)} deliveries, has_next_page={self.has_next_page})"


class AsyncTriggerPage(AsyncPage[ListTriggersResponse, "AsyncTriggerPage"]):
    """A page of triggers, and the way to the next one."""

    @property
    def triggers(self) -> list[Trigger]:
        """Those of this page."""
        return self.response.triggers

    async def iter_pages(self) -> AsyncIterator[AsyncTriggerPage]:
        """This page and those after it, each fetched when it is needed."""
        page: AsyncTriggerPage | None = self
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[Trigger]:
        async for page in self.iter_pages():
            for trigger in page.triggers:
                yield trigger

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.triggers)} triggers, has_next_page={self.has_next_page})"


class AsyncTriggerDeliveryPage(AsyncPage[ListTriggerDeliveriesResponse, "AsyncTriggerDeliveryPage"]):
    """A page of what came to a trigger, and the way to the next one."""

    @property
    def deliveries(self) -> list[TriggerDelivery]:
        """Those of this page."""
        return self.response.deliveries

    async def iter_pages(self) -> AsyncIterator[AsyncTriggerDeliveryPage]:
        """This page and those after it, each fetched when it is needed."""
        page: AsyncTriggerDeliveryPage | None = self
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[TriggerDelivery]:
        async for page in self.iter_pages():
            for delivery in page.deliveries:
                yield delivery

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.deliveries)} deliveries, has_next_page={self.has_next_page})"


class AsyncShareLinkPage(AsyncPage[ListShareLinksResponse, "AsyncShareLinkPage"]):
    """A page of links to a run, and the way to the next one."""

    @property
    def share_links(self) -> list[ShareLink]:
        """Those of this page."""
        return self.response.share_links

    async def iter_pages(self) -> AsyncIterator[AsyncShareLinkPage]:
        """This page and those after it, each fetched when it is needed."""
        page: AsyncShareLinkPage | None = self
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[ShareLink]:
        async for page in self.iter_pages():
            for share_link in page.share_links:
                yield share_link

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self.share_links)} share links, has_next_page={self.has_next_page})"
        )
