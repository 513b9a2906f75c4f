"""What all generated models have in common."""

from __future__ import annotations

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
