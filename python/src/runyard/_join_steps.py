"""Steps of a conversation that the end of a page has cut."""

from __future__ import annotations

from ._models import ConversationMessage, ConversationStep


class StepJoin:
    """Holds each step back until it is known to be whole."""

    def __init__(self) -> None:
        self._open: ConversationStep | None = None

    def push(self, step: ConversationStep) -> list[ConversationStep]:
        """Takes the next one; gives what is whole now."""
        before = self._open
        if before is not None and before.id == step.id:
            self._open = join_steps(before, step)
            return []
        self._open = step
        return [] if before is None else [before]

    def end(self) -> list[ConversationStep]:
        """No more come."""
        return [] if self._open is None else [self._open]


def join_steps(step: ConversationStep, rest: ConversationStep) -> ConversationStep:
    """One step of two parts."""
    update = {
        "messages": join_messages(step.messages, rest.messages),
        "steps": [*step.steps, *rest.steps],
        "completed_at": max(filter(None, (step.completed_at, rest.completed_at)), default=None),
    }
    return step.model_copy(update=update)


def join_messages(
    before: list[ConversationMessage], after: list[ConversationMessage]
) -> list[ConversationMessage]:
    """Within a step no two messages in a row are of the same role and run: these are one, cut by the page's end."""
    messages, more = list(before), list(after)
    if messages and more and (messages[-1].role, messages[-1].run_id) == (more[0].role, more[0].run_id):
        last, first = messages.pop(), more.pop(0)
        joined = {
            "content": [*last.content, *first.content],
            "message_ids": [*last.message_ids, *first.message_ids],
        }
        messages.append(last.model_copy(update=joined))
    return [*messages, *more]
