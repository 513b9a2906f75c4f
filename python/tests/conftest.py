# pyright: basic
from __future__ import annotations

import json
import os
import subprocess
import tempfile
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


@pytest.fixture(scope="module")
def service() -> Iterator[dict[str, str]]:
    """The environment that leads to a whole service of our own."""
    program = [str(NODE), str(ROOT / "cli" / "bin" / "runyard.js")]
    bare = {key: os.environ[key] for key in ("PATH", "HOME", "DOCKER_HOST") if key in os.environ}
    with tempfile.TemporaryDirectory() as data:
        command = [*program, "dev", "--json", "--port", "0", "--data-dir", data]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=bare) as process:
            try:
                assert process.stdout is not None
                ready = process.stdout.readline()
                assert ready, "runyard dev did not start; see above"
                started = json.loads(ready)
                yield {
                    **bare,
                    "RUNYARD_BASE_URL": started["base_url"],
                    "RUNYARD_API_KEY": started["api_key"],
                }
            finally:
                process.terminate()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
