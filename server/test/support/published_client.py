"""Calls every method of a published Python client, sync and async, with strict validation of answers.

Takes PACKAGE CLASS BASE_URL API_KEY WORLD. Prints `{"sync": {"agent.run": "served", …}, "async": {…}}`. A refused
method has the error's status and code; a method whose answer does not parse, or is wrong, has the reason.
"""

import importlib
import inspect
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import anyio

package, class_name, base_url, api_key, world_json = sys.argv[1:]
sdk = importlib.import_module(package)
# The run that did everything, its environment and its artifacts.
world: dict[str, str] = json.loads(world_json)
NOWHERE = "01980000-0000-7000-8000-000000000001"
NOBODY = {"worker_host": "nobody"}
SLEEPS = json.dumps([["bash", {"command": "sleep 600"}]])
YEARLY = {"name": "Yearly", "cron_schedule": "0 9 1 1 *", "prompt": "Do it."}

Check = Callable[[Any], Awaitable[None]]
CHECKS: dict[str, Check] = {}


def check(*names: str) -> Callable[[Check], Check]:
    def add(function: Check) -> Check:
        CHECKS.update(dict.fromkeys(names, function))
        return function

    return add


def methods_of(resource: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every method of every resource of a client, by its dotted name."""
    for name in dir(type(resource)):
        if name.startswith(("_", "with_")):
            continue
        if inspect.isfunction(inspect.getattr_static(type(resource), name)):
            if path:
                yield ".".join((*path, name)), getattr(resource, name)
        elif ".resources." in type(part := getattr(resource, name)).__module__:
            yield from methods_of(part, (*path, name))


async def settled(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


async def items_of(pages: Any) -> list[Any]:
    if hasattr(pages, "__aiter__"):
        return [item async for item in pages]
    return list(pages)


async def waiting_run(client: Any) -> str:
    created = await settled(client.agent.run(prompt="[]", config=NOBODY))
    return created.run_id


async def working_run(client: Any) -> Any:
    created = await settled(client.agent.run(prompt=SLEEPS))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        run = await settled(client.agent.runs.retrieve(created.run_id))
        if run.state == "INPROGRESS":
            return run
        await anyio.sleep(0.1)
    raise AssertionError("The run did not begin.")


async def bytes_of(answer: Any) -> bytes:
    return await settled(answer.read())


# Runs


@check("agent.run")
async def run(client: Any) -> None:
    created = await settled(
        client.agent.run(prompt="[]", title="Told", config=NOBODY, metadata={"team": "red"}, mode="normal")
    )
    assert (created.state, created.at_capacity) == ("QUEUED", True), created
    assert (await settled(client.agent.runs.retrieve(created.run_id))).metadata == {"team": "red"}


@check("agent.runs.retrieve")
async def runs_retrieve(client: Any) -> None:
    run = await settled(client.agent.runs.retrieve(world["run_id"]))
    assert (run.state, run.title, run.source) == ("SUCCEEDED", world["title"], "API"), run
    kinds = {item.artifact_type for item in run.artifacts}
    assert kinds == {"PLAN", "PULL_REQUEST", "SCREENSHOT", "FILE", "EXTERNAL_REFERENCE"}, kinds
    data = {item.artifact_type: item.data for item in run.artifacts}
    pull = data["PULL_REQUEST"]
    assert (pull.url, pull.status, bool(pull.branch)) == (world["pull_url"], "open", True), pull
    assert data["EXTERNAL_REFERENCE"].url == world["reference_url"], data
    assert (run.started_at or run.created_at) <= run.updated_at
    assert run.request_usage.inference_cost is not None, run.request_usage
    try:
        await settled(client.agent.runs.retrieve(NOWHERE))
    except sdk.NotFoundError:
        return
    raise AssertionError("An unknown run was found.")


@check("agent.runs.list")
async def runs_list(client: Any) -> None:
    run_ids = [item.run_id for item in await items_of(client.agent.runs.list(limit=1))]
    assert len(run_ids) == len(set(run_ids)) > 1
    assert world["run_id"] in run_ids
    only = client.agent.runs.list(
        artifact_type="PULL_REQUEST", state=["SUCCEEDED"], source="API", q=world["title"]
    )
    assert [item.run_id for item in await items_of(only)] == [world["run_id"]]


@check("agent.runs.cancel")
async def runs_cancel(client: Any) -> None:
    run_id = await waiting_run(client)
    # The body is a JSON string, which these clients hand over as it came.
    assert json.loads(await settled(client.agent.runs.cancel(run_id))) == run_id
    assert (await settled(client.agent.runs.retrieve(run_id))).state == "CANCELLED"


@check("agent.runs.get_timeline")
async def runs_get_timeline(client: Any) -> None:
    events = (await settled(client.agent.runs.get_timeline(world["run_id"]))).events
    types = [event.event_type for event in events]
    assert types[0] == "oz_run_created", types
    assert types.index("oz_run_claimed") < types.index("agent_started") < types.index("oz_run_done"), types
    assert {event.run_id for event in events} == {world["run_id"]}
    times = [event.occurred_at for event in events]
    assert times == sorted(times), times
    assert len({event.event_uuid for event in events}) == len(events)


@check("agent.runs.get_harness_usage")
async def runs_get_harness_usage(client: Any) -> None:
    usage = await settled(client.agent.runs.get_harness_usage(world["run_id"]))
    assert (usage.run_id, usage.conversation_id) == (world["run_id"], world["conversation_id"]), usage
    # The built-in loop is no agent of its own that counts.
    assert (usage.available, usage.usage) == (False, None), usage


def assert_conversation(answer: Any) -> None:
    assert answer.conversation_id == world["conversation_id"]
    messages = [message for step in answer.steps for message in step.messages]
    blocks = [block for message in messages for block in message.content]
    [first, *_] = messages
    assert (first.role, first.content[0].text) == ("user", world["prompt"]), first
    actions = {block.id: block for block in blocks if block.type == "action"}
    results = {block.action_id: block for block in blocks if block.type == "action_result"}
    assert len(actions) >= 5, actions
    assert actions.keys() == results.keys(), (actions, results)
    [command, *_] = [block for block in actions.values() if block.category == "command"]
    assert "echo" in command.input["command"], command
    assert {result.state for result in results.values()} == {"completed"}, results
    assert "written" in json.dumps(results[command.id].output), results[command.id]
    assert any(block.type == "text" and block.text == "Done." for block in blocks)
    assert len({step.id for step in answer.steps}) == len(answer.steps)


@check("agent.runs.get_conversation")
async def runs_get_conversation(client: Any) -> None:
    assert_conversation(await settled(client.agent.runs.get_conversation(world["run_id"])))


@check("agent.runs.get_transcript")
async def runs_get_transcript(client: Any) -> None:
    assert b"Done." in await bytes_of(await settled(client.agent.runs.get_transcript(world["run_id"])))


@check("agent.runs.interrupt")
async def runs_interrupt(client: Any) -> None:
    run = await working_run(client)
    await settled(client.agent.runs.interrupt(run.run_id))
    await settled(client.agent.runs.cancel(run.run_id))


@check("agent.runs.list_handoff_attachments")
async def runs_list_handoff_attachments(client: Any) -> None:
    [workspace] = (await settled(client.agent.runs.list_handoff_attachments(world["run_id"]))).attachments
    assert (workspace.filename, workspace.mime_type) == ("workspace.tar.zst", "application/zstd"), workspace


def outcome_of(answer: Any) -> str:
    """The older client leaves the answer open."""
    return answer["outcome"] if isinstance(answer, dict) else answer.outcome


@check("agent.runs.submit_followup")
async def runs_submit_followup(client: Any) -> None:
    run_id = await waiting_run(client)
    answer = await settled(client.agent.runs.submit_followup(run_id, message="And then?"))
    assert outcome_of(answer) == "queued_prompt", answer
    await settled(client.agent.runs.cancel(run_id))


# Conversations and sessions


@check("agent.conversations.retrieve")
async def conversations_retrieve(client: Any) -> None:
    assert_conversation(await settled(client.agent.conversations.retrieve(world["conversation_id"])))


@check("agent.conversations.check_redirect", "agent.sessions.check_redirect")
async def check_redirect(client: Any) -> None:
    over = await settled(client.agent.sessions.check_redirect(world["session_id"]))
    assert over.conversation_id == world["conversation_id"]
    assert (await settled(client.agent.conversations.check_redirect(over.conversation_id))).session_id is None
    assert (await settled(client.agent.conversations.check_redirect(NOWHERE))).session_id is None
    live = await working_run(client)
    assert (await settled(client.agent.sessions.check_redirect(live.session_id))).conversation_id is None
    found = await settled(client.agent.conversations.check_redirect(live.conversation_id))
    assert found.session_id == live.session_id
    await settled(client.agent.runs.cancel(live.run_id))


@check("agent.conversations.download_screenshot")
async def conversations_download_screenshot(client: Any) -> None:
    uid = world["SCREENSHOT"]
    answer = await settled(
        client.agent.conversations.download_screenshot(uid, conversation_id=world["conversation_id"])
    )
    assert (await bytes_of(answer)).startswith(b"\x89PNG")


@check("agent.conversations.get_transcript")
async def conversations_get_transcript(client: Any) -> None:
    answer = await settled(client.agent.conversations.get_transcript(world["conversation_id"]))
    assert b"Done." in await bytes_of(answer)


@check("agent.conversations.interrupt")
async def conversations_interrupt(client: Any) -> None:
    run = await working_run(client)
    answer = await settled(client.agent.conversations.interrupt(run.conversation_id))
    assert answer.run_id == run.run_id
    await settled(client.agent.runs.cancel(run.run_id))


@check("agent.conversations.submit_followup")
async def conversations_submit_followup(client: Any) -> None:
    run = await settled(client.agent.runs.retrieve(await waiting_run(client)))
    answer = await settled(
        client.agent.conversations.submit_followup(run.conversation_id, message="And then?")
    )
    assert (answer.run_id, answer.outcome) == (run.run_id, "queued_prompt"), answer
    await settled(client.agent.runs.cancel(run.run_id))


# Artifacts, and what there is to run with


@check("agent.get_artifact")
async def get_artifact(client: Any) -> None:
    file = await settled(client.agent.get_artifact(world["FILE"]))
    assert (file.artifact_type, file.data.filename, file.data.content_type) == (
        "FILE",
        "r.txt",
        "text/plain",
    ), file
    shot = await settled(client.agent.get_artifact(world["SCREENSHOT"]))
    assert (shot.artifact_type, shot.data.content_type) == ("SCREENSHOT", "image/png"), shot
    plan = await settled(client.agent.get_artifact(world["PLAN"]))
    assert (plan.artifact_type, "Read it" in plan.data.content) == ("PLAN", True), plan
    # The older client does not know them.
    if "source_links" in type(file).model_fields:
        assert file.source_links.pull_request_urls == [world["pull_url"]], file


@check("agent.download_artifact")
async def download_artifact(client: Any) -> None:
    uid = world["FILE"]
    assert await bytes_of(await settled(client.agent.download_artifact(uid))) == b"written\n"


@check("agent.get_run_by_external_reference")
async def get_run_by_external_reference(client: Any) -> None:
    found = await settled(client.agent.get_run_by_external_reference(url=world["reference_url"]))
    assert found.run_id == world["run_id"]
    try:
        await settled(client.agent.get_run_by_external_reference(url="https://nowhere.example/1"))
    except sdk.NotFoundError:
        return
    raise AssertionError("An unknown address was found.")


@check("agent.list")
async def list_skills(client: Any) -> None:
    skills = (await settled(client.agent.list())).agents
    [skill] = [skill for skill in skills if skill.name == "notes"]
    [variant] = skill.variants
    assert (variant.description, variant.source.name) == ("Writes notes.", "site"), variant
    assert [environment.uid for environment in variant.environments] == [world["environment_id"]]


@check("agent.list_environments")
async def list_environments(client: Any) -> None:
    environments = (await settled(client.agent.list_environments())).environments
    [found] = [one for one in environments if one.uid == world["environment_id"]]
    assert (found.config.name, found.setup_failed) == ("site", False), found
    if "last_task_created" in type(found).model_fields:
        assert found.last_task_created.id == world["run_id"], found


@check("agent.list_models")
async def list_models(client: Any) -> None:
    answer = await settled(client.agent.list_models())
    assert answer.default_model_id == "openai/scripted", answer
    [model] = [model for model in answer.models if model.id == answer.default_model_id]
    assert (model.provider, isinstance(model.vision_supported, bool)) == ("OPENAI", True), model


@check("networking.get_egress_ranges")
async def get_egress_ranges(client: Any) -> None:
    assert isinstance((await settled(client.networking.get_egress_ranges())).cidrs, list)


# Identities and schedules


@check(
    "agent.agent.create", "agent.agent.delete", "agent.agent.get", "agent.agent.list", "agent.agent.update"
)
async def identities(client: Any) -> None:
    identities = client.agent.agent
    made = await settled(identities.create(name="Reviewer", prompt="Be brief."))
    assert (await settled(identities.get(made.uid))).name == "Reviewer"
    assert (await settled(identities.update(made.uid, prompt="Be briefer."))).prompt == "Be briefer."
    assert made.uid in [one.uid for one in (await settled(identities.list())).agents]
    created = await settled(client.agent.run(prompt="[]", agent_identity_uid=made.uid, config=NOBODY))
    assert (await settled(client.agent.runs.retrieve(created.run_id))).executor.uid == made.uid
    await settled(client.agent.runs.cancel(created.run_id))
    await settled(identities.delete(made.uid))
    assert made.uid not in [one.uid for one in (await settled(identities.list())).agents]


SCHEDULES = ("create", "delete", "list", "pause", "resume", "retrieve", "update")


@check(*(f"agent.schedules.{name}" for name in SCHEDULES))
async def schedules(client: Any) -> None:
    schedules = client.agent.schedules
    made = await settled(schedules.create(**YEARLY, enabled=True))
    assert (await settled(schedules.retrieve(made.id))).history.next_run == made.history.next_run
    changed = await settled(schedules.update(made.id, **{**YEARLY, "name": "Changed"}, enabled=True))
    assert changed.name == "Changed"
    assert made.id in [one.id for one in (await settled(schedules.list())).schedules]
    assert not (await settled(schedules.pause(made.id))).enabled
    assert (await settled(schedules.resume(made.id))).enabled
    assert (await settled(schedules.delete(made.id))).success


async def call_anyhow(method: Any) -> None:
    required = [
        p for p in inspect.signature(method).parameters.values() if p.default is inspect.Parameter.empty
    ]
    await settled(method(**{p.name: [] if p.name == "files" else NOWHERE for p in required}))


async def outcome_of_call(call: Callable[[], Awaitable[None]]) -> str:
    try:
        await call()
    except sdk.APIStatusError as error:
        body = error.body if isinstance(error.body, dict) else {}
        return f"{error.status_code} {body.get('error_code', error.message)}"
    except Exception as error:
        return f"{type(error).__name__}: {error} {error.__cause__ or ''}"[:2000]
    return "served"


async def outcomes(client_class: Any) -> dict[str, str]:
    client = client_class(base_url=base_url, api_key=api_key, _strict_response_validation=True)
    methods = dict(methods_of(client))
    results: dict[str, str] = {}
    # Some checks are those of several methods.
    for function in dict.fromkeys(CHECKS.values()):
        names = [name for name in methods if CHECKS.get(name) is function]
        if names:
            results |= dict.fromkeys(names, await outcome_of_call(partial(function, client)))
    for name, method in methods.items():
        # Factories are refused whatever is sent.
        if name.startswith("factories."):
            results[name] = await outcome_of_call(partial(call_anyhow, method))
    await settled(client.close())
    return {name: results.get(name, "no check") for name in methods}


async def main() -> None:
    classes = {"sync": getattr(sdk, class_name), "async": getattr(sdk, f"Async{class_name}")}
    print(json.dumps({mode: await outcomes(client_class) for mode, client_class in classes.items()}))


anyio.run(main)
