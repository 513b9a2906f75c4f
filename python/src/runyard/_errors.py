"""What can go wrong:

RunyardError
├─ APIError                     the server answered with an error status
│  ├─ BadRequestError               400
│  ├─ AuthenticationError           401
│  ├─ PermissionDeniedError         403
│  ├─ NotFoundError                 404
│  ├─ ConflictError                 409
│  ├─ UnprocessableEntityError      422
│  ├─ RateLimitError                429
│  └─ InternalServerError           500 and above
├─ APIConnectionError           no answer
│  └─ APITimeoutError               not within the timeout
├─ APIResponseValidationError   an answer, or a result, that is not what was asked for
├─ RunFailedError               `runs.wait`: the run ended without success
└─ WebhookVerificationError     `webhooks.unwrap`: not from the service, or too old
"""

from __future__ import annotations

import copy
import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from ._log import without_query

if TYPE_CHECKING:
    import httpx

    from ._models import RunItem

Problem = Mapping[str, object]


class RunyardError(Exception):
    """What every error of this library is."""

    run_id: str | None = None
    """The run that was waited for, if any: it exists, whatever went wrong since."""
    idempotency_key: str | None = None
    """The key of the POST that failed, if it was one: sent again with it, the request has its effect once."""

    @property
    def message(self) -> str:
        """A sentence for people."""
        return str(self)

    def __reduce__(self) -> tuple[object, ...]:
        # Not by `__init__`, whose arguments are not kept. Pools of processes send errors home this way.
        return _restore, (type(self), self.args), self._state()

    def _state(self) -> dict[str, object]:
        return dict(self.__dict__)


def _restore(kind: type[RunyardError], args: tuple[object, ...]) -> RunyardError:
    return kind.__new__(kind, *args)


class APIError(RunyardError):
    """An error answer. The message is a sentence for people; `code` is what programs should look at."""

    status: int
    code: str | None
    """`error_code` of the problem document; absent when something in front of the service answered."""
    title: str
    detail: str | None
    retryable: bool
    """Whether the same request can succeed later."""
    request_id: str | None
    trace_id: str | None
    body: object
    """The parsed body, or its text when it is no JSON."""
    response: httpx.Response

    def __init__(self, response: httpx.Response, body: object) -> None:
        problem = _as_problem(body)
        detail, title = _text(problem, "detail"), _text(problem, "title")
        super().__init__(detail or title or _describe(response))
        retryable = problem.get("retryable")
        self.status = response.status_code
        self.code = _text(problem, "error_code")
        self.title = title or response.reason_phrase
        self.detail = detail
        self.retryable = retryable if isinstance(retryable, bool) else is_retryable_status(self.status)
        self.request_id = response.headers.get("x-request-id")
        self.trace_id = _text(problem, "trace_id")
        self.body = body
        self.response = response

    @property
    def headers(self) -> httpx.Headers:
        """The headers of the answer."""
        return self.response.headers

    def _state(self) -> dict[str, object]:
        return {**super()._state(), "response": _without_secrets(self.response)}

    def __repr__(self) -> str:
        request = f", request_id={self.request_id!r}" if self.request_id else ""
        return f"{type(self).__name__}({str(self)!r}, status={self.status}, code={self.code!r}{request})"


class BadRequestError(APIError):
    """400: the request is not understood; the message says which field."""


class AuthenticationError(APIError):
    """401: no key, or one that is not valid."""


class PermissionDeniedError(APIError):
    """403: the key may not do this."""


class NotFoundError(APIError):
    """404: there is no such thing, or the key may not see it."""


class ConflictError(APIError):
    """409: not in the present state."""


class UnprocessableEntityError(APIError):
    """422: understood and impossible."""


class RateLimitError(APIError):
    """429: too many requests."""


class InternalServerError(APIError):
    """500 and above: the service is at fault, or away."""


class APIConnectionError(RunyardError):
    """No answer: the service cannot be reached, or the connection broke."""


class APITimeoutError(APIConnectionError):
    """No whole answer within the timeout."""


class APIResponseValidationError(RunyardError):
    """An answer, or the result of a run, that does not have the shape that was asked for."""

    body: object
    """What came, as far as it could be read."""
    run: RunItem | None
    """The run whose result does not fit: it was paid for, and is here as it came."""

    def __init__(self, message: str, body: object = None, run: RunItem | None = None) -> None:
        super().__init__(message)
        self.body = body
        self.run = run
        self.run_id = run.run_id if run else None


class RunFailedError(RunyardError):
    """The run ended as FAILED, ERROR or CANCELLED; `run` is the run as it ended."""

    run: RunItem

    def __init__(self, run: RunItem) -> None:
        status = run.status_message
        super().__init__(status.message if status else f"The run ended as {run.state}.")
        self.run = run
        self.run_id = run.run_id

    def __repr__(self) -> str:
        return f"RunFailedError({str(self)!r}, run_id={self.run.run_id!r}, state={str(self.run.state)!r})"


class WebhookVerificationError(RunyardError):
    """The payload was not signed with this secret, or too long ago."""


_BY_STATUS: Mapping[int, type[APIError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    422: UnprocessableEntityError,
    429: RateLimitError,
}


@contextmanager
def naming_run(run_id: str) -> Generator[None, None, None]:
    """Gives what is raised within the `run_id`."""
    try:
        yield
    except RunyardError as error:
        error.run_id = run_id
        raise


def create_api_error(response: httpx.Response) -> APIError:
    """The error for an answer whose body was read."""
    try:
        body: object = json.loads(response.content)
    except (ValueError, RecursionError):
        body = response.text
    kind = InternalServerError if response.status_code >= 500 else APIError
    return _BY_STATUS.get(response.status_code, kind)(response, body)


def is_retryable_status(status: int) -> bool:
    """Whether an answer with this status may be another one later."""
    return status in (408, 409, 429) or status >= 500


def _as_problem(body: object) -> Problem:
    problem: Problem = cast("Problem", body) if isinstance(body, dict) else {}
    # Gateways have no codes of ours, but say what is wrong in the same form.
    is_one = "error_code" in problem or _text(problem, "title") or _text(problem, "detail")
    return problem if is_one else {}


def _without_secrets(response: httpx.Response) -> httpx.Response:
    """A copy that knows where it was asked for, and nothing that opens doors."""
    from httpx import Headers, Request

    bare = copy.copy(response)
    headers = [(name, value) for name, value in response.headers.multi_items() if name != "set-cookie"]
    bare.headers = Headers(
        [(name, without_query(value) if name == "location" else value) for name, value in headers]
    )
    bare.request = Request(response.request.method, response.request.url.copy_with(query=None))
    bare.history = []
    bare.next_request = None
    return bare


def _text(problem: Problem, name: str) -> str | None:
    value = problem.get(name)
    return value if isinstance(value, str) else None


def _describe(response: httpx.Response) -> str:
    location = response.headers.get("location")
    if location:
        return f"The server redirects to {without_query(location)}, which is not followed. Is base_url right?"
    answer = f"{response.status_code} {response.reason_phrase}".rstrip()
    return f"The server answered {answer} without saying why. Is base_url right?"
