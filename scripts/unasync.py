"""Writes the synchronous tree of the Python client from the asynchronous one: scripts/unasync.py FROM TO

The rules are words, comments and strings included, so the examples in docstrings follow. What cannot be said this way
(sleeping, deadlines) has both forms in one module outside the trees, named `async_x` and `x` or `AsyncX` and `X`.
"""

import re
import sys
from pathlib import Path

HEADER = "# Generated from {} by scripts/unasync.py; do not edit.\n"
RULES = [
    # The keywords.
    (r"\b(async|await) +", ""),
    (r"\bAsyncByteStream\b", "SyncByteStream"),
    # Names of ours and of libraries: AsyncRunyard, httpx.AsyncClient, collections.abc.AsyncIterator, async_sleep.
    (r"\b_async\b", "_sync"),
    (r"\b(_?)Async(?=[A-Z])", r"\1"),
    (r"\b(_?)async_(?=[a-z])", r"\1"),
    # The protocols of the language.
    (r"\b__a(enter|exit|iter|next)__\b", r"__\1__"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\ba(iter|next)\(", r"\1("),
    (r"\basynccontextmanager\b", "contextmanager"),
    # httpx: aclose, aread, aiter_bytes.
    (r"\ba(close|closing|read|send)\b", r"\1"),
    (r"\baiter_(?=[a-z])", "iter_"),
    (r"\basynchronous", "synchronous"),
    (r"\bAsynchronous", "Synchronous"),
]


def convert(text: str) -> str:
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    return text


def main(source: Path, target: Path) -> None:
    for file in sorted(source.rglob("*.py")):
        place = target / file.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        name = file.relative_to(source.parent).as_posix()
        place.write_text(HEADER.format(name) + convert(file.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
