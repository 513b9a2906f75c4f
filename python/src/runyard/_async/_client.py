"""The client."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import TracebackType

import httpx
from typing_extensions import Self

from .._http_client import AsyncDefaultHttpClient
from .._log import setup_logging
from .._query import Query
from .._settings import Settings, create_settings
from ._api_keys import AsyncApiKeys
from ._artifacts import AsyncArtifacts
from ._audit_log import AsyncAuditLog
from ._conversations import AsyncConversations
from ._endpoints import (
    AsyncEndpoints,
    AsyncEndpointsWithRawResponse,
    AsyncEndpointsWithStreamingResponse,
)
from ._environments import AsyncEnvironments
from ._files import AsyncFiles
from ._grants import AsyncGrants
from ._identities import AsyncIdentities
from ._models import AsyncModels
from ._networking import AsyncNetworking
from ._pools import AsyncPools
from ._principals import AsyncPrincipals
from ._repositories import AsyncRepositories
from ._runs import AsyncRuns
from ._schedules import AsyncSchedules
from ._secrets import AsyncSecrets
from ._sessions import AsyncSessions
from ._settings import AsyncSettingsResource
from ._share_links import AsyncShareLinks
from ._sign_in_links import AsyncSignInLinks
from ._skills import AsyncSkills
from ._transport import AsyncTransport
from ._triggers import AsyncTriggers
from ._usage import AsyncUsageResource
from ._webhooks import AsyncWebhooks
from ._workers import AsyncWorkers


class AsyncRunyard(AsyncEndpoints):
    """A connection to a Runyard service.

        async with AsyncRunyard() as client:
            run = await client.runs.create_and_wait(prompt="Fix the failing test.")

    Parameters:
        api_key: default: the environment variable RUNYARD_API_KEY.
        base_url: address of the service, with or without `/api/v1`. Default: RUNYARD_BASE_URL, then
            http://127.0.0.1:4200.
        timeout: seconds for each attempt of a request, its body included; default 60, `math.inf` is no limit.
            Connecting takes at most 5.
        max_retries: how often a request is repeated after an error that may pass; default 2.
        default_headers: sent with every request.
        default_query: added to the query of every request.
        http_client: what sends the requests, with its own proxies, certificates and limits. The caller closes it.
        webhook_secret: for `webhooks.unwrap`; default: RUNYARD_WEBHOOK_SECRET.
    """

    runs: AsyncRuns
    conversations: AsyncConversations
    sessions: AsyncSessions
    schedules: AsyncSchedules
    triggers: AsyncTriggers
    environments: AsyncEnvironments
    secrets: AsyncSecrets
    skills: AsyncSkills
    models: AsyncModels
    artifacts: AsyncArtifacts
    files: AsyncFiles
    networking: AsyncNetworking
    api_keys: AsyncApiKeys
    identities: AsyncIdentities
    principals: AsyncPrincipals
    pools: AsyncPools
    grants: AsyncGrants
    usage: AsyncUsageResource
    share_links: AsyncShareLinks
    sign_in_links: AsyncSignInLinks
    audit_log: AsyncAuditLog
    webhooks: AsyncWebhooks
    repositories: AsyncRepositories
    settings: AsyncSettingsResource
    workers: AsyncWorkers

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
        default_headers: Mapping[str, str] | None = None,
        default_query: Query | None = None,
        http_client: httpx.AsyncClient | None = None,
        webhook_secret: str | None = None,
    ) -> None:
        setup_logging()
        settings = create_settings(api_key, base_url, timeout, max_retries, default_headers, default_query)
        self._owned = AsyncDefaultHttpClient() if http_client is None else None
        http = http_client or self._owned
        assert http is not None
        self._webhook_secret = webhook_secret or os.environ.get("RUNYARD_WEBHOOK_SECRET")
        self._use(AsyncTransport(settings, http))

    def _use(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self.runs = AsyncRuns(transport)
        self.conversations = AsyncConversations(transport)
        self.sessions = AsyncSessions(transport)
        self.schedules = AsyncSchedules(transport)
        self.triggers = AsyncTriggers(transport)
        self.environments = AsyncEnvironments(transport)
        self.secrets = AsyncSecrets(transport)
        self.skills = AsyncSkills(transport)
        self.models = AsyncModels(transport)
        self.artifacts = AsyncArtifacts(transport)
        self.files = AsyncFiles(transport)
        self.networking = AsyncNetworking(transport)
        self.api_keys = AsyncApiKeys(transport)
        self.identities = AsyncIdentities(transport)
        self.principals = AsyncPrincipals(transport)
        self.pools = AsyncPools(transport)
        self.grants = AsyncGrants(transport)
        self.usage = AsyncUsageResource(transport)
        self.share_links = AsyncShareLinks(transport)
        self.sign_in_links = AsyncSignInLinks(transport)
        self.audit_log = AsyncAuditLog(transport)
        self.webhooks = AsyncWebhooks(transport, self._webhook_secret)
        self.repositories = AsyncRepositories(transport)
        self.settings = AsyncSettingsResource(transport)
        self.workers = AsyncWorkers(transport)

    @property
    def base_url(self) -> str:
        """With `/api/v1`, without a slash at the end."""
        return self._transport.settings.base_url

    @property
    def with_raw_response(self) -> AsyncEndpointsWithRawResponse:
        """`get`, `post`, … returning status and headers as well."""
        return AsyncEndpointsWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> AsyncEndpointsWithStreamingResponse:
        """`get`, `post`, … as context managers, with a body that is not read yet."""
        return AsyncEndpointsWithStreamingResponse(self._transport)

    def with_options(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
        default_headers: Mapping[str, str] | None = None,
        default_query: Query | None = None,
        http_client: httpx.AsyncClient | None = None,
        webhook_secret: str | None = None,
    ) -> Self:
        """A client with these options instead. It shares the connections of this one, which is the one to close."""
        now: Settings = self._transport.settings
        settings = create_settings(
            now.api_key if api_key is None else api_key,
            now.base_url if base_url is None else base_url,
            now.timeout if timeout is None else timeout,
            now.max_retries if max_retries is None else max_retries,
            now.headers if default_headers is None else default_headers,
            now.query if default_query is None else default_query,
        )
        client = self.__class__.__new__(self.__class__)
        client._owned = None
        client._webhook_secret = webhook_secret or self._webhook_secret
        client._use(AsyncTransport(settings, http_client or self._transport.http))
        return client

    copy = with_options

    async def aclose(self) -> None:
        """Closes the connections, unless they are those of an `http_client` that was given."""
        if self._owned:
            await self._owned.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_url={self.base_url!r})"
