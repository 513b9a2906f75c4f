"""Waiting: what the two trees do differently."""

from __future__ import annotations

import time

import anyio

__all__ = ["async_sleep", "sleep"]


async def async_sleep(seconds: float) -> None:
    """Ends at once when the task is cancelled."""
    await anyio.sleep(seconds)


def sleep(seconds: float) -> None:
    """Ends at once on an interrupt."""
    time.sleep(seconds)
