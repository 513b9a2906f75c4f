"""What all generated models have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict


class WireModel(BaseModel):
    """A JSON object of the service. Fields that this version does not know are kept, as attributes and when written."""

    model_config = ConfigDict(
        extra="allow",
        # A validator is built when its model is first used: most programs use few of them.
        defer_build=True,
        # `model_id` is a field of ours, not a method of pydantic.
        protected_namespaces=(),
    )

    if not TYPE_CHECKING:
        # What was read leniently is written as it came, and pydantic would warn of it: an error under `-W error`.
        def model_dump(self, **options: Any) -> dict[str, Any]:
            return super().model_dump(**{"warnings": False, **options})

        def model_dump_json(self, **options: Any) -> str:
            return super().model_dump_json(**{"warnings": False, **options})
