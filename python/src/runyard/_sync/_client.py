# Generated from _async/_client.py by scripts/unasync.py; do not edit.
"""The client."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import TracebackType

import httpx
from typing_extensions import Self

from .._http_client import DefaultHttpClient
from .._log import setup_logging
from .._query import Query
from .._settings import Settings, create_settings
from ._api_keys import ApiKeys
from ._artifacts import Artifacts
from ._audit_log import AuditLog
from ._conversations import Conversations
from ._endpoints import (
    Endpoints,
    EndpointsWithRawResponse,
    EndpointsWithStreamingResponse,
)
from ._environments import Environments
from ._files import Files
from ._grants import Grants
from ._identities import Identities
from ._models import Models
from ._networking import Networking
from ._pools import Pools
from ._principals import Principals
from ._repositories import Repositories
from ._runs import Runs
from ._schedules import Schedules
from ._secrets import Secrets
from ._sessions import Sessions
from ._settings import SettingsResource
from ._share_links import ShareLinks
from ._sign_in_links import SignInLinks
from ._skills import Skills
from ._transport import Transport
from ._triggers import Triggers
from ._usage import UsageResource
from ._webhooks import Webhooks
from ._workers import Workers


class Runyard(Endpoints):
    """A connection to a Runyard service.

        with Runyard() as client:
            run = client.runs.create_and_wait(prompt="Fix the failing test.")

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

    runs: Runs
    conversations: Conversations
    sessions: Sessions
    schedules: Schedules
    triggers: Triggers
    environments: Environments
    secrets: Secrets
    skills: Skills
    models: Models
    artifacts: Artifacts
    files: Files
    networking: Networking
    api_keys: ApiKeys
    identities: Identities
    principals: Principals
    pools: Pools
    grants: Grants
    usage: UsageResource
    share_links: ShareLinks
    sign_in_links: SignInLinks
    audit_log: AuditLog
    webhooks: Webhooks
    repositories: Repositories
    settings: SettingsResource
    workers: Workers

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
        default_headers: Mapping[str, str] | None = None,
        default_query: Query | None = None,
        http_client: httpx.Client | None = None,
        webhook_secret: str | None = None,
    ) -> None:
        setup_logging()
        settings = create_settings(api_key, base_url, timeout, max_retries, default_headers, default_query)
        self._owned = DefaultHttpClient() if http_client is None else None
        http = http_client or self._owned
        assert http is not None
        self._webhook_secret = webhook_secret or os.environ.get("RUNYARD_WEBHOOK_SECRET")
        self._use(Transport(settings, http))

    def _use(self, transport: Transport) -> None:
        self._transport = transport
        self.runs = Runs(transport)
        self.conversations = Conversations(transport)
        self.sessions = Sessions(transport)
        self.schedules = Schedules(transport)
        self.triggers = Triggers(transport)
        self.environments = Environments(transport)
        self.secrets = Secrets(transport)
        self.skills = Skills(transport)
        self.models = Models(transport)
        self.artifacts = Artifacts(transport)
        self.files = Files(transport)
        self.networking = Networking(transport)
        self.api_keys = ApiKeys(transport)
        self.identities = Identities(transport)
        self.principals = Principals(transport)
        self.pools = Pools(transport)
        self.grants = Grants(transport)
        self.usage = UsageResource(transport)
        self.share_links = ShareLinks(transport)
        self.sign_in_links = SignInLinks(transport)
        self.audit_log = AuditLog(transport)
        self.webhooks = Webhooks(transport, self._webhook_secret)
        self.repositories = Repositories(transport)
        self.settings = SettingsResource(transport)
        self.workers = Workers(transport)

    @property
    def base_url(self) -> str:
        """With `/api/v1`, without a slash at the end."""
        return self._transport.settings.base_url

    @property
    def with_raw_response(self) -> EndpointsWithRawResponse:
        """`get`, `post`, … returning status and headers as well."""
        return EndpointsWithRawResponse(self._transport)

    @property
    def with_streaming_response(self) -> EndpointsWithStreamingResponse:
        """`get`, `post`, … as context managers, with a body that is not read yet."""
        return EndpointsWithStreamingResponse(self._transport)

    def with_options(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
        default_headers: Mapping[str, str] | None = None,
        default_query: Query | None = None,
        http_client: httpx.Client | None = None,
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
        client._use(Transport(settings, http_client or self._transport.http))
        return client

    copy = with_options

    def close(self) -> None:
        """Closes the connections, unless they are those of an `http_client` that was given."""
        if self._owned:
            self._owned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base_url={self.base_url!r})"
