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


@pytest.fixture(scope="session")
def service() -> Iterator[dict[str, str]]:
    """The environment that leads to a whole service of our own, one for all tests."""
    # `npm test` bundles the command and has its compiled code, else it is the sources.
    program = os.environ.get("RUNYARD_TEST_COMMAND", str(ROOT / "cli" / "bin" / "runyard.js"))
    kept = ("PATH", "HOME", "DOCKER_HOST", "NODE_COMPILE_CACHE")
    environment = {key: os.environ[key] for key in kept if key in os.environ}
    environment["XDG_CACHE_HOME"] = str(ROOT / "node_modules" / ".cache")
    with tempfile.TemporaryDirectory() as data:
        command = [str(NODE), program, "dev", "--json", "--port", "0", "--data-dir", data]
        with subprocess.Popen(
            [*command, "--sandbox", "bubblewrap"], stdout=subprocess.PIPE, text=True, env=environment
        ) as process:
            try:
                assert process.stdout is not None
                ready = process.stdout.readline()
                assert ready, "runyard dev did not start; see above"
                started = json.loads(ready)
                yield {"RUNYARD_BASE_URL": started["base_url"], "RUNYARD_API_KEY": started["api_key"]}
            finally:
                process.terminate()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
