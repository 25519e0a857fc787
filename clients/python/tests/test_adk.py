import asyncio
import math
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types

from stemma_client import AsyncStemma
from stemma_client.adk import StemmaMemoryService, StemmaSessionService

from ._async.test_client import new_id

pytestmark = pytest.mark.anyio


def said(text: str, author: str = "user", **fields: Any) -> Event:
    role = "user" if author == "user" else "model"
    content = types.Content(role=role, parts=[types.Part(text=text)])
    return Event(author=author, invocation_id="i", content=content, **fields)


async def read(service: StemmaSessionService, session: Session, config: GetSessionConfig | None = None) -> Session:
    found = await service.get_session(
        app_name=session.app_name, user_id=session.user_id, session_id=session.id, config=config
    )
    assert found is not None
    return found


def full_event() -> Event:
    return Event(
        author="gardener",
        invocation_id="i",
        branch="root.gardener",
        content=types.Content(
            role="model",
            parts=[
                types.Part(text="I look.", thought=True, thought_signature=b"\xff\x00"),
                types.Part(text="Wait.\u2028"),
                types.Part(function_call=types.FunctionCall(id="c", name="dig", args={"depth": 2**70, "at": 1.0})),
                types.Part.from_bytes(data=b"\x00\xff", mime_type="image/png"),
            ],
        ),
        actions=EventActions(
            state_delta={"none": None, "deep": [None, {"a": None}], "big": 2**70, "whole": 1.0},
            artifact_delta={"plan.txt": 3},
            transfer_to_agent="other",
            escalate=True,
            requested_tool_confirmations={"c": ToolConfirmation(hint="Dig?", payload={"depth": 1})},
        ),
        long_running_tool_ids={"c", "d"},
        grounding_metadata=types.GroundingMetadata(web_search_queries=["quince"]),
        usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=7),
        custom_metadata={"a": {"b": [1, None]}},
        output_transcription=types.Transcription(text="I dig.", finished=True),
        error_code="E",
        error_message="m",
        interrupted=True,
        turn_complete=True,
        timestamp=1700000000.1234567,
    )


async def test_events_come_back_as_they_were_and_in_order() -> None:
    async with AsyncStemma() as stemma:
        service = StemmaSessionService(stemma)
        session = await service.create_session(app_name="my/app", user_id=new_id(), session_id="a b/~")
        # The second is older than the first: the order is that of the appends.
        for event in (full_event(), said("Late", timestamp=1.5), Event(author="system")):
            await service.append_event(session, event)
        again = await read(service, session)
        assert again == session and [event.author for event in again.events] == ["gardener", "user", "system"]
        assert again.events[0].model_dump_json() == session.events[0].model_dump_json()
        assert type(again.events[0].actions.state_delta["whole"]) is float
        assert type(again.state["whole"]) is float and again.state["big"] == 2**70
        assert again.state["none"] is None and again.last_update_time == session.events[-1].timestamp


async def test_state_is_kept_where_its_prefix_says() -> None:
    app, ada, bob = new_id(), new_id(), new_id()
    async with AsyncStemma() as stemma:
        service = StemmaSessionService(stemma)
        given = {"own": (1, 2), "user:name": "Ada", "app:open": True, "temp:x": 1, "nan": math.nan, "odd": object}
        session = await service.create_session(app_name=app, user_id=ada, state=given)
        assert session.state["own"] == [1, 2] and "temp:x" not in session.state
        assert math.isnan(session.state["nan"]) and "object" in session.state["odd"]
        delta = {"own": 3, "user:name": "Eve", "user:age": 9, "app:open": False, "temp:x": 2}
        event = said("Hi", actions=EventActions(state_delta=delta))
        await service.append_event(session, event)
        assert session.state["temp:x"] == 2 and "temp:x" not in event.actions.state_delta
        assert "temp:x" not in (await read(service, session)).state
        others = await service.create_session(app_name=app, user_id=bob)
        assert others.state == {"app:open": False}
        assert (await service.create_session(app_name=new_id(), user_id=ada)).state == {}
        assert await service.get_user_state(app_name=app, user_id=ada) == {"name": "Eve", "age": 9}
        listed = (await service.list_sessions(app_name=app)).sessions
        assert [each.user_id for each in listed] == [ada, bob] and listed[0].state["own"] == 3
        assert [each.events for each in listed] == [[], []]
        assert [each.id for each in (await service.list_sessions(app_name=app, user_id=bob)).sessions] == [others.id]
        assert (await service.list_sessions(app_name=app, user_id="nobody")).sessions == []


async def test_an_append_does_not_fail_where_others_wrote() -> None:
    async with AsyncStemma() as stemma, AsyncStemma() as second:
        services = [StemmaSessionService(stemma), StemmaSessionService(second)]
        first = await services[0].create_session(app_name="a", user_id=new_id())
        stale = [await read(services[number % 2], first) for number in range(20)]

        async def append(number: int) -> None:
            event = said(f"Text {number}", actions=EventActions(state_delta={f"key {number}": number}))
            await services[number % 2].append_event(stale[number], event)

        await asyncio.gather(*(append(number) for number in range(20)))
        last = await read(services[0], first)
        assert len(last.events) == 20 and last.state == {f"key {number}": number for number in range(20)}


async def test_an_event_that_comes_again_is_stored_once_and_another_with_its_id_too() -> None:
    async with AsyncStemma() as stemma:
        service = StemmaSessionService(stemma)
        session = await service.create_session(app_name="a", user_id=new_id())
        event = said("Once", id="e")
        other = await read(service, session)
        await service.append_event(session, event)
        await service.append_event(session, event.model_copy(deep=True))
        await service.append_event(other, event)
        assert session.events == [event] and other.events == [event]
        await service.append_event(session, said("Another", id="e"))
        assert (await read(service, session)).events == session.events and len(session.events) == 2


async def test_a_session_that_is_gone_takes_no_events() -> None:
    async with AsyncStemma() as stemma:
        service = StemmaSessionService(stemma)
        session = await service.create_session(app_name="a", user_id=new_id(), state={"a": 1})
        place: dict[str, Any] = {"app_name": "a", "user_id": session.user_id, "session_id": session.id}
        with pytest.raises(AlreadyExistsError):
            await service.create_session(**place)
        await service.delete_session(**place)
        await service.delete_session(**place)
        assert await service.get_session(**place) is None
        with pytest.raises(SessionNotFoundError):
            await service.append_event(session, said("Hi"))
        assert await service.get_session(**place) is None
        assert (await service.create_session(**place)).state == {}
        assert (await service.append_event(session, said("Half", partial=True))).partial
        assert (await read(service, session)).events == []


async def test_the_newest_events_are_read_without_the_others() -> None:
    async with AsyncStemma() as stemma:
        service = StemmaSessionService(stemma)
        session = await service.create_session(app_name="a", user_id=new_id())
        for number in range(1, 6):
            await service.append_event(session, said(str(number), timestamp=float(number)))

        async def times(**fields: Any) -> list[float]:
            return [event.timestamp for event in (await read(service, session, GetSessionConfig(**fields))).events]

        assert await times() == [1, 2, 3, 4, 5]
        assert await times(num_recent_events=3) == [3, 4, 5] and await times(num_recent_events=9) == [1, 2, 3, 4, 5]
        assert await times(num_recent_events=0) == [] and await times(after_timestamp=99.0) == []
        assert await times(after_timestamp=4.0) == [4, 5] and await times(after_timestamp=0.0) == [1, 2, 3, 4, 5]
        assert await times(after_timestamp=2.0, num_recent_events=3) == [3, 4, 5]


async def test_other_programs_see_the_conversation_and_take_part() -> None:
    async with AsyncStemma() as stemma:
        service = StemmaSessionService(stemma)
        session = await service.create_session(app_name="a", user_id=new_id(), session_id="s")
        await service.append_event(session, said("When is the medlar ripe?"))
        await service.append_event(session, full_event())
        answer = types.FunctionResponse(id="c", name="dig", response={"found": "roots"})
        content = types.Content(role="user", parts=[types.Part(function_response=answer)])
        await service.append_event(session, Event(author="gardener", content=content))
        chat = stemma.session(f"adk/a/{session.user_id}/s")
        shown = [(message.role, [part.type for part in message.parts]) async for message in chat.messages()]
        assert shown == [
            ("user", ["text"]),
            ("assistant", ["text", "reasoning", "text", "dynamic-tool"]),
            ("assistant", ["tool-result"]),
        ]
        hits = [hit async for hit in stemma.search("medlar", session_ids=[chat.id])]
        assert [hit.content for hit in hits] == ["When is the medlar ripe?"]
        info = await chat.info()
        assert info.user_id == session.user_id and info.name == "a"
        tool = {"type": "tool-weather", "toolCallId": "w", "input": {"city": "Ulm"}, "output": "Sun"}
        parts = [{"type": "text", "text": "In November."}, tool, {**tool, "toolCallId": "v", "output": {"sky": 1}}]
        await chat.append({"id": "m", "role": "assistant", "parts": parts, "createdAt": "2026-11-02T10:00:00.000Z"})
        await chat.append({"id": "n", "role": "user", "parts": [{"type": "text", "text": "Thanks."}]})
        told, results, thanks = (await read(service, session)).events[3:]
        assert told.author == "model" and told.timestamp == 1793613600.0
        assert [call.args for call in told.get_function_calls()] == [{"city": "Ulm"}, {"city": "Ulm"}]
        assert [result.response for result in results.get_function_responses()] == [{"result": "Sun"}, {"sky": 1}]
        assert thanks.author == "user" and thanks.content is not None and thanks.content.parts is not None
        assert thanks.content.parts[0].text == "Thanks."


async def test_what_no_text_may_hold_stops_no_turn() -> None:
    async with AsyncStemma() as stemma:
        service = StemmaSessionService(stemma)
        session = await service.create_session(app_name="a", user_id=new_id())
        for text in ("half \ud800 of a pair", "a \0 byte", ""):
            event = said(text, timestamp=1e300, actions=EventActions(state_delta={"text": text}))
            await service.append_event(session, event)
            assert (await read(service, session)).state == {"text": text}
        assert (await read(service, session)).events == session.events


class Scripted(BaseLlm):
    """A model that calls a tool, then tells what it was sent."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        if not any(part.function_response for part in parts):
            call = types.FunctionCall(name="weather", args={"city": "Leipzig"})
            made = [types.Part(function_call=call)]
        else:
            made = [types.Part(text=f"Rain, after {sum(part.text is not None for part in parts)} texts.")]
        yield LlmResponse(content=types.Content(role="model", parts=made))


def weather(city: str) -> str:
    """The weather."""
    return f"Rain in {city}"


async def test_a_run_remembers_the_one_before() -> None:
    async with AsyncStemma() as stemma:
        service = StemmaSessionService(stemma)
        agent = LlmAgent(name="forecaster", model=Scripted(model="s"), tools=[weather], output_key="user:last")
        runner = Runner(agent=agent, app_name="a", session_service=service)
        session = await service.create_session(app_name="a", user_id=new_id())
        answers = []
        for question in ("The weather?", "Sure?"):
            message = types.Content(role="user", parts=[types.Part(text=question)])
            async for event in runner.run_async(user_id=session.user_id, session_id=session.id, new_message=message):
                if event.is_final_response() and event.content and event.content.parts:
                    answers.append(event.content.parts[0].text)
        assert answers == ["Rain, after 1 texts.", "Rain, after 3 texts."]
        found = await read(service, session)
        assert [event.author for event in found.events] == ["user", *["forecaster"] * 3, "user", "forecaster"]
        assert found.state == {"user:last": answers[1]}


async def test_a_memory_finds_the_sessions_that_were_added() -> None:
    app, ada = new_id(), new_id()
    async with AsyncStemma() as stemma:
        sessions, memory = StemmaSessionService(stemma), StemmaMemoryService(stemma, limit=2)

        async def found(query: str, user: str = ada) -> list[str]:
            response = await memory.search_memory(app_name=app, user_id=user, query=query)
            return [part.text or "" for entry in response.memories for part in entry.content.parts or []]

        own = await sessions.create_session(app_name=app, user_id=ada)
        await sessions.append_event(own, said("The quince stands in Leipzig.", "gardener", timestamp=1.6e9))
        assert await found("quince") == []
        await memory.add_session_to_memory(own)
        await memory.add_session_to_memory(own)
        assert await found("quince") == ["The quince stands in Leipzig."]
        assert await read(sessions, own) == own
        entry = (await memory.search_memory(app_name=app, user_id=ada, query="quince")).memories[0]
        assert (entry.author, entry.id) == ("gardener", own.events[0].id)
        assert entry.timestamp == "2020-09-13T12:26:40+00:00"

        others = InMemorySessionService()
        foreign = await others.create_session(app_name=app, user_id=ada)
        for number in range(3):
            await others.append_event(foreign, said(f"Medlar {number}"))
        await memory.add_session_to_memory(foreign)
        await memory.add_events_to_memory(app_name=app, user_id=ada, events=[said("A walnut")])
        assert len(await found("medlar")) == 2 and await found("walnut") == ["A walnut"]
        assert await found("quince", "bob") == [] and await found("") == []
        assert (await memory.search_memory(app_name="another", user_id=ada, query="quince")).memories == []
