"""What the methods of the two trees are to a type checker."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

Method = Callable[P, T]
AsyncMethod = Callable[P, Awaitable[T]]
