"""What a stream of events is made of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from ._lenient import construct
from ._models import MessageDelta, RunEvent, UnknownEvent


class MessageDeltaEvent(BaseModel):
    """Assistant text on its way: streamed, never stored. The whole text follows as a `message.assistant` event."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    type: Literal["message.assistant.delta"] = "message.assistant.delta"
    run_id: str
    data: MessageDelta


RunStreamEvent: TypeAlias = RunEvent | MessageDeltaEvent
"""What `runs.stream` yields: everything of the log, and text while it is written."""


def parse_event(value: Mapping[str, object]) -> RunEvent:
    """An entry of the log. One of a type or a shape that this version does not know is kept as it is."""
    try:
        return _adapter().validate_python(value)
    except ValidationError:
        return construct(UnknownEvent, value)


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[RunEvent]:
    return TypeAdapter(RunEvent)
