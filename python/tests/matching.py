# pyright: basic
"""Comparing what came with what a case of the behaviour table expects."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import BaseModel


def differs(actual: Any, expected: Any, path: str) -> str | None:
    """Nothing when `actual` has all that `expected` names, else what differs and where.

    Objects may have more keys, arrays have the same length; `$match`, `$absent` and `$any` as the fault server says.
    """
    if isinstance(actual, BaseModel):
        actual = actual.model_dump(mode="json", warnings=False)
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return f"{path} is {_show(actual)}, not an array of {len(expected)}"
        pairs = zip(actual, expected, strict=True)
        return _first(differs(have, want, f"{path}[{index}]") for index, (have, want) in enumerate(pairs))
    if not isinstance(expected, dict):
        same = actual == expected and isinstance(actual, bool) == isinstance(expected, bool)
        return None if same else f"{path} is {_show(actual)}, not {_show(expected)}"
    if "$absent" in expected:
        return None if actual is None else f"{path} is {_show(actual)}, not absent"
    if "$any" in expected:
        return f"{path} is absent" if actual is None else None
    if "$match" in expected:
        fits = isinstance(actual, str) and re.search(expected["$match"], actual)
        return None if fits else f"{path} is {_show(actual)}, not like {expected['$match']}"
    if actual is None:
        return f"{path} is absent"
    return _first(differs(_get(actual, key), item, f"{path}.{key}") for key, item in expected.items())


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else getattr(value, key, None)


def _first(problems: Any) -> str | None:
    return next((problem for problem in problems if problem), None)


def _show(value: Any) -> str:
    return json.dumps(value, default=str)[:500]
