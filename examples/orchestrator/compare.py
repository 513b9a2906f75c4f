"""An orchestrator: compare.py TASK_FILE ENVIRONMENT MODEL… has every model do one task, and compares what they changed.

A first run says what a good change must do. The models' runs are its children, each in a sandbox of its own, and all at
once. At the end the first run gets the diffs as a follow-up and says which it would take.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import anyio

from runyard import AsyncRunyard, MessageAssistantEvent

BRIEF = """\
Several agents will be given the task below. Read the code and say in a few sentences what a good change must do, and
how to tell that it works. Change nothing yourself.

{task}
"""
JUDGE = "These are the diffs of the agents. Say which one to take and why. Change nothing.\n\n{diffs}"


@dataclass
class Attempt:
    model: str
    state: str
    summary: str
    patch: str


async def last_words(client: AsyncRunyard, run_id: str) -> str:
    words = ""
    async for event in client.runs.stream(run_id):
        if isinstance(event, MessageAssistantEvent):
            words = event.data.text
    return words


async def attempt(client: AsyncRunyard, prompt: str, model: str, environment: str, parent: str) -> Attempt:
    run = await client.runs.create_and_wait(
        prompt=prompt,
        parent_run_id=parent,
        config={"name": "compare", "model_id": model, "environment_id": environment},
        # A model that fails is a finding, not the end of the comparison.
        raise_on_failure=False,
    )
    diff = await client.runs.diff(run.run_id)
    patch = await client.artifacts.download(diff.patch.artifact_uid) if diff.patch else b""
    summary = f"{diff.files_changed} files, +{diff.additions} -{diff.deletions}"
    return Attempt(model, run.state, summary, patch.decode(errors="replace"))


async def main(task_file: str, environment: str, models: list[str]) -> int:
    task = await anyio.Path(task_file).read_text()
    attempts: list[Attempt] = []
    async with AsyncRunyard() as client:
        brief = await client.runs.create_and_wait(
            prompt=BRIEF.format(task=task), config={"name": "brief", "environment_id": environment}
        )
        prompt = f"{task}\n\nA colleague adds:\n\n{await last_words(client, brief.run_id)}"

        async def add(model: str) -> None:
            attempts.append(await attempt(client, prompt, model, environment, brief.run_id))

        async with anyio.create_task_group() as tasks:
            for model in models:
                tasks.start_soon(add, model)
        attempts.sort(key=lambda one: models.index(one.model))
        for one in attempts:
            same = [other.model for other in attempts if other.patch == one.patch and other is not one]
            alike = f", the same as {' and '.join(same)}" if same else ""
            print(f"{one.model}: {one.state}, {one.summary}{alike}")

        diffs = "\n\n".join(f"From {one.model} ({one.state}):\n\n{one.patch}" for one in attempts)
        await client.runs.followup(brief.run_id, message=JUDGE.format(diffs=diffs))
        await client.runs.wait(brief.run_id)
        print(f"\n{await last_words(client, brief.run_id)}")
    return 0 if any(one.state == "SUCCEEDED" for one in attempts) else 1


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(f"usage: {Path(__file__).name} TASK_FILE ENVIRONMENT MODEL…")
    sys.exit(anyio.run(main, sys.argv[1], sys.argv[2], sys.argv[3:]))
