"""Lists: what the two trees do differently."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import Any, Generic, TypeVar

from ._async._page import (
    AsyncApiKeyPage,
    AsyncAuditPage,
    AsyncConversationPage,
    AsyncEnvironmentPage,
    AsyncFiringPage,
    AsyncIdentityPage,
    AsyncPage,
    AsyncPoolPage,
    AsyncPrincipalPage,
    AsyncRunPage,
    AsyncSchedulePage,
    AsyncSecretPage,
    AsyncShareLinkPage,
    AsyncTriggerDeliveryPage,
    AsyncTriggerPage,
    AsyncWebhookDeliveryPage,
    AsyncWebhookPage,
    AsyncWorkspaceFilePage,
)
from ._models import (
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
from ._sync._page import (
    ApiKeyPage,
    AuditPage,
    ConversationPage,
    EnvironmentPage,
    FiringPage,
    IdentityPage,
    Page,
    PoolPage,
    PrincipalPage,
    RunPage,
    SchedulePage,
    SecretPage,
    ShareLinkPage,
    TriggerDeliveryPage,
    TriggerPage,
    WebhookDeliveryPage,
    WebhookPage,
    WorkspaceFilePage,
)

_R = TypeVar("_R", bound=Any)
_T = TypeVar("_T")
_AsyncP = TypeVar("_AsyncP", bound=AsyncPage[Any, Any, Any])
_P = TypeVar("_P", bound=Page[Any, Any, Any])


class _AsyncList(Generic[_AsyncP, _T]):
    """A list that has not been asked for yet."""

    def __init__(self, first: Callable[[], Awaitable[_AsyncP]]) -> None:
        self._first = first

    def __await__(self) -> Generator[object, object, _AsyncP]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[_T]:
        async for item in await self._first():
            yield item

    async def iter_pages(self) -> AsyncIterator[_AsyncP]:
        """Page by page."""
        async for page in (await self._first()).iter_pages():
            yield page


class _FirstPage(Page[_R, _T, _P]):
    """The first page of a list, which is asked for at once."""

    def __init__(self, first: Callable[[], Page[_R, _T, _P]]) -> None:
        page = first()
        super().__init__(page.response, page._cursor, page._fetch)


class AsyncRunList(_AsyncList[AsyncRunPage, RunItem]):
    """A list of runs that has not been asked for yet.

    Awaited, it is the first page; iterated, every run of every page, each page fetched when it is needed.
    """


class AsyncEnvironmentList(_AsyncList[AsyncEnvironmentPage, Environment]):
    """A list of environments that has not been asked for yet.

    Awaited, it is the first page; iterated, every environment of every page, each page fetched when it is needed.
    """


class AsyncSecretList(_AsyncList[AsyncSecretPage, Secret]):
    """A list of secrets that has not been asked for yet.

    Awaited, it is the first page; iterated, every secret of every page, each page fetched when it is needed.
    """


class AsyncIdentityList(_AsyncList[AsyncIdentityPage, AgentIdentity]):
    """A list of identities that has not been asked for yet.

    Awaited, it is the first page; iterated, every identity of every page, each page fetched when it is needed.
    """


class AsyncScheduleList(_AsyncList[AsyncSchedulePage, ScheduledAgentItem]):
    """A list of schedules that has not been asked for yet.

    Awaited, it is the first page; iterated, every schedule of every page, each page fetched when it is needed.
    """


class AsyncFiringList(_AsyncList[AsyncFiringPage, ScheduleFiring]):
    """A list of firings that has not been asked for yet.

    Awaited, it is the first page; iterated, every firing of every page, each page fetched when it is needed.
    """


class AsyncConversationPages(_AsyncList[AsyncConversationPage, ConversationStep]):
    """A conversation that has not been asked for yet.

    Awaited, it is the first page; iterated, every step of every page, each whole.
    """


class AsyncApiKeyList(_AsyncList[AsyncApiKeyPage, ApiKey]):
    """A list of API keys that has not been asked for yet.

    Awaited, it is the first page; iterated, every key of every page, each page fetched when it is needed.
    """


class AsyncPrincipalList(_AsyncList[AsyncPrincipalPage, Principal]):
    """A list of people that has not been asked for yet.

    Awaited, it is the first page; iterated, every person of every page, each page fetched when it is needed.
    """


class AsyncPoolList(_AsyncList[AsyncPoolPage, Pool]):
    """A list of pools that has not been asked for yet.

    Awaited, it is the first page; iterated, every pool of every page, each page fetched when it is needed.
    """


class AsyncAuditList(_AsyncList[AsyncAuditPage, AuditEntry]):
    """Entries of the audit log that have not been asked for yet.

    Awaited, it is the first page; iterated, every entry of every page, each page fetched when it is needed.
    """


class AsyncWebhookList(_AsyncList[AsyncWebhookPage, Webhook]):
    """A list of webhooks that has not been asked for yet.

    Awaited, it is the first page; iterated, every webhook of every page, each page fetched when it is needed.
    """


class AsyncWebhookDeliveryList(_AsyncList[AsyncWebhookDeliveryPage, WebhookDelivery]):
    """A list of deliveries that has not been asked for yet.

    Awaited, it is the first page; iterated, every delivery of every page, each page fetched when it is needed.
    """


class AsyncTriggerList(_AsyncList[AsyncTriggerPage, Trigger]):
    """A list of triggers that has not been asked for yet.

    Awaited, it is the first page; iterated, every trigger of every page, each page fetched when it is needed.
    """


class AsyncTriggerDeliveryList(_AsyncList[AsyncTriggerDeliveryPage, TriggerDelivery]):
    """A list of deliveries that has not been asked for yet.

    Awaited, it is the first page; iterated, every delivery of every page, each page fetched when it is needed.
    """


class AsyncShareLinkList(_AsyncList[AsyncShareLinkPage, ShareLink]):
    """A list of links to a run that has not been asked for yet.

    Awaited, it is the first page; iterated, every link of every page, each page fetched when it is needed.
    """


class AsyncWorkspaceFileList(_AsyncList[AsyncWorkspaceFilePage, WorkspaceFileItem]):
    """A folder of a run's workspace that has not been asked for yet.

    Awaited, it is the first page; iterated, every file of every page, each page fetched when it is needed.
    """


class RunList(_FirstPage[ListRunsResponse, RunItem, RunPage], RunPage):
    """The first page of a list of runs. Iterated, every run of every page, each page fetched when it is needed."""


class EnvironmentList(_FirstPage[ListEnvironmentsResponse, Environment, EnvironmentPage], EnvironmentPage):
    """The first page of a list of environments. Iterated, every environment of every page."""


class SecretList(_FirstPage[ListSecretsResponse, Secret, SecretPage], SecretPage):
    """The first page of a list of secrets. Iterated, every secret of every page."""


class IdentityList(_FirstPage[ListAgentIdentitiesResponse, AgentIdentity, IdentityPage], IdentityPage):
    """The first page of a list of identities. Iterated, every identity of every page."""


class ScheduleList(_FirstPage[ListSchedulesResponse, ScheduledAgentItem, SchedulePage], SchedulePage):
    """The first page of a list of schedules. Iterated, every schedule of every page."""


class FiringList(_FirstPage[ListFiringsResponse, ScheduleFiring, FiringPage], FiringPage):
    """The first page of a list of firings. Iterated, every firing of every page."""


class ConversationPages(_FirstPage[Conversation, ConversationStep, ConversationPage], ConversationPage):
    """The first page of a conversation. Iterated, every step of every page, each whole."""


class PrincipalList(_FirstPage[ListPrincipalsResponse, Principal, PrincipalPage], PrincipalPage):
    """The first page of a list of people. Iterated, every person of every page."""


class PoolList(_FirstPage[ListPoolsResponse, Pool, PoolPage], PoolPage):
    """The first page of a list of pools. Iterated, every pool of every page."""


class ApiKeyList(_FirstPage[ListApiKeysResponse, ApiKey, ApiKeyPage], ApiKeyPage):
    """The first page of a list of API keys. Iterated, every key of every page."""


class AuditList(_FirstPage[ListAuditLogResponse, AuditEntry, AuditPage], AuditPage):
    """The first page of the audit log. Iterated, every entry of every page."""


class WebhookList(_FirstPage[ListWebhooksResponse, Webhook, WebhookPage], WebhookPage):
    """The first page of a list of webhooks. Iterated, every webhook of every page."""


class WebhookDeliveryList(
    _FirstPage[ListDeliveriesResponse, WebhookDelivery, WebhookDeliveryPage], WebhookDeliveryPage
):
    """The first page of a list of deliveries. Iterated, every delivery of every page."""


class TriggerList(_FirstPage[ListTriggersResponse, Trigger, TriggerPage], TriggerPage):
    """The first page of a list of triggers. Iterated, every trigger of every page."""


class TriggerDeliveryList(
    _FirstPage[ListTriggerDeliveriesResponse, TriggerDelivery, TriggerDeliveryPage], TriggerDeliveryPage
):
    """The first page of a list of deliveries. Iterated, every delivery of every page."""


class ShareLinkList(_FirstPage[ListShareLinksResponse, ShareLink, ShareLinkPage], ShareLinkPage):
    """The first page of a list of links to a run. Iterated, every link of every page."""


class WorkspaceFileList(
    _FirstPage[ListWorkspaceFilesResponse, WorkspaceFileItem, WorkspaceFilePage], WorkspaceFilePage
):
    """The first page of a folder of a run's workspace. Iterated, every file of every page."""
