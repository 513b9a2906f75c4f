"""Lists: what the two trees do differently."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import TYPE_CHECKING

from ._async._page import (
    AsyncApiKeyPage,
    AsyncAuditPage,
    AsyncConversationPage,
    AsyncEnvironmentPage,
    AsyncFiringPage,
    AsyncIdentityPage,
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
)
from ._sync._page import (
    ApiKeyPage,
    AuditPage,
    ConversationPage,
    EnvironmentPage,
    FiringPage,
    IdentityPage,
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
)

if TYPE_CHECKING:
    from ._models import (
        AgentIdentity,
        ApiKey,
        AuditEntry,
        ConversationStep,
        Environment,
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


class AsyncRunList:
    """A list of runs that has not been asked for yet.

    Awaited, it is the first page; iterated, every run of every page, each page fetched when it is needed.
    """

    def __init__(self, first: Callable[[], Awaitable[AsyncRunPage]]) -> None:
        self._first = first

    def __await__(self) -> Generator[object, object, AsyncRunPage]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[RunItem]:
        async for run in await self._first():
            yield run

    async def iter_pages(self) -> AsyncIterator[AsyncRunPage]:
        """Page by page."""
        async for page in (await self._first()).iter_pages():
            yield page


class AsyncEnvironmentList:
    """A list of environments that has not been asked for yet.

    Awaited, it is the first page; iterated, every environment of every page, each page fetched when it is needed.
    """

    def __init__(self, first: Callable[[], Awaitable[AsyncEnvironmentPage]]) -> None:
        self._first = first

    def __await__(self) -> Generator[object, object, AsyncEnvironmentPage]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[Environment]:
        async for environment in await self._first():
            yield environment

    async def iter_pages(self) -> AsyncIterator[AsyncEnvironmentPage]:
        """Page by page."""
        async for page in (await self._first()).iter_pages():
            yield page


class AsyncSecretList:
    """A list of secrets that has not been asked for yet.

    Awaited, it is the first page; iterated, every secret of every page, each page fetched when it is needed.
    """

    def __init__(self, first: Callable[[], Awaitable[AsyncSecretPage]]) -> None:
        self._first = first

    def __await__(self) -> Generator[object, object, AsyncSecretPage]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[Secret]:
        async for secret in await self._first():
            yield secret

    async def iter_pages(self) -> AsyncIterator[AsyncSecretPage]:
        """Page by page."""
        async for page in (await self._first()).iter_pages():
            yield page


class AsyncIdentityList:
    """A list of identities that has not been asked for yet.

    Awaited, it is the first page; iterated, every identity of every page, each page fetched when it is needed.
    """

    def __init__(self, first: Callable[[], Awaitable[AsyncIdentityPage]]) -> None:
        self._first = first

    def __await__(self) -> Generator[object, object, AsyncIdentityPage]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[AgentIdentity]:
        async for identity in await self._first():
            yield identity

    async def iter_pages(self) -> AsyncIterator[AsyncIdentityPage]:
        """Page by page."""
        async for page in (await self._first()).iter_pages():
            yield page


class AsyncScheduleList:
    """A list of schedules that has not been asked for yet.

    Awaited, it is the first page; iterated, every schedule of every page, each page fetched when it is needed.
    """

    def __init__(self, first: Callable[[], Awaitable[AsyncSchedulePage]]) -> None:
        self._first = first

    def __await__(self) -> Generator[object, object, AsyncSchedulePage]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[ScheduledAgentItem]:
        async for schedule in await self._first():
            yield schedule

    async def iter_pages(self) -> AsyncIterator[AsyncSchedulePage]:
        """Page by page."""
        async for page in (await self._first()).iter_pages():
            yield page


class AsyncFiringList:
    """A list of firings that has not been asked for yet.

    Awaited, it is the first page; iterated, every firing of every page, each page fetched when it is needed.
    """

    def __init__(self, first: Callable[[], Awaitable[AsyncFiringPage]]) -> None:
        self._first = first

    def __await__(self) -> Generator[object, object, AsyncFiringPage]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[ScheduleFiring]:
        async for firing in await self._first():
            yield firing

    async def iter_pages(self) -> AsyncIterator[AsyncFiringPage]:
        """Page by page."""
        async for page in (await self._first()).iter_pages():
            yield page


class AsyncConversationPages:
    """A conversation that has not been asked for yet.

    Awaited, it is the first page; iterated, every step of every page, each whole.
    """

    def __init__(self, first: Callable[[], Awaitable[AsyncConversationPage]]) -> None:
        self._first = first

    def __await__(self) -> Generator[object, object, AsyncConversationPage]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[ConversationStep]:
        async for step in await self._first():
            yield step

    async def iter_pages(self) -> AsyncIterator[AsyncConversationPage]:
        """Page by page."""
        async for page in (await self._first()).iter_pages():
            yield page


class RunList(RunPage):
    """The first page of a list of runs. Iterated, every run of every page, each page fetched when it is needed."""

    def __init__(self, first: Callable[[], RunPage]) -> None:
        page = first()
        super().__init__(page.response, page._cursor, page._fetch)


class EnvironmentList(EnvironmentPage):
    """The first page of a list of environments. Iterated, every environment of every page."""

    def __init__(self, first: Callable[[], EnvironmentPage]) -> None:
        page = first()
        super().__init__(page.response, page._cursor, page._fetch)


class SecretList(SecretPage):
    """The first page of a list of secrets. Iterated, every secret of every page."""

    def __init__(self, first: Callable[[], SecretPage]) -> None:
        page = first()
        super().__init__(page.response, page._cursor, page._fetch)


class IdentityList(IdentityPage):
    """The first page of a list of identities. Iterated, every identity of every page."""

    def __init__(self, first: Callable[[], IdentityPage]) -> None:
        page = first()
        super().__init__(page.response, page._cursor, page._fetch)


class ScheduleList(SchedulePage):
    """The first page of a list of schedules. Iterated, every schedule of every page."""

    def __init__(self, first: Callable[[], SchedulePage]) -> None:
        page = first()
        super().__init__(page.response, page._cursor, page._fetch)


class FiringList(FiringPage):
    """The first page of a list of firings. Iterated, every firing of every page."""

    def __init__(self, first: Callable[[], FiringPage]) -> None:
        page = first()
        super().__init__(page.response, page._cursor, page._fetch)


class ConversationPages(ConversationPage):
    """The first page of a conversation. Iterated, every step of every page, each whole."""

    def __init__(self, first: Callable[[], ConversationPage]) -> None:
        page = first()
        super().__init__(page.response, page._cursor, page._fetch)


class AsyncApiKeyList:
    """A list of API keys that has not been asked for yet.

    Awaited, it is the first page; iterated, every key of every page, each page fetched when it is needed.
    """

    def __init__(self, first: Callable[[], Awaitable[AsyncApiKeyPage]]) -> None:
        self._first = first

    def __await__(self) -> Generator[object, object, AsyncApiKeyPage]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[ApiKey]:
        async for key in await self._first():
            yield key

    async def iter_pages(self) -> AsyncIterator[AsyncApiKeyPage]:
        """Page by page."""
        async for page in (await self._first()).iter_pages():
            yield page


class AsyncPrincipalList:
    """A list of people that has not been asked for yet.

    Awaited, it is the first page; iterated, every person of every page, each page fetched when it is needed.
    """

    def __init__(self, first: Callable[[], Awaitable[AsyncPrincipalPage]]) -> None:
        self._first = first

    def __await__(self) -> Generator[object, object, AsyncPrincipalPage]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[Principal]:
        async for person in await self._first():
            yield person

    async def iter_pages(self) -> AsyncIterator[AsyncPrincipalPage]:
        """Page by page."""
        async for page in (await self._first()).iter_pages():
            yield page


class PrincipalList(PrincipalPage):
    """The first page of a list of people. Iterated, every person of every page."""

    def __init__(self, first: Callable[[], PrincipalPage]) -> None:
        page = first()
        super().__init__(page.response, page._cursor, page._fetch)


class AsyncPoolList:
    """A list of pools that has not been asked for yet.

    Awaited, it is the first page; iterated, every pool of every page, each page fetched when it is needed.
    """

    def __init__(self, first: Callable[[], Awaitable[AsyncPoolPage]]) -> None:
        self._first = first

    def __await__(self) -> Generator[object, object, AsyncPoolPage]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[Pool]:
        async for pool in await self._first():
            yield pool

    async def iter_pages(self) -> AsyncIterator[AsyncPoolPage]:
        """Page by page."""
        async for page in (await self._first()).iter_pages():
            yield page


class PoolList(PoolPage):
    """The first page of a list of pools. Iterated, every pool of every page."""

    def __init__(self, first: Callable[[], PoolPage]) -> None:
        page = first()
        super().__init__(page.response, page._cursor, page._fetch)


class AsyncAuditList:
    """Entries of the audit log that have not been asked for yet.

    Awaited, it is the first page; iterated, every entry of every page, each page fetched when it is needed.
    """

    def __init__(self, first: Callable[[], Awaitable[AsyncAuditPage]]) -> None:
        self._first = first

    def __await__(self) -> Generator[object, object, AsyncAuditPage]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[AuditEntry]:
        async for entry in await self._first():
            yield entry

    async def iter_pages(self) -> AsyncIterator[AsyncAuditPage]:
        """Page by page."""
        async for page in (await self._first()).iter_pages():
            yield page


class ApiKeyList(ApiKeyPage):
    """The first page of a list of API keys. Iterated, every key of every page."""

    def __init__(self, first: Callable[[], ApiKeyPage]) -> None:
        page = first()
        super().__init__(page.response, page._cursor, page._fetch)


class AuditList(AuditPage):
    """The first page of the audit log. Iterated, every entry of every page."""

    def __init__(self, first: Callable[[], AuditPage]) -> None:
        page = first()
        super().__init__(page.response, page._cursor, page._fetch)


class AsyncWebhookList:
    """A list of webhooks that has not been asked for yet.

    Awaited, it is the first page; iterated, every webhook of every page, each page fetched when it is needed.
    """

    def __init__(self, first: Callable[[], Awaitable[AsyncWebhookPage]]) -> None:
        self._first = first

    def __await__(self) -> Generator[object, object, AsyncWebhookPage]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[Webhook]:
        async for webhook in await self._first():
            yield webhook

    async def iter_pages(self) -> AsyncIterator[AsyncWebhookPage]:
        """Page by page."""
        async for page in (await self._first()).iter_pages():
            yield page


class AsyncWebhookDeliveryList:
    """A list of deliveries that has not been asked for yet.

    Awaited, it is the first page; iterated, every delivery of every page, each page fetched when it is needed.
    """

    def __init__(self, first: Callable[[], Awaitable[AsyncWebhookDeliveryPage]]) -> None:
        self._first = first

    def __await__(self) -> Generator[object, object, AsyncWebhookDeliveryPage]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[WebhookDelivery]:
        async for delivery in await self._first():
            yield delivery

    async def iter_pages(self) -> AsyncIterator[AsyncWebhookDeliveryPage]:
        """Page by page."""
        async for page in (await self._first()).iter_pages():
            yield page


class WebhookList(WebhookPage):
    """The first page of a list of webhooks. Iterated, every webhook of every page."""

    def __init__(self, first: Callable[[], WebhookPage]) -> None:
        page = first()
        super().__init__(page.response, page._cursor, page._fetch)


class WebhookDeliveryList(WebhookDeliveryPage):
    """The first page of a list of deliveries. Iterated, every delivery of every page."""

    def __init__(self, first: Callable[[], WebhookDeliveryPage]) -> None:
        page = first()
        super().__init__(page.response, page._cursor, page._fetch)


class AsyncTriggerList:
    """A list of triggers that has not been asked for yet.

    Awaited, it is the first page; iterated, every trigger of every page, each page fetched when it is needed.
    """

    def __init__(self, first: Callable[[], Awaitable[AsyncTriggerPage]]) -> None:
        self._first = first

    def __await__(self) -> Generator[object, object, AsyncTriggerPage]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[Trigger]:
        async for trigger in await self._first():
            yield trigger

    async def iter_pages(self) -> AsyncIterator[AsyncTriggerPage]:
        """Page by page."""
        async for page in (await self._first()).iter_pages():
            yield page


class AsyncTriggerDeliveryList:
    """A list of deliveries that has not been asked for yet.

    Awaited, it is the first page; iterated, every delivery of every page, each page fetched when it is needed.
    """

    def __init__(self, first: Callable[[], Awaitable[AsyncTriggerDeliveryPage]]) -> None:
        self._first = first

    def __await__(self) -> Generator[object, object, AsyncTriggerDeliveryPage]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[TriggerDelivery]:
        async for delivery in await self._first():
            yield delivery

    async def iter_pages(self) -> AsyncIterator[AsyncTriggerDeliveryPage]:
        """Page by page."""
        async for page in (await self._first()).iter_pages():
            yield page


class TriggerList(TriggerPage):
    """The first page of a list of triggers. Iterated, every trigger of every page."""

    def __init__(self, first: Callable[[], TriggerPage]) -> None:
        page = first()
        super().__init__(page.response, page._cursor, page._fetch)


class TriggerDeliveryList(TriggerDeliveryPage):
    """The first page of a list of deliveries. Iterated, every delivery of every page."""

    def __init__(self, first: Callable[[], TriggerDeliveryPage]) -> None:
        page = first()
        super().__init__(page.response, page._cursor, page._fetch)


class AsyncShareLinkList:
    """A list of links to a run that has not been asked for yet.

    Awaited, it is the first page; iterated, every link of every page, each page fetched when it is needed.
    """

    def __init__(self, first: Callable[[], Awaitable[AsyncShareLinkPage]]) -> None:
        self._first = first

    def __await__(self) -> Generator[object, object, AsyncShareLinkPage]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[ShareLink]:
        async for share_link in await self._first():
            yield share_link

    async def iter_pages(self) -> AsyncIterator[AsyncShareLinkPage]:
        """Page by page."""
        async for page in (await self._first()).iter_pages():
            yield page


class ShareLinkList(ShareLinkPage):
    """The first page of a list of links to a run. Iterated, every link of every page."""

    def __init__(self, first: Callable[[], ShareLinkPage]) -> None:
        page = first()
        super().__init__(page.response, page._cursor, page._fetch)
