# Generated from _async/_page.py by scripts/unasync.py; do not edit.
"""Pages of lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from .._errors import RunyardError
from .._join_steps import StepJoin
from .._method import Method
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


class Page(Generic[_R, _P]):
    """A page, and the way to the next one."""

    response: _R
    """The page as it came."""

    def __init__(self, response: _R, cursor: str | None, fetch: Method[[str], _P]) -> None:
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

    def next_page(self) -> _P | None:
        """The page after this one; None after the last."""
        cursor = self.page_info.next_cursor if self.has_next_page else None
        if cursor is None:
            return None
        if cursor == self._cursor:
            raise RunyardError("The service gave the same page again.")
        return self._fetch(cursor)


class RunPage(Page[ListRunsResponse, "RunPage"]):
    """A page of runs, and the way to the next one."""

    @property
    def runs(self) -> list[RunItem]:
        """Those of this page."""
        return self.response.runs

    def iter_pages(self) -> Iterator[RunPage]:
        """This page and those after it, each fetched when it is needed."""
        page: RunPage | None = self
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[RunItem]:
        for page in self.iter_pages():
            for run in page.runs:
                yield run

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.runs)} runs, has_next_page={self.has_next_page})"


class EnvironmentPage(Page[ListEnvironmentsResponse, "EnvironmentPage"]):
    """A page of environments, and the way to the next one."""

    @property
    def environments(self) -> list[Environment]:
        """Those of this page."""
        return self.response.environments

    def iter_pages(self) -> Iterator[EnvironmentPage]:
        """This page and those after it, each fetched when it is needed."""
        page: EnvironmentPage | None = self
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[Environment]:
        for page in self.iter_pages():
            for environment in page.environments:
                yield environment

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.environments)} environments, has_next_page={self.has_next_page})"


class SecretPage(Page[ListSecretsResponse, "SecretPage"]):
    """A page of secrets, and the way to the next one."""

    @property
    def secrets(self) -> list[Secret]:
        """Those of this page."""
        return self.response.secrets

    def iter_pages(self) -> Iterator[SecretPage]:
        """This page and those after it, each fetched when it is needed."""
        page: SecretPage | None = self
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[Secret]:
        for page in self.iter_pages():
            for secret in page.secrets:
                yield secret

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.secrets)} secrets, has_next_page={self.has_next_page})"


class IdentityPage(Page[ListAgentIdentitiesResponse, "IdentityPage"]):
    """A page of identities, and the way to the next one."""

    @property
    def agents(self) -> list[AgentIdentity]:
        """Those of this page."""
        return self.response.agents

    def iter_pages(self) -> Iterator[IdentityPage]:
        """This page and those after it, each fetched when it is needed."""
        page: IdentityPage | None = self
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[AgentIdentity]:
        for page in self.iter_pages():
            for identity in page.agents:
                yield identity

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.agents)} identities, has_next_page={self.has_next_page})"


class SchedulePage(Page[ListSchedulesResponse, "SchedulePage"]):
    """A page of schedules, and the way to the next one."""

    @property
    def schedules(self) -> list[ScheduledAgentItem]:
        """Those of this page."""
        return self.response.schedules

    def iter_pages(self) -> Iterator[SchedulePage]:
        """This page and those after it, each fetched when it is needed."""
        page: SchedulePage | None = self
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[ScheduledAgentItem]:
        for page in self.iter_pages():
            for schedule in page.schedules:
                yield schedule

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.schedules)} schedules, has_next_page={self.has_next_page})"


class FiringPage(Page[ListFiringsResponse, "FiringPage"]):
    """A page of what a schedule did, and the way to the next one."""

    @property
    def firings(self) -> list[ScheduleFiring]:
        """Those of this page."""
        return self.response.firings

    def iter_pages(self) -> Iterator[FiringPage]:
        """This page and those after it, each fetched when it is needed."""
        page: FiringPage | None = self
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[ScheduleFiring]:
        for page in self.iter_pages():
            for firing in page.firings:
                yield firing

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.firings)} firings, has_next_page={self.has_next_page})"


class ConversationPage(Page[Conversation, "ConversationPage"]):
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

    def iter_pages(self) -> Iterator[ConversationPage]:
        """This page and those after it, each fetched when it is needed."""
        page: ConversationPage | None = self
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[ConversationStep]:
        join = StepJoin()
        for page in self.iter_pages():
            for step in page.steps:
                for whole in join.push(step):
                    yield whole
        for whole in join.end():
            yield whole

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.steps)} steps, has_next_page={self.has_next_page})"


class ApiKeyPage(Page[ListApiKeysResponse, "ApiKeyPage"]):
    """A page of API keys, and the way to the next one."""

    @property
    def api_keys(self) -> list[ApiKey]:
        """Those of this page."""
        return self.response.api_keys

    def iter_pages(self) -> Iterator[ApiKeyPage]:
        """This page and those after it, each fetched when it is needed."""
        page: ApiKeyPage | None = self
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[ApiKey]:
        for page in self.iter_pages():
            for key in page.api_keys:
                yield key

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.api_keys)} keys, has_next_page={self.has_next_page})"


class PrincipalPage(Page[ListPrincipalsResponse, "PrincipalPage"]):
    """A page of people, and the way to the next one."""

    @property
    def principals(self) -> list[Principal]:
        """Those of this page."""
        return self.response.principals

    def iter_pages(self) -> Iterator[PrincipalPage]:
        """This page and those after it, each fetched when it is needed."""
        page: PrincipalPage | None = self
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[Principal]:
        for page in self.iter_pages():
            for person in page.principals:
                yield person

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.principals)} people, has_next_page={self.has_next_page})"


class PoolPage(Page[ListPoolsResponse, "PoolPage"]):
    """A page of pools, and the way to the next one."""

    @property
    def pools(self) -> list[Pool]:
        """Those of this page."""
        return self.response.pools

    def iter_pages(self) -> Iterator[PoolPage]:
        """This page and those after it, each fetched when it is needed."""
        page: PoolPage | None = self
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[Pool]:
        for page in self.iter_pages():
            for pool in page.pools:
                yield pool

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.pools)} pools, has_next_page={self.has_next_page})"


class AuditPage(Page[ListAuditLogResponse, "AuditPage"]):
    """A page of the audit log, and the way to the next one."""

    @property
    def entries(self) -> list[AuditEntry]:
        """Those of this page."""
        return self.response.entries

    def iter_pages(self) -> Iterator[AuditPage]:
        """This page and those after it, each fetched when it is needed."""
        page: AuditPage | None = self
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[AuditEntry]:
        for page in self.iter_pages():
            for entry in page.entries:
                yield entry

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.entries)} entries, has_next_page={self.has_next_page})"


class WebhookPage(Page[ListWebhooksResponse, "WebhookPage"]):
    """A page of webhooks, and the way to the next one."""

    @property
    def webhooks(self) -> list[Webhook]:
        """Those of this page."""
        return self.response.webhooks

    def iter_pages(self) -> Iterator[WebhookPage]:
        """This page and those after it, each fetched when it is needed."""
        page: WebhookPage | None = self
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[Webhook]:
        for page in self.iter_pages():
            for webhook in page.webhooks:
                yield webhook

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.webhooks)} webhooks, has_next_page={self.has_next_page})"


class WebhookDeliveryPage(Page[ListDeliveriesResponse, "WebhookDeliveryPage"]):
    """A page of what was sent to a webhook, and the way to the next one."""

    @property
    def deliveries(self) -> list[WebhookDelivery]:
        """Those of this page."""
        return self.response.deliveries

    def iter_pages(self) -> Iterator[WebhookDeliveryPage]:
        """This page and those after it, each fetched when it is needed."""
        page: WebhookDeliveryPage | None = self
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[WebhookDelivery]:
        for page in self.iter_pages():
            for delivery in page.deliveries:
                yield delivery

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.deliveries)} deliveries, has_next_page={self.has_next_page})"


class TriggerPage(Page[ListTriggersResponse, "TriggerPage"]):
    """A page of triggers, and the way to the next one."""

    @property
    def triggers(self) -> list[Trigger]:
        """Those of this page."""
        return self.response.triggers

    def iter_pages(self) -> Iterator[TriggerPage]:
        """This page and those after it, each fetched when it is needed."""
        page: TriggerPage | None = self
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[Trigger]:
        for page in self.iter_pages():
            for trigger in page.triggers:
                yield trigger

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.triggers)} triggers, has_next_page={self.has_next_page})"


class TriggerDeliveryPage(Page[ListTriggerDeliveriesResponse, "TriggerDeliveryPage"]):
    """A page of what came to a trigger, and the way to the next one."""

    @property
    def deliveries(self) -> list[TriggerDelivery]:
        """Those of this page."""
        return self.response.deliveries

    def iter_pages(self) -> Iterator[TriggerDeliveryPage]:
        """This page and those after it, each fetched when it is needed."""
        page: TriggerDeliveryPage | None = self
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[TriggerDelivery]:
        for page in self.iter_pages():
            for delivery in page.deliveries:
                yield delivery

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.deliveries)} deliveries, has_next_page={self.has_next_page})"


class ShareLinkPage(Page[ListShareLinksResponse, "ShareLinkPage"]):
    """A page of links to a run, and the way to the next one."""

    @property
    def share_links(self) -> list[ShareLink]:
        """Those of this page."""
        return self.response.share_links

    def iter_pages(self) -> Iterator[ShareLinkPage]:
        """This page and those after it, each fetched when it is needed."""
        page: ShareLinkPage | None = self
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[ShareLink]:
        for page in self.iter_pages():
            for share_link in page.share_links:
                yield share_link

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self.share_links)} share links, has_next_page={self.has_next_page})"
        )
