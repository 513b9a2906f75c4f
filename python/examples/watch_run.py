"""Starts a run with the prompt on the command line and prints what happens in it: watch_run.py PROMPT"""

from __future__ import annotations

import sys

from runyard import (
    ErrorEvent,
    MessageAssistantEvent,
    RunStateEvent,
    Runyard,
    ToolCallEvent,
    ToolOutputEvent,
)


def main(prompt: str) -> int:
    with Runyard() as client:
        created = client.runs.create(prompt=prompt)
        print(f"run {created.run_id}")
        with client.runs.stream(created.run_id) as events:
            for event in events:
                if isinstance(event, RunStateEvent):
                    print(f"[{event.data.state}]")
                elif isinstance(event, ToolCallEvent):
                    print(f"> {event.data.title or event.data.name}")
                elif isinstance(event, ToolOutputEvent):
                    print(event.data.text, end="", flush=True)
                elif isinstance(event, MessageAssistantEvent):
                    print(event.data.text)
                elif isinstance(event, ErrorEvent):
                    print(event.data.message, file=sys.stderr)
        return 0 if client.runs.retrieve(created.run_id).state == "SUCCEEDED" else 1


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:]) or "```sh\nuname -a\n```"))
