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
# uv reads neither pip's files nor its variables.
UV_NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}
# Settings that uv has no equal for.
ONLY_PIP = {"no-index", "proxy", "client-cert", "constraint", "trusted-host"}


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
    # Python compiles modules when it first imports them. To compile all of them takes a third of the time.
    run("pip", "--disable-pip-version-check", "--no-input", "-q", "install", "--no-compile", *args)


def uv_variables() -> dict[str, str] | None:
    """What pip is configured with, as uv reads it; `None` where only pip can do it. The user's own variables win."""
    command = [str(PYTHON), "-m", "pip", "config", "list"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    settings = dict(re.findall(r"^\S*?\.([\w-]+)='(.*)'$", listed, re.MULTILINE))
    if ONLY_PIP & settings.keys():
        return None
    named = {UV_NAMES[name]: ",".join(value.split()) for name, value in settings.items() if name in UV_NAMES}
    return {name: value for name, value in named.items() if name not in os.environ}


def install_requirements() -> None:
    """Installs with uv, which is five times faster, or with pip where uv cannot or fails."""
    pinned = re.search(r"^uv==\S+", REQUIREMENTS.read_text(), re.MULTILINE)
    variables = uv_variables()
    if pinned and variables is not None:
        try:
            pip(pinned[0])
            run("uv", "pip", "install", "-q", "--python", str(PYTHON), "-r", str(REQUIREMENTS), **variables)
            return
        except subprocess.CalledProcessError:
            print("uv did not install it; trying pip", file=sys.stderr)
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
