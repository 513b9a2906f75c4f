"""What is published: built, checked, installed into an environment of its own and used there."""

from __future__ import annotations

import email
import json
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
VERSION = json.loads((PROJECT.parent / "client" / "package.json").read_text())["version"]


def run(*command: str | Path) -> str:
    """Standard output. Outside the sources, so that only what is installed can be imported."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd="/",
        env={"PATH": "/usr/bin:/bin", "PIP_NO_INDEX": "1"},
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, PROJECT)
    return folder


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with the wheel. Dependencies come from this environment, so that nothing is downloaded."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    (wheel,) = dist.glob("*.whl")
    run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", wheel)
    (packages,) = folder.glob("lib/python3*/site-packages")
    # The sources of the editable install are no part of this: what a .pth file names is not searched for others.
    (packages / "dependencies.pth").write_text(f"{Path(pytest.__file__).parent.parent}\n")
    return python


def test_index_accepts_both_files(dist: Path) -> None:
    assert sorted(file.name for file in dist.iterdir()) == [
        f"runyard-{VERSION}-py3-none-any.whl",
        f"runyard-{VERSION}.tar.gz",
    ]
    run(sys.executable, "-m", "twine", "check", "--strict", *dist.iterdir())


def test_wheel_has_types_and_license(dist: Path) -> None:
    with zipfile.ZipFile(dist / f"runyard-{VERSION}-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
        metadata = email.message_from_bytes(wheel.read(f"runyard-{VERSION}.dist-info/METADATA"))
    assert "runyard/py.typed" in names
    assert f"runyard-{VERSION}.dist-info/licenses/LICENSE" in names
    sources = (PROJECT / "src").rglob("*.py")
    assert {name for name in names if name.endswith(".py")} == {
        file.relative_to(PROJECT / "src").as_posix() for file in sources
    }
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata.get_all("Provides-Extra") == ["aiohttp"]


def test_sdist_has_tests_and_changelog(dist: Path) -> None:
    with tarfile.open(dist / f"runyard-{VERSION}.tar.gz") as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml", "tests/test_package.py"} <= names
    assert not {name for name in names if "__pycache__" in name}


def test_licenses_are_the_same() -> None:
    assert (PROJECT / "LICENSE").read_bytes() == (PROJECT.parent / "LICENSE").read_bytes()


def test_installed_package_works(installed: Path) -> None:
    code = (
        "import runyard; "
        "client = runyard.Runyard(api_key='ry_test', base_url='http://127.0.0.1:1'); "
        "print(runyard.__version__, runyard.__file__, type(client.runs).__name__)"
    )
    version, file, _ = run(installed, "-c", code).split()
    assert version == VERSION
    assert Path(file).is_relative_to(installed.parent.parent)


def test_import_is_lazy(installed: Path) -> None:
    """Command lines and serverless functions pay for httpx and pydantic only when they make a client."""
    code = (
        "import sys, runyard; "
        "before = {'httpx', 'pydantic', 'anyio'} & set(sys.modules); "
        "runyard.Runyard; "
        "print(sorted(before), 'httpx' in sys.modules)"
    )
    assert run(installed, "-c", code).strip() == "[] True"


def test_every_name_is_there(installed: Path) -> None:
    code = "import runyard; print([name for name in runyard.__all__ if not hasattr(runyard, name)])"
    assert run(installed, "-c", code).strip() == "[]"
