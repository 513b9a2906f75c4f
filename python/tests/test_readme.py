"""What the README and the examples show: correct in every type, and run against a service unless it says why not."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
ROOT = PROJECT.parent
BLOCK = re.compile(r"^(<!-- types only: .* -->\n)?```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS: list[tuple[str, str]] = BLOCK.findall((PROJECT / "README.md").read_text("utf-8"))

Run = Callable[..., str]


@pytest.fixture
def run(service: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a program as `python` does, but in this process, and gives what it printed.

    To start Python and to import the library takes longer than what a program does.
    """
    for name, value in service.items():
        monkeypatch.setenv(name, value)

    def run_program(code: str, stdin: str = "") -> str:
        monkeypatch.setattr(sys, "argv", ["program.py"])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        try:
            exec(compile(code, "program.py", "exec"), {"__name__": "__main__"})
        except SystemExit as end:
            if end.code:
                raise AssertionError(capsys.readouterr()) from end
        return capsys.readouterr().out

    return run_program


def example(name: str) -> str:
    return (PROJECT / "examples" / name).read_text("utf-8")


def test_readme_passes_strict_types(tmp_path: Path) -> None:
    assert len(BLOCKS) > 5
    for number, (_, code) in enumerate(BLOCKS):
        (tmp_path / f"readme_{number}.py").write_text(code, "utf-8")
    # Where `npm run check` starts it, so that it finds what that has read of the library and of other packages.
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "python/pyproject.toml", *tmp_path.iterdir()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "code", [pytest.param(code, id=str(at)) for at, (types_only, code) in enumerate(BLOCKS) if not types_only]
)
def test_readme_runs(code: str, run: Run) -> None:
    run(code)


def test_watch_run(run: Run) -> None:
    output = run(example("watch_run.py"))
    assert "Linux" in output
    assert output.endswith("[SUCCEEDED]\n")


def test_many_runs(run: Run) -> None:
    output = run(example("many_runs.py"), stdin="first line\n\nsecond line\n")
    assert sorted(line.split("\t")[2] for line in output.splitlines()) == ["first line", "second line"]
