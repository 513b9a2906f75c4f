"""The published client of the wire format, every method of it, sync and async, with strict validation of answers."""

# pyright: basic
from __future__ import annotations

import inspect
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from oz_agent_sdk import AsyncOzAPI, NotFoundError, OzAPI

PROMPT = "```sh\nmkdir -p artifacts; echo x > artifacts/x.txt\n```"
YEARLY = {"name": "Yearly", "cron_schedule": "0 9 1 1 *", "prompt": "Do it."}
NOWHERE = "01980000-0000-7000-8000-000000000001"


async def settled(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


async def ended(agent: Any, run_id: str) -> Any:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        run = await settled(agent.runs.retrieve(run_id))
        if run.state in {"SUCCEEDED", "FAILED", "ERROR", "CANCELLED"} and not run.is_sandbox_running:
            return run
        await anyio.sleep(0.2)
    raise AssertionError("The run did not end.")


@pytest.fixture(params=[OzAPI, AsyncOzAPI])
async def agent(
    request: pytest.FixtureRequest, service: dict[str, str], anyio_backend: str
) -> AsyncIterator[Any]:
    client = request.param(
        base_url=service["RUNYARD_BASE_URL"],
        api_key=service["RUNYARD_API_KEY"],
        _strict_response_validation=True,
    )
    yield client.agent
    await settled(client.close())


@pytest.mark.anyio
async def test_runs(agent: Any) -> None:
    created = await settled(agent.run(prompt=PROMPT, title="By the published client"))
    run = await ended(agent, created.run_id)
    assert run.state == "SUCCEEDED"
    files = [artifact for artifact in run.artifacts if artifact.artifact_type == "FILE"]
    artifact = await settled(agent.get_artifact(files[0].data.artifact_uid))
    assert artifact.data.download_url
    listed = [item.run_id async for item in aiter_of(agent.runs.list(name=None, limit=5))]
    assert created.run_id in listed
    assert isinstance((await settled(agent.runs.list_handoff_attachments(created.run_id))).attachments, list)
    await settled(agent.runs.submit_followup(created.run_id, message=PROMPT))
    await ended(agent, created.run_id)

    other = await settled(agent.run(prompt="x", config={"worker_host": "nobody"}))
    # The body is a JSON string, which this client hands over as it came.
    assert json.loads(await settled(agent.runs.cancel(other.run_id))) == other.run_id
    with pytest.raises(NotFoundError):
        await settled(agent.runs.retrieve(NOWHERE))


async def aiter_of(pages: Any) -> AsyncIterator[Any]:
    """The items of all pages, whichever client has them."""
    if hasattr(pages, "__aiter__"):
        async for item in pages:
            yield item
    else:
        for item in pages:
            yield item


@pytest.mark.anyio
async def test_sessions_and_conversations(agent: Any) -> None:
    created = await settled(agent.run(prompt=PROMPT))
    run = await ended(agent, created.run_id)
    over = await settled(agent.sessions.check_redirect(run.session_id))
    assert over.conversation_id == run.conversation_id
    assert (await settled(agent.sessions.check_redirect(NOWHERE))).conversation_id is None
    assert (await settled(agent.conversations.check_redirect(run.conversation_id))).session_id is None
    sleeping = await settled(agent.run(prompt="```sh\nsleep 600\n```"))
    deadline = time.monotonic() + 60
    while (await settled(agent.runs.retrieve(sleeping.run_id))).state != "INPROGRESS":
        assert time.monotonic() < deadline
        await anyio.sleep(0.1)
    live = await settled(agent.runs.retrieve(sleeping.run_id))
    assert (await settled(agent.sessions.check_redirect(live.session_id))).conversation_id is None
    found = await settled(agent.conversations.check_redirect(live.conversation_id))
    assert found.session_id == live.session_id
    await settled(agent.runs.cancel(sleeping.run_id))
    assert (await settled(agent.conversations.check_redirect(NOWHERE))).session_id is None


@pytest.mark.anyio
async def test_schedules(agent: Any) -> None:
    schedules = agent.schedules
    made = await settled(schedules.create(**YEARLY, enabled=True))
    assert (await settled(schedules.retrieve(made.id))).history.next_run == made.history.next_run
    changed = await settled(schedules.update(made.id, **{**YEARLY, "name": "Changed"}, enabled=True))
    assert changed.name == "Changed"
    assert made.id in [one.id for one in (await settled(schedules.list())).schedules]
    assert not (await settled(schedules.pause(made.id))).enabled
    assert (await settled(schedules.resume(made.id))).enabled
    assert (await settled(schedules.delete(made.id))).success


@pytest.mark.anyio
async def test_identities(agent: Any) -> None:
    identities = agent.agent
    made = await settled(identities.create(name="Reviewer", prompt="Be brief."))
    assert (await settled(identities.get(made.uid))).name == "Reviewer"
    assert (await settled(identities.update(made.uid, prompt="Be briefer."))).prompt == "Be briefer."
    assert made.uid in [one.uid for one in (await settled(identities.list())).agents]
    created = await settled(
        agent.run(prompt="x", agent_identity_uid=made.uid, config={"worker_host": "nobody"})
    )
    assert (await settled(agent.runs.retrieve(created.run_id))).executor.uid == made.uid
    await settled(agent.runs.cancel(created.run_id))
    await settled(identities.delete(made.uid))


@pytest.mark.anyio
async def test_skills_and_environments(agent: Any) -> None:
    assert isinstance((await settled(agent.list())).agents, list)
    assert isinstance((await settled(agent.list_environments())).environments, list)
