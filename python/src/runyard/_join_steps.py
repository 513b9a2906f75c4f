"""Steps of a conversation that the end of a page has cut."""

from __future__ import annotations

from ._models import ConversationStep


class StepJoin:
    """Holds each step back until it is known to be whole."""

    def __init__(self) -> None:
        self._open: ConversationStep | None = None

    def push(self, step: ConversationStep) -> list[ConversationStep]:
        """Takes the next one; gives what is whole now."""
        before = self._open
        if before is not None and before.step == step.step:
            self._open = join_steps(before, step)
            return []
        self._open = step
        return [] if before is None else [before]

    def end(self) -> list[ConversationStep]:
        """No more come."""
        return [] if self._open is None else [self._open]


def join_steps(step: ConversationStep, rest: ConversationStep) -> ConversationStep:
    """One step of two parts.

    Within a step no two messages in a row are of the same role and run: these are one, cut by the page's end.
    """
    messages, more = list(step.messages), list(rest.messages)
    if messages and more and (messages[-1].role, messages[-1].run_id) == (more[0].role, more[0].run_id):
        last = messages.pop()
        messages.append(last.model_copy(update={"blocks": [*last.blocks, *more.pop(0).blocks]}))
    return step.model_copy(update={"messages": [*messages, *more]})
