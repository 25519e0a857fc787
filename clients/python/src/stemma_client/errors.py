from collections.abc import Mapping
from typing import Any


class StemmaError(Exception):
    """What a server refused, or what became of a request. Each error has a code, which docs/errors.md explains."""

    code: str
    """What happened, such as `SESSION_NOT_FOUND`."""
    status: int | None
    """The status of the answer. None where there was none."""
    details: Mapping[str, Any]
    """What the error is about, such as `sessionId`."""
    request_id: str | None
    """Names the request in the server's log."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int | None = None,
        details: Mapping[str, Any] | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.details = details or {}
        self.request_id = request_id


class InvalidRequestError(StemmaError):
    """The request is not as it must be: 400, 405, 413, 415 or 422."""


class AuthenticationError(StemmaError):
    """The key or token is missing, unknown or revoked: 401."""


class ForbiddenError(StemmaError):
    """The key does not reach this: 403."""


class NotFoundError(StemmaError):
    """It is not there, or belongs to somebody else: 404."""


class ConflictError(StemmaError):
    """Somebody else was faster, or it is there already: 409, or 412 for a request with `if_match`."""


class RateLimitError(StemmaError):
    """The key has sent too many requests, or used up its quota: 429. `details` has `retryAfter` in seconds."""


class UnsupportedError(StemmaError):
    """The server was not given what this needs, such as a model: `STORE_UNSUPPORTED` and the like."""


class ServerError(StemmaError):
    """The server failed, or is not available now: 5xx."""


class ConnectionLostError(StemmaError):
    """No answer came: the only error after which a write may have been stored. Its code is `CONNECTION_LOST`."""


_FAMILIES: Mapping[int, type[StemmaError]] = {
    401: AuthenticationError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    412: ConflictError,
    429: RateLimitError,
}

_UNSUPPORTED = frozenset({"PROVIDER_REQUIRED", "SEARCH_UNAVAILABLE", "STORE_UNSUPPORTED"})


def error_of(status: int, body: Mapping[str, Any], request_id: str | None) -> StemmaError:
    """The error that an answer stands for. One without a problem in it, as proxies send, has the code `HTTP_{status}`."""
    family = _FAMILIES.get(status, InvalidRequestError if 400 <= status < 500 else ServerError)
    code, detail, details = body.get("code"), body.get("detail"), body.get("details")
    if code in _UNSUPPORTED:
        family = UnsupportedError
    return family(
        detail if isinstance(detail, str) else f"The server answered with status {status}.",
        code=code if isinstance(code, str) else f"HTTP_{status}",
        status=status,
        details=details if isinstance(details, dict) else None,
        request_id=request_id,
    )
