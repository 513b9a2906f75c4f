"""Makes `.venv` with what python/ needs, or leaves it alone when nothing it is made from has changed.

Run by `scripts/setup-python.ts` with the Python the environment shall have. Prints the path of its interpreter.
"""

import fcntl
import hashlib
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


def fingerprint() -> str:
    """One line for what the environment is made from, one for what the editable install has written down."""
    # An environment belongs to its interpreter and its folder.
    made = [sys.base_prefix.encode(), sys.version.encode(), bytes(ROOT), REQUIREMENTS.read_bytes()]
    installed = [(PROJECT / name).read_bytes() for name in ("pyproject.toml", "src/runyard/_version.py")]
    return "".join(hashlib.sha256(b"\0".join(parts)).hexdigest() + "\n" for parts in (made, installed))


def stamp() -> str:
    return STAMP.read_text() if STAMP.is_file() and PYTHON.exists() else ""


def pip(*args: str) -> None:
    # The answer of this script is on stdout: what pip says goes to stderr.
    command = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--no-input", "-q", *args]
    subprocess.run(command, check=True, stdout=sys.stderr)


def install(wanted: str) -> None:
    if stamp().splitlines()[:1] != wanted.splitlines()[:1]:
        print("Installing the Python toolchain in .venv", file=sys.stderr)
        venv.create(VENV, clear=True, symlinks=True, with_pip=True)
        pip("install", "-r", str(REQUIREMENTS))
    pip("install", "--no-build-isolation", "--no-deps", "-e", str(PROJECT))
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
