from typing import Any, cast

import pytest
from agents import Agent, RunConfig, Runner, SessionSettings, TResponseInputItem, function_tool
from agents.memory.session import Session
from agents.testing import ScriptedModel, assistant_message, function_call

from stemma_client import AsyncStemma, text_message
from stemma_client.openai_agents import StemmaSession

from ._async.test_client import new_id

pytestmark = pytest.mark.anyio

ITEMS = cast(
    list[TResponseInputItem],
    [
        {"role": "user", "content": "What is the weather in Leipzig?"},
        {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "I ask."}]},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"Leipzig"}', "id": "f1"},
        {"type": "function_call_output", "call_id": "c1", "output": "Rain"},
        {
            "type": "message",
            "role": "assistant",
            "id": "m1",
            "status": "completed",
            "content": [{"type": "output_text", "text": "It rains.\u2028", "annotations": [], "logprobs": None}],
        },
        {
            "role": "user",
            "content": [{"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"}],
        },
    ],
)


async def test_items_come_back_as_they_were_given() -> None:
    async with AsyncStemma() as stemma:
        session = StemmaSession(stemma, new_id())
        assert isinstance(session, Session)
        assert await session.get_items() == [] and await session.pop_item() is None
        await session.clear_session()
        await session.add_items([])
        await session.add_items(ITEMS[:2])
        await session.add_items(ITEMS[2:])
        assert await session.get_items() == ITEMS
        assert await session.get_items(2) == ITEMS[-2:] and await session.get_items(0) == []
        assert (
            await StemmaSession(stemma, session.session_id, session_settings=SessionSettings(limit=3)).get_items()
            == ITEMS[-3:]
        )
        for item in reversed(ITEMS):
            assert await session.pop_item() == item
        assert await session.pop_item() is None
        await session.add_items(ITEMS[:1])
        assert await session.get_items() == ITEMS[:1]
        await session.clear_session()
        assert await session.get_items() == []


async def test_long_histories_are_written_and_read() -> None:
    async with AsyncStemma() as stemma:
        session = StemmaSession(stemma, new_id())
        items = cast(list[TResponseInputItem], [{"role": "user", "content": str(number)} for number in range(2_100)])
        await session.add_items(items)
        assert await session.get_items() == items and await session.get_items(500) == items[-500:]


async def test_other_programs_see_the_conversation_and_take_part() -> None:
    async with AsyncStemma() as stemma:
        chat = stemma.session(new_id())
        session = StemmaSession(stemma, chat.id)
        await session.add_items(ITEMS)
        shown = [message async for message in chat.messages()]
        assert [message.role for message in shown] == ["user", *["assistant"] * 4, "user"]
        assert [part.type for message in shown for part in message.parts] == [
            "text", "reasoning", "dynamic-tool", "tool-result", "text",
        ]  # fmt: skip
        tool: dict[str, Any] = {"type": "tool-weather", "toolCallId": "c2", "state": "output-available"}
        parts = [{"type": "text", "text": "Sun."}, {**tool, "input": {"city": "Ulm"}, "output": {"sky": "blue"}}]
        await chat.append({"id": new_id(), "role": "assistant", "parts": parts})
        assert (await session.get_items())[len(ITEMS) :] == [
            {"role": "assistant", "content": "Sun."},
            {"type": "function_call", "call_id": "c2", "name": "weather", "arguments": '{"city": "Ulm"}'},
            {"type": "function_call_output", "call_id": "c2", "output": '{"sky": "blue"}'},
        ]
        popped = await session.pop_item()
        assert popped is not None and popped.get("type") == "function_call_output"
        assert len(await session.get_items()) == len(ITEMS) + 2


async def test_a_run_remembers_the_one_before() -> None:
    @function_tool
    def weather(city: str) -> str:
        """The weather."""
        return f"Rain in {city}"

    call = function_call("weather", {"city": "Leipzig"}, call_id="c1")
    model = ScriptedModel([[call], [assistant_message("It rains.")], [assistant_message("Yes.")]])
    agent = Agent(name="a", model=model, tools=[weather])
    config = RunConfig(tracing_disabled=True)
    async with AsyncStemma() as stemma:
        session = StemmaSession(stemma, new_id())
        await stemma.session(session.session_id).append(text_message("user", "I live in Leipzig."))
        assert (await Runner.run(agent, "The weather?", session=session, run_config=config)).final_output == "It rains."
        assert (await Runner.run(agent, "Sure?", session=session, run_config=config)).final_output == "Yes."
        asked = cast(list[dict[str, Any]], model.calls[-1].input)
        assert [item.get("type") or item["role"] for item in asked] == [
            "user", "user", "function_call", "function_call_output", "message", "user",
        ]  # fmt: skip
        assert asked[0]["content"] == "I live in Leipzig." and asked[3]["output"] == "Rain in Leipzig"
