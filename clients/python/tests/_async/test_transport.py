import json
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from stemma_client import (
    AsyncStemma,
    ConnectionLostError,
    InvalidRequestError,
    RateLimitError,
    ServerError,
    StemmaError,
    text_message,
)

pytestmark = pytest.mark.anyio

Answer = httpx.Response | Exception
APPENDED = httpx.Response(200, json={"insertedIds": ["1"]})


class Server:
    """Answers as it was told, and notes the requests."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def client(self, retry_for: float = 5.0) -> AsyncStemma:
        client = httpx.AsyncClient(transport=httpx.MockTransport(self))
        return AsyncStemma(base_url="http://stemma.test/below/", api_key="key", retry_for=retry_for, http_client=client)


@pytest.mark.parametrize(
    "failure",
    [
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("late"),
        httpx.RemoteProtocolError("cut"),
        *[httpx.Response(status) for status in (429, 502, 503, 504)],
    ],
)
async def test_a_write_is_sent_again_with_the_same_key(failure: Answer) -> None:
    server = Server(failure, failure, APPENDED)
    assert await server.client().session("a").append(text_message("user", "Hello", id="1")) == ["1"]
    assert [str(request.url) for request in server.requests] == ["http://stemma.test/below/v1/sessions/a/messages"] * 3
    keys = {request.headers["idempotency-key"] for request in server.requests}
    assert len(keys) == 1 and len({request.content for request in server.requests}) == 1
    await server.client().session("a").append(text_message("user", "Hello", id="1"))
    assert server.requests[-1].headers["idempotency-key"] not in keys


async def test_a_write_whose_answer_was_lost_stays_so_though_the_server_fails_afterwards() -> None:
    failed = httpx.Response(500, json={"code": "STORE_FAILED", "detail": "The disk is full."})
    with pytest.raises(ConnectionLostError, match="cut"):
        await Server(httpx.RemoteProtocolError("cut"), failed).client().session("a").append(text_message("user", "Hi"))
    with pytest.raises(ServerError, match="The disk is full"):
        await Server(failed).client().session("a").append(text_message("user", "Hi"))


async def test_it_waits_as_long_as_the_server_says() -> None:
    server = Server(httpx.Response(429, headers={"retry-after": "1"}), APPENDED)
    began = time.monotonic()
    await server.client().session("a").append(text_message("user", "Hello"))
    assert time.monotonic() - began >= 1
    later = Server(
        httpx.Response(429, headers={"retry-after": "3600"}, json={"code": "RATE_LIMITED", "detail": "Wait."})
    )
    with pytest.raises(RateLimitError, match="Wait") as limited:
        await later.client().limits()
    assert limited.value.code == "RATE_LIMITED" and len(later.requests) == 1


async def test_it_gives_up_when_the_time_is_over() -> None:
    for answer, error, code in (
        (httpx.ConnectError("refused"), ConnectionLostError, "CONNECTION_LOST"),
        (httpx.Response(503, json={"code": "STORE_LOCKED", "detail": "Locked."}), ServerError, "STORE_LOCKED"),
    ):
        server = Server(answer)
        with pytest.raises(error) as failed:
            await server.client(retry_for=0.3).limits()
        assert failed.value.code == code and len(server.requests) > 1
        once = Server(answer)
        with pytest.raises(error):
            await once.client(retry_for=0).limits()
        assert len(once.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 412, 413, 500, 501])
async def test_a_refusal_is_final(status: int) -> None:
    server = Server(httpx.Response(status, text="<html>", headers={"x-request-id": "r1"}))
    with pytest.raises(StemmaError) as refused:
        await server.client().limits()
    assert (refused.value.code, refused.value.status) == (f"HTTP_{status}", status)
    assert refused.value.request_id == "r1" and len(server.requests) == 1


async def test_an_answer_of_another_server_is_an_error() -> None:
    for answer in (
        httpx.Response(200, text="<html>"),
        httpx.Response(302, headers={"location": "https://example.com"}),
    ):
        with pytest.raises(StemmaError):
            await Server(answer).client().limits()


async def test_a_stream_that_is_cut_is_an_error() -> None:
    message = json.dumps(text_message("user", "a", id="1"))
    cut = Server(httpx.Response(200, stream=Cut(f"{message}\n{message[:9]}".encode())))
    read: list[str] = []
    with pytest.raises(ConnectionLostError):
        async for each in cut.client().session("a").stream_messages():
            read.append(each.id)
    assert read == ["1"]
    later = Server(httpx.Response(503), httpx.Response(200, text=message))
    assert [each.id async for each in later.client().session("a").stream_messages()] == ["1"]


class Cut(httpx.AsyncByteStream):
    def __init__(self, data: bytes) -> None:
        self.data = data

    async def __aiter__(self):  # type: ignore[no-untyped-def]
        yield self.data
        raise httpx.ReadError("cut")


async def test_changes_go_on_behind_the_last_one() -> None:
    def event(id: str, kind: str) -> str:
        return (
            f"retry: 1\n\n: nothing\n\nid: {id}\ndata: "
            + json.dumps({"session": "a", "kind": kind, "change": id})
            + "\n\n"
        )

    server = Server(
        httpx.Response(200, text=event("1", "changed")),
        httpx.ReadError("cut"),
        httpx.Response(200, text=event("2", "deleted")),
    )
    assert [each.id async for each in server.client().session("a").changes()] == ["1", "2"]
    assert [request.url.params.get("after") for request in server.requests] == [None, "1", "1"]


@pytest.mark.parametrize(
    "send",
    [
        lambda stemma: stemma.session("a").set_record("state", "key", float("nan")),
        lambda stemma: stemma.session("a").set_record("state", "key", {1, 2}),
        lambda stemma: stemma.memory("user:ada").set_block("notes", "x", if_match="ä"),
        lambda stemma: stemma.session("a").message("\ud800"),
        lambda stemma: stemma.session("a").append("a text"),
    ],
)
async def test_what_cannot_be_sent_has_a_code(send: Callable[[AsyncStemma], Any]) -> None:
    server = Server(APPENDED)
    with pytest.raises(InvalidRequestError) as caught:
        await send(server.client())
    assert (caught.value.code, server.requests) == ("INVALID_ARGUMENT", [])


@pytest.mark.parametrize("settings", [{"api_key": "schlüssel"}, {"api_key": "k", "base_url": "http://[::1"}])
async def test_settings_that_cannot_be_sent_have_a_code(settings: dict[str, Any]) -> None:
    async with AsyncStemma(**{"base_url": "http://stemma.test", **settings}) as stemma:
        with pytest.raises(InvalidRequestError) as caught:
            await stemma.session("a").append(text_message("user", "Hi"))
    assert caught.value.code == "INVALID_ARGUMENT"


async def test_the_key_is_not_shown() -> None:
    stemma = AsyncStemma(base_url="http://stemma.test", api_key="secret-key")
    assert "secret-key" not in repr(stemma) + repr(vars(stemma._transport))
    await stemma.close()


@pytest.mark.parametrize("is_given", [True, False])
async def test_a_closed_client_sends_nothing(is_given: bool) -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={"data": [], "nextCursor": None})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as given:
        stemma = AsyncStemma(base_url="http://stemma.test", api_key="k", http_client=given if is_given else None)
        async with stemma:
            pass
        await stemma.close()
        with pytest.raises(StemmaError) as caught:
            await stemma.session("a").append(text_message("user", "Hi"))
        with pytest.raises(StemmaError):
            _ = [each async for each in stemma.session("a").messages()]
    assert (caught.value.code, sent) == ("STORE_CLOSED", [])
