"""Event streams, taken apart."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE_END = re.compile("\r\n|\r|\n")


@dataclass(frozen=True)
class ServerSentEvent:
    event: str
    """`message` when the stream names no type."""
    data: str
    last_event_id: str
    """Empty before the stream's first `id:` line."""


class ServerSentEventParser:
    """Takes an event stream (HTML standard, section 9.2.6) apart, however it was cut into chunks.

    A line is only read once its end is there, and a CR at the end of a chunk may be half of a CR LF.
    """

    retry: int | None = None
    """What the stream asks readers to wait before they reconnect, in milliseconds."""

    def __init__(self) -> None:
        # Reads bytes, not text: a character may be cut in two as well. The standard drops a byte order mark.
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        # Pieces of a line whose end has not come; joined once, so that long lines take linear time.
        self._rest: list[str] = []
        self._skip_lf = False
        self._event = ""
        self._data: list[str] = []
        self._last_event_id = ""

    def push(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """The events that this chunk completes."""
        text = self._decoder.decode(chunk)
        if not text:
            return
        if self._skip_lf and text.startswith("\n"):
            text = text[1:]
        # Set before the first yield: a reader may stop in between and come back with the next chunk.
        self._skip_lf = text.endswith("\r")
        start = 0
        for end in _LINE_END.finditer(text):
            self._rest.append(text[start : end.start()])
            line = "".join(self._rest)
            self._rest.clear()
            start = end.end()
            event = self._read(line)
            if event:
                yield event
        if start < len(text):
            self._rest.append(text[start:])

    def _read(self, line: str) -> ServerSentEvent | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "event":
            self._event = value
        elif field == "data":
            self._data.append(value)
        elif field == "id" and "\0" not in value:
            self._last_event_id = value
        elif field == "retry" and value.isascii() and value.isdigit():
            self.retry = int(value)
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        event = ServerSentEvent(self._event or "message", "\n".join(self._data), self._last_event_id)
        has_data = bool(self._data)
        self._event = ""
        self._data.clear()
        return event if has_data else None
