"""Makes `.venv` with what python/ needs, or leaves it alone when nothing it is made from has changed.

Run by `scripts/setup-python.ts` with the Python the environment shall have. Prints the path of its interpreter.
"""

import fcntl
import hashlib
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = ROOT / "python"
REQUIREMENTS = PROJECT / "requirements-dev.txt"
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "runyard-stamp"
UV_NAMES = {
    "PIP_INDEX_URL": "UV_DEFAULT_INDEX",
    "PIP_EXTRA_INDEX_URL": "UV_INDEX",
    "PIP_FIND_LINKS": "UV_FIND_LINKS",
    "PIP_CERT": "SSL_CERT_FILE",
}


def fingerprint() -> str:
    """One line for what the environment is made from, one for what the editable install has written down."""
    # An environment belongs to its interpreter and its folder.
    made = [sys.base_prefix.encode(), sys.version.encode(), bytes(ROOT), REQUIREMENTS.read_bytes()]
    installed = [(PROJECT / name).read_bytes() for name in ("pyproject.toml", "src/runyard/_version.py")]
    return "".join(hashlib.sha256(b"\0".join(parts)).hexdigest() + "\n" for parts in (made, installed))


def stamp() -> str:
    return STAMP.read_text() if STAMP.is_file() and PYTHON.exists() else ""


def run(*args: str, **variables: str) -> None:
    # The answer of this script is on stdout: what programs say goes to stderr.
    subprocess.run([str(PYTHON), "-m", *args], check=True, stdout=sys.stderr, env={**os.environ, **variables})


def pip(*args: str) -> None:
    # Python compiles what it runs; all of it takes a third of the time.
    run("pip", "--disable-pip-version-check", "--no-input", "-q", "install", "--no-compile", *args)


def install_requirements() -> None:
    """By uv, in a fifth of the time; by pip where only that is told how to reach packages (`pip.conf`)."""
    pinned = re.search(r"^uv==\S+", REQUIREMENTS.read_text(), re.MULTILINE)
    assert pinned
    try:
        pip(pinned[0])
        # uv does not read pip's variables.
        variables = {UV_NAMES[name]: value for name, value in os.environ.items() if name in UV_NAMES}
        run("uv", "pip", "install", "-q", "--python", str(PYTHON), "-r", str(REQUIREMENTS), **variables)
    except subprocess.CalledProcessError:
        pip("-r", str(REQUIREMENTS))


def install(wanted: str) -> None:
    if stamp().splitlines()[:1] != wanted.splitlines()[:1]:
        print("Installing the Python toolchain in .venv", file=sys.stderr)
        venv.create(VENV, clear=True, symlinks=True, with_pip=True)
        install_requirements()
    pip("--no-build-isolation", "--no-deps", "-e", str(PROJECT))
    STAMP.write_text(wanted)


def main() -> None:
    wanted = fingerprint()
    if stamp() != wanted:
        # `npm run check` and `npm test` may both come first: one installs, the other waits and finds it done.
        with (ROOT / ".venv.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if stamp() != wanted:
                install(wanted)
    print(PYTHON)


try:
    main()
except subprocess.CalledProcessError as error:
    sys.exit(f"setup_python.py: exit code {error.returncode} of: {' '.join(error.cmd)}")
