"""What the reader of a stream has already been given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ._errors import RunyardError
from ._events import MessageDeltaEvent, RunStreamEvent, parse_event
from ._lenient import as_fields
from ._models import MessageDelta
from ._parse import mend
from ._sse import ServerSentEvent

# An offset counts UTF-16 units, as JavaScript does; so text is cut as UTF-16.
_UTF16 = "utf-16-le"
_UNIT = 2


@dataclass
class _OpenMessage:
    """A message that is being written."""

    known: int = 0
    """Units that were passed on."""
    held: bytes = b""
    """Half of a character, which follows them and waits for its other half."""


class Progress:
    """Lets each event through once, however often a stream has to be read again."""

    def __init__(self, after: int) -> None:
        self.sequence = after
        self._open: dict[str, _OpenMessage] = {}

    def accept(self, message: ServerSentEvent) -> RunStreamEvent | None:
        """The event to pass on; nothing when it is known already, or none that this version understands."""
        is_delta = message.event == "message.assistant.delta"
        value = as_fields(_load(message.data, may_have_halves=is_delta)) or {}
        if is_delta:
            return self._accept_delta(value)
        sequence = _integer(value, "sequence")
        # A newer service may send more that is not stored, as deltas are not.
        if sequence is None or sequence <= self.sequence:
            return None
        self.sequence = sequence
        kind = value.setdefault("type", message.event)
        if kind == "message.assistant":
            data = as_fields(value.get("data")) or {}
            self._open.pop(str(data.get("message_id")), None)
        elif kind in ("attempt.lost", "debug.ended"):
            # The next attempt writes its messages anew, and so does the next debug turn.
            self._open.clear()
        return parse_event(value)

    def _accept_delta(self, value: Mapping[str, object]) -> MessageDeltaEvent | None:
        """After a reconnect the service sends the text of open messages from the start."""
        message_id, offset, text = value.get("message_id"), _integer(value, "offset"), value.get("text")
        if not isinstance(message_id, str) or offset is None or not isinstance(text, str):
            return None
        message = self._open.setdefault(message_id, _OpenMessage())
        units = text.encode(_UTF16, "surrogatepass")
        if message.held and offset == message.known + 1:
            units, offset = message.held + units, message.known
        new = units[max(message.known - offset, 0) * _UNIT :]
        message.held = new[-_UNIT:] if _ends_in_half(new) else b""
        new = new[: len(new) - len(message.held)]
        if not new:
            return None
        start = max(offset, message.known)
        message.known = start + len(new) // _UNIT
        data = MessageDelta(message_id=message_id, offset=start, text=new.decode(_UTF16, "replace"))
        return MessageDeltaEvent(run_id=str(value.get("run_id")), data=data)


class ManyProgress:
    """The same for many runs in one stream."""

    def __init__(self) -> None:
        self.cursor: str | None = None
        self._logs: dict[str, Progress] = {}

    def accept(self, message: ServerSentEvent) -> RunStreamEvent | None:
        """The event to pass on."""
        value = as_fields(_load(message.data, may_have_halves=True)) or {}
        event = self._logs.setdefault(str(value.get("run_id")), Progress(0)).accept(message)
        if event is not None and not isinstance(event, MessageDeltaEvent) and message.last_event_id:
            self.cursor = message.last_event_id
        return event


def _load(text: str, may_have_halves: bool) -> object:
    try:
        value: object = json.loads(text)
        return value if may_have_halves else mend(value, text.encode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise RunyardError("The event stream holds something that is not JSON.") from error


def _integer(value: Mapping[str, object], name: str) -> int | None:
    found = value.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _ends_in_half(units: bytes) -> bool:
    """Whether the last unit is the first of a surrogate pair."""
    return len(units) >= _UNIT and 0xD8 <= units[-1] <= 0xDB
