"""What the README and the examples show: correct in every type, and run against a service unless it says why not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
ROOT = PROJECT.parent
BLOCK = re.compile(r"^(<!-- types only: .* -->\n)?```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS: list[tuple[str, str]] = BLOCK.findall((PROJECT / "README.md").read_text("utf-8"))


def run(code: str | Path, environment: dict[str, str], stdin: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", *(["-c", code] if isinstance(code, str) else [code])],
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_readme_passes_strict_types(tmp_path: Path) -> None:
    assert len(BLOCKS) > 5
    for number, (_, code) in enumerate(BLOCKS):
        (tmp_path / f"readme_{number}.py").write_text(code, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", PROJECT / "pyproject.toml", *tmp_path.iterdir()],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "code", [pytest.param(code, id=str(at)) for at, (types_only, code) in enumerate(BLOCKS) if not types_only]
)
def test_readme_runs(code: str, service: dict[str, str]) -> None:
    run(code, service)


def test_watch_run(service: dict[str, str]) -> None:
    output = run(PROJECT / "examples" / "watch_run.py", service)
    assert "Linux" in output
    assert output.endswith("[SUCCEEDED]\n")


def test_many_runs(service: dict[str, str]) -> None:
    output = run(PROJECT / "examples" / "many_runs.py", service, stdin="first line\n\nsecond line\n")
    assert sorted(line.split("\t")[2] for line in output.splitlines()) == ["first line", "second line"]
