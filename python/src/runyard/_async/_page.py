"""Pages of lists."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

from .._errors import APIResponseValidationError, RunyardError
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
    ListWorkspaceFilesResponse,
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
    WorkspaceFileItem,
)


class _Response(Protocol):
    @property
    def page_info(self) -> PageInfo: ...


_R = TypeVar("_R", bound=_Response)
_T = TypeVar("_T")
_P = TypeVar("_P", bound="AsyncPage[Any, Any, Any]")


class AsyncPage(Generic[_R, _T, _P]):
    """A page, and the way to the next one. Iterated, what is in it and in all that follow."""

    response: _R
    """The page as it came."""

    _noun: ClassVar[str]
    """What it holds, as the field of the response is called."""

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

    async def iter_pages(self) -> AsyncIterator[_P]:
        """This page and those after it, each fetched when it is needed."""
        page = cast("_P | None", self)
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[_T]:
        async for page in self.iter_pages():
            for item in page._items:
                yield item

    @property
    def _items(self) -> list[_T]:
        items = self._found
        if items is None:
            message = (
                f"The answer does not fit {type(self.response).__name__}: it has no list of {self._noun}."
            )
            raise APIResponseValidationError(message, self.response)
        return items

    @property
    def _found(self) -> list[_T] | None:
        items: object = getattr(self.response, self._noun, None)
        return cast("list[_T]", items) if isinstance(items, list) else None

    def __repr__(self) -> str:
        items = self._found
        count = f"{'no' if items is None else len(items)} {self._noun.replace('_', ' ')}"
        return f"{type(self).__name__}({count}, has_next_page={self.has_next_page})"


class AsyncRunPage(AsyncPage[ListRunsResponse, RunItem, "AsyncRunPage"]):
    """A page of runs, and the way to the next one."""

    _noun = "runs"

    @property
    def runs(self) -> list[RunItem]:
        """Those of this page."""
        return self.response.runs


class AsyncEnvironmentPage(AsyncPage[ListEnvironmentsResponse, Environment, "AsyncEnvironmentPage"]):
    """A page of environments, and the way to the next one."""

    _noun = "environments"

    @property
    def environments(self) -> list[Environment]:
        """Those of this page."""
        return self.response.environments


class AsyncSecretPage(AsyncPage[ListSecretsResponse, Secret, "AsyncSecretPage"]):
    """A page of secrets, and the way to the next one."""

    _noun = "secrets"

    @property
    def secrets(self) -> list[Secret]:
        """Those of this page."""
        return self.response.secrets


class AsyncIdentityPage(AsyncPage[ListAgentIdentitiesResponse, AgentIdentity, "AsyncIdentityPage"]):
    """A page of identities, and the way to the next one."""

    _noun = "agents"

    @property
    def agents(self) -> list[AgentIdentity]:
        """Those of this page."""
        return self.response.agents


class AsyncSchedulePage(AsyncPage[ListSchedulesResponse, ScheduledAgentItem, "AsyncSchedulePage"]):
    """A page of schedules, and the way to the next one."""

    _noun = "schedules"

    @property
    def schedules(self) -> list[ScheduledAgentItem]:
        """Those of this page."""
        return self.response.schedules


class AsyncFiringPage(AsyncPage[ListFiringsResponse, ScheduleFiring, "AsyncFiringPage"]):
    """A page of what a schedule did, and the way to the next one."""

    _noun = "firings"

    @property
    def firings(self) -> list[ScheduleFiring]:
        """Those of this page."""
        return self.response.firings


class AsyncConversationPage(AsyncPage[Conversation, ConversationStep, "AsyncConversationPage"]):
    """A page of a conversation, and the way to the next one.

    Iterated, every step of every page, each whole: one that is longer than a page goes on in the next, under the same
    `id`.
    """

    _noun = "steps"

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

    async def __aiter__(self) -> AsyncIterator[ConversationStep]:
        join = StepJoin()
        async for page in self.iter_pages():
            for step in page.steps:
                for whole in join.push(step):
                    yield whole
        for whole in join.end():
            yield whole


class AsyncApiKeyPage(AsyncPage[ListApiKeysResponse, ApiKey, "AsyncApiKeyPage"]):
    """A page of API keys, and the way to the next one."""

    _noun = "api_keys"

    @property
    def api_keys(self) -> list[ApiKey]:
        """Those of this page."""
        return self.response.api_keys


class AsyncPrincipalPage(AsyncPage[ListPrincipalsResponse, Principal, "AsyncPrincipalPage"]):
    """A page of people, and the way to the next one."""

    _noun = "principals"

    @property
    def principals(self) -> list[Principal]:
        """Those of this page."""
        return self.response.principals


class AsyncPoolPage(AsyncPage[ListPoolsResponse, Pool, "AsyncPoolPage"]):
    """A page of pools, and the way to the next one."""

    _noun = "pools"

    @property
    def pools(self) -> list[Pool]:
        """Those of this page."""
        return self.response.pools


class AsyncAuditPage(AsyncPage[ListAuditLogResponse, AuditEntry, "AsyncAuditPage"]):
    """A page of the audit log, and the way to the next one."""

    _noun = "entries"

    @property
    def entries(self) -> list[AuditEntry]:
        """Those of this page."""
        return self.response.entries


class AsyncWebhookPage(AsyncPage[ListWebhooksResponse, Webhook, "AsyncWebhookPage"]):
    """A page of webhooks, and the way to the next one."""

    _noun = "webhooks"

    @property
    def webhooks(self) -> list[Webhook]:
        """Those of this page."""
        return self.response.webhooks


class AsyncWebhookDeliveryPage(
    AsyncPage[ListDeliveriesResponse, WebhookDelivery, "AsyncWebhookDeliveryPage"]
):
    """A page of what was sent to a webhook, and the way to the next one."""

    _noun = "deliveries"

    @property
    def deliveries(self) -> list[WebhookDelivery]:
        """Those of this page."""
        return self.response.deliveries


class AsyncTriggerPage(AsyncPage[ListTriggersResponse, Trigger, "AsyncTriggerPage"]):
    """A page of triggers, and the way to the next one."""

    _noun = "triggers"

    @property
    def triggers(self) -> list[Trigger]:
        """Those of this page."""
        return self.response.triggers


class AsyncTriggerDeliveryPage(
    AsyncPage[ListTriggerDeliveriesResponse, TriggerDelivery, "AsyncTriggerDeliveryPage"]
):
    """A page of what came to a trigger, and the way to the next one."""

    _noun = "deliveries"

    @property
    def deliveries(self) -> list[TriggerDelivery]:
        """Those of this page."""
        return self.response.deliveries


class AsyncShareLinkPage(AsyncPage[ListShareLinksResponse, ShareLink, "AsyncShareLinkPage"]):
    """A page of links to a run, and the way to the next one."""

    _noun = "share_links"

    @property
    def share_links(self) -> list[ShareLink]:
        """Those of this page."""
        return self.response.share_links


class AsyncWorkspaceFilePage(
    AsyncPage[ListWorkspaceFilesResponse, WorkspaceFileItem, "AsyncWorkspaceFilePage"]
):
    """A page of a folder of a run's workspace, and the way to the next one."""

    _noun = "files"

    @property
    def files(self) -> list[WorkspaceFileItem]:
        """Those of this page."""
        return self.response.files
