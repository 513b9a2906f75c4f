# pyright: basic
from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NODE = ROOT / "node_modules" / ".bin" / "node"


@pytest.fixture(scope="session")
def fault_server() -> Iterator[str]:
    """The address of the scripted server that both libraries are tested against."""
    command = [str(NODE), str(ROOT / "client" / "test" / "fault-server.ts")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        url: str = json.loads(process.stdout.readline())["url"]
        yield url
        # It ends when its stdin closes.
        process.stdin.close()
        process.wait(timeout=10)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
