"""Asks for a run for each line of standard input, at most eight at a time, and prints how they ended."""

from __future__ import annotations

import sys

import anyio

from runyard import AsyncRunyard, RunyardError

AT_ONCE = 8


async def main() -> None:
    limit = anyio.Semaphore(AT_ONCE)

    async with AsyncRunyard() as client, anyio.create_task_group() as tasks:

        async def ask(prompt: str) -> None:
            async with limit:
                try:
                    run = await client.runs.create_and_wait(prompt=prompt, raise_on_failure=False)
                    print(f"{run.state}\t{run.session_link}\t{prompt}")
                except RunyardError as error:
                    print(f"not run: {error}\t{prompt}", file=sys.stderr)

        for line in sys.stdin:
            if line.strip():
                tasks.start_soon(ask, line.strip())


if __name__ == "__main__":
    anyio.run(main)
