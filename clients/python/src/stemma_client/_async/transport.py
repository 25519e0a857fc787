from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import httpx
from anyio import sleep
from anyio.lowlevel import current_token

from .._model import Model
from .._request import (
    Events,
    Lines,
    Request,
    Retries,
    Settings,
    assert_sendable,
    lost,
    read_answer,
    refusal_of,
    sendable,
)
from ..errors import StemmaError

M = TypeVar("M", bound=Model)

# A stream of changes is silent for 15 seconds at most.
_LEAST_SILENCE = 60.0


class AsyncTransport:
    """Sends requests, again where that may help, and reads their answers."""

    def __init__(self, settings: Settings, timeout: float, http_client: httpx.AsyncClient | None) -> None:
        self._settings = settings
        self._timeout = timeout
        self._given = http_client
        self._own: httpx.AsyncClient | None = None
        self._loop: object = None
        self._is_closed = False

    async def close(self) -> None:
        self._is_closed = True
        own, self._own = self._own, None
        if own is not None and self._loop == current_token():
            await own.aclose()

    async def answer(self, request: Request) -> httpx.Response:
        """The answer, read whole. Errors: `CONNECTION_LOST`."""
        return await self._send(request, self._timeout, False)

    async def json(self, request: Request) -> Any:
        """The JSON of the answer. Errors: what the server refuses."""
        return read_answer(await self.answer(request))

    async def model(self, model: type[M], request: Request) -> M:
        answer = await self.answer(request)
        read = model.model_validate(read_answer(answer))
        read._etag = answer.headers.get("etag")
        return read

    async def pages(self, model: type[M], request: Request) -> AsyncIterator[M]:
        """The items of a list, which are asked for page by page."""
        page = request
        while True:
            answer = await self.json(page)
            for item in answer["data"]:
                yield model.model_validate(item)
            cursor = answer.get("nextCursor")
            if cursor is None:
                return
            page = page.behind(cursor)

    async def lines(self, request: Request, timeout: float | None = None) -> AsyncIterator[str]:
        """The lines of an answer as they come. Errors: `CONNECTION_LOST` where it does not come to its end."""
        async with self._stream(request, timeout or self._timeout) as response:
            lines = Lines()
            async for data in response.aiter_bytes():
                for line in lines.feed(data):
                    yield line
            for line in lines.end():
                yield line

    async def events(self, request: Request) -> AsyncIterator[tuple[str, Any]]:
        """The id and the data of each event, until the server ends the stream."""
        events = Events()
        async for line in self.lines(request, max(self._timeout, _LEAST_SILENCE)):
            for event in events.feed(line):
                yield event

    @asynccontextmanager
    async def _stream(self, request: Request, timeout: float) -> AsyncIterator[httpx.Response]:
        response = await self._send(request, timeout, True)
        try:
            if response.status_code >= 300:
                await response.aread()
                raise refusal_of(response)
            yield response
        except httpx.RequestError as failure:
            raise lost(failure) from failure
        finally:
            await response.aclose()

    async def _send(self, request: Request, timeout: float, stream: bool) -> httpx.Response:
        retries = Retries(self._settings.retry_for)
        unanswered: httpx.RequestError | None = None
        while True:
            response = None
            try:
                client = self._client()
                response = await client.send(self._built(client, request, timeout), stream=stream)
            except httpx.RequestError as error:
                assert_sendable(error)
                unanswered = error
            delay = retries.delay_after(response)
            # A server that fails could not look what came of the request before.
            is_decided = response is not None and (unanswered is None or response.status_code < 500)
            if delay is None and response is not None and is_decided:
                return response
            if response is not None:
                await response.aclose()
            if delay is None and unanswered is not None:
                raise lost(unanswered) from unanswered
            await sleep(delay or 0)

    def _client(self) -> httpx.AsyncClient:
        if self._is_closed:
            raise StemmaError("The client was closed.", code="STORE_CLOSED")
        if self._given is not None:
            return self._given
        # Connections belong to the event loop that opened them, and programs may call `asyncio.run` several times.
        loop = current_token()
        if self._own is None or loop != self._loop:
            self._own = httpx.AsyncClient()
            self._loop = loop
        return self._own

    def _built(self, client: httpx.AsyncClient, request: Request, timeout: float) -> httpx.Request:
        with sendable():
            return client.build_request(
                request.method,
                self._settings.base_url + request.path,
                params=dict(request.query) or None,
                headers={**request.headers, "authorization": f"Bearer {self._settings.api_key}"},
                content=request.content,
                timeout=timeout,
            )
