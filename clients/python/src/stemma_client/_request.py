"""What both faces share: how a request is written, an answer read, and when it is sent again."""

import json
import os
import random
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any
from urllib.parse import quote

import httpx

from .errors import ConnectionLostError, InvalidRequestError, StemmaError, error_of

DEFAULT_BASE_URL = "http://127.0.0.1:4985"
_RETRIED = frozenset({429, 502, 503, 504})
_FIRST_DELAY = 0.05
_LONGEST_DELAY = 5.0
_KEY = "idempotency-key"


class Unset(Enum):
    """Stands for an argument that was not given, where None says something."""

    UNSET = "unset"


UNSET = Unset.UNSET


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Mapping[str, object] | None = None
    lines: bytes | None = None

    @property
    def content(self) -> bytes | None:
        if self.body is None:
            return self.lines
        return json.dumps(self.body, allow_nan=False, separators=(",", ":")).encode()

    def behind(self, cursor: str) -> "Request":
        """The request for the next page of a list: another one, with a key of its own."""
        if self.body is None:
            return replace(self, query={**self.query, "cursor": cursor})
        headers = {**self.headers, _KEY: str(uuid.uuid4())}
        return replace(self, body={**self.body, "cursor": cursor}, headers=headers)


@dataclass(frozen=True)
class Settings:
    base_url: str
    api_key: str = field(repr=False)
    retry_for: float

    @staticmethod
    def of(base_url: str | None, api_key: str | None, retry_for: float) -> "Settings":
        url = base_url or os.environ.get("STEMMA_BASE_URL") or DEFAULT_BASE_URL
        key = api_key or os.environ.get("STEMMA_API_KEY")
        if not key:
            raise InvalidRequestError("Pass api_key, or set STEMMA_API_KEY.", code="INVALID_ARGUMENT")
        return Settings(url.rstrip("/"), key, retry_for)


def id_of(value: str) -> str:
    """An id as a segment: one that is empty, made of dots or begins with `~` has a `~` before it. Errors: `INVALID_ARGUMENT`."""
    with sendable():
        return quote(f"~{value}" if re.fullmatch(r"~.*|\.{0,2}", value, re.DOTALL) else value, safe="")


def request_of(
    method: str,
    path: str,
    *,
    query: Mapping[str, object] | None = None,
    body: Mapping[str, object] | None = None,
    lines: bytes | None = None,
    if_match: str | None = None,
    only_new: bool = False,
    accept: str | None = None,
) -> Request:
    """A request without what is UNSET, and of the query what is None. All but GET have a key, by which they take effect once."""
    headers = given(**{"if-match": if_match, "if-none-match": "*" if only_new else None, "accept": accept})
    if lines is not None:
        headers["content-type"] = "application/x-ndjson"
    if body is not None:
        headers["content-type"] = "application/json"
        body = {name: value for name, value in body.items() if value is not UNSET}
    if method != "GET":
        headers[_KEY] = str(uuid.uuid4())
    asked = {name: _text_of(value) for name, value in given(**(query or {})).items() if value is not UNSET}
    return Request(method, path, asked, {name: str(value) for name, value in headers.items()}, body, lines)


def _text_of(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def given(**fields: object) -> dict[str, object]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def read_answer(response: httpx.Response) -> Any:
    """The JSON of an answer, None where it is empty. Errors: whatever the server refused."""
    if response.status_code >= 300:
        raise refusal_of(response)
    if not response.content:
        return None
    try:
        return response.json()
    except ValueError as cause:
        request_id = response.headers.get("x-request-id")
        message = "The answer is no JSON. Is the base URL that of a Stemma server?"
        raise StemmaError(message, code="INVALID_ANSWER", status=response.status_code, request_id=request_id) from cause


def refusal_of(response: httpx.Response) -> StemmaError:
    try:
        body = response.json()
    except ValueError:
        body = {}
    return error_of(response.status_code, body if isinstance(body, dict) else {}, response.headers.get("x-request-id"))


def lost(cause: httpx.RequestError) -> ConnectionLostError:
    return ConnectionLostError(f"No answer came: {cause!r}", code="CONNECTION_LOST")


@contextmanager
def sendable() -> Iterator[None]:
    """Errors: `INVALID_ARGUMENT` for what cannot be written as a request, such as half a surrogate pair, or no JSON."""
    try:
        yield
    except (TypeError, ValueError, httpx.InvalidURL) as failure:
        raise InvalidRequestError(f"This cannot be sent: {failure}", code="INVALID_ARGUMENT") from failure


def assert_sendable(failure: httpx.RequestError) -> None:
    """Errors: `INVALID_ARGUMENT` for a failure of the request itself, which would fail again."""
    if isinstance(failure, httpx.UnsupportedProtocol | httpx.LocalProtocolError):
        message = f"The base URL or the API key cannot be sent: {failure}"
        raise InvalidRequestError(message, code="INVALID_ARGUMENT") from failure


class Retries:
    """Decides whether a request is sent again, and after how many seconds: with full jitter, or when the server says."""

    def __init__(self, retry_for: float) -> None:
        self._end = time.monotonic() + retry_for
        self._most = _FIRST_DELAY

    def delay_after(self, response: httpx.Response | None) -> float | None:
        """None where the answer is the last one. `response` is None where no answer came."""
        if response is not None and response.status_code not in _RETRIED:
            return None
        self._most = min(self._most * 2, _LONGEST_DELAY)
        delay = random.uniform(0, self._most)
        asked = None if response is None else response.headers.get("retry-after")
        if asked is not None and re.fullmatch(r"\d{1,6}", asked):
            delay += float(asked)
        return delay if time.monotonic() + delay < self._end else None


class Lines:
    """Cuts bytes into lines. Only a newline ends one: JSON may hold the other characters that Python takes for line ends."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []

    def feed(self, data: bytes) -> Iterator[str]:
        first, *others = data.split(b"\n")
        # Joined only when its end has come: a long line is not copied with each piece.
        self._rest.append(first)
        for other in others:
            yield b"".join(self._rest).decode()
            self._rest = [other]

    def end(self) -> Iterator[str]:
        rest = b"".join(self._rest)
        if rest:
            yield rest.decode()


class Events:
    """Reads server-sent events: each as its id and the JSON of its data, None for one that only says where the stream stands."""

    def __init__(self) -> None:
        self._id = ""
        self._data: list[str] = []
        self._has_moved = False

    def feed(self, line: str) -> Iterator[tuple[str, Any]]:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if line == "" and (self._data or self._has_moved):
            yield self._id, json.loads("\n".join(self._data)) if self._data else None
            self._data = []
            self._has_moved = False
        elif name == "id":
            self._id = value
            self._has_moved = True
        elif name == "data":
            self._data.append(value)


def time_text(time: datetime) -> str:
    """A time as the server has it. Errors: ValueError for one without a zone."""
    if time.tzinfo is None:
        raise ValueError("A time needs a time zone, such as datetime.now(timezone.utc).")
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
