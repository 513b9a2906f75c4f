"""Loaded by schemathesis, as `SCHEMATHESIS_HOOKS` says, for server/test/api-description.test.ts."""

from uuid import uuid4

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    """Gives each request that makes something a key of its own, where it was given one that is allowed.

    The same key and body come in several sequences of requests. What one of them has made and deleted, the next is told
    of by the repeated answer, as it should be. `ensure_resource_availability` takes it for just created then, since it looks
    for a DELETE in the same sequence only: `resource_was_deleted` in `schemathesis/specs/openapi/checks.py`.
    """
    key = (case.headers or {}).get("Idempotency-Key")
    stateful = case.meta is not None and case.meta.phase.name.value == "stateful"
    if stateful and isinstance(key, str) and 1 <= len(key) <= 255:
        case.headers["Idempotency-Key"] = str(uuid4())
