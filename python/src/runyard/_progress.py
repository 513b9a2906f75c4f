"""What the reader of a stream has already been given."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ._errors import RunyardError
from ._events import MessageDeltaEvent, RunStreamEvent, parse_event
from ._models import MessageDelta
from ._sse import ServerSentEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        """The event to pass on, or nothing when it is known already."""
        try:
            value = json.loads(message.data)
        except ValueError as error:
            raise RunyardError("The event stream holds something that is not JSON.") from error
        if message.event == "message.assistant.delta":
            return self._accept_delta(cast("Mapping[str, object]", value))
        event = parse_event(_repair(value, message.data))
        if event.sequence <= self.sequence:
            return None
        self.sequence = event.sequence
        if event.type == "message.assistant":
            self._open.pop(
                str(cast("Mapping[str, Mapping[str, object]]", value)["data"].get("message_id")), None
            )
        elif event.type == "attempt.lost":
            # The next attempt writes its messages anew.
            self._open.clear()
        return event

    def _accept_delta(self, value: Mapping[str, object]) -> MessageDeltaEvent | None:
        """After a reconnect the service sends the text of open messages from the start."""
        message_id, offset, text = str(value["message_id"]), cast("int", value["offset"]), str(value["text"])
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
        return MessageDeltaEvent(run_id=str(value["run_id"]), data=data)


def _ends_in_half(units: bytes) -> bool:
    """Whether the last unit is the first of a surrogate pair."""
    return len(units) >= _UNIT and 0xD8 <= units[-1] <= 0xDB


def _repair(value: object, text: str) -> object:
    """Half a pair is no character: JSON of JavaScript may hold one, a model may not."""
    if "\\ud" not in text and "\\uD" not in text:
        return value
    whole = json.dumps(value, ensure_ascii=False).encode(_UTF16, "surrogatepass")
    return json.loads(whole.decode(_UTF16, "replace"))
