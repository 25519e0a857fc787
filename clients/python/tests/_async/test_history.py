import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, ModelResponse
from pydantic_ai.models.test import TestModel

from stemma_client import AsyncStemma, text_message
from stemma_client.pydantic_ai import AsyncStemmaHistory

from .test_client import new_id

pytestmark = pytest.mark.anyio


def weather(city: str) -> str:
    """The weather."""
    return f"Rain in {city}"


async def test_a_history_of_pydantic_ai_comes_back_as_it_was() -> None:
    async with AsyncStemma() as stemma:
        history = AsyncStemmaHistory(stemma, new_id())
        assert await history.load() == []
        agent = Agent(TestModel(), tools=[weather], system_prompt="Be short.")
        first = await agent.run("The weather?", message_history=await history.load())
        await history.append(first.new_messages())
        assert await history.load() == first.all_messages()
        second = await agent.run("Sure?", message_history=await history.load())
        await history.append(second.new_messages())
        assert await history.load() == second.all_messages()
        assert ModelMessagesTypeAdapter.dump_json(await history.load()) == second.all_messages_json()


async def test_other_programs_and_pydantic_ai_share_a_history() -> None:
    async with AsyncStemma() as stemma:
        chat = stemma.session(new_id())
        history = AsyncStemmaHistory(stemma, chat.id)
        tool = {"type": "tool-weather", "toolCallId": "c", "state": "output-available", "input": {"city": "Ulm"}}
        answer = {
            "id": "2",
            "role": "assistant",
            "parts": [{"type": "text", "text": "Sun."}, {**tool, "output": "blue"}],
        }
        await chat.append([text_message("user", "Hello", id="1"), answer])
        given = await history.load()
        assert [type(message) for message in given] == [ModelRequest, ModelResponse, ModelRequest]
        agent = Agent(TestModel(custom_output_text="Yes."))
        await history.append((await agent.run("Sure?", message_history=given)).new_messages())
        shown = [(message.role, [part.to_json() for part in message.parts]) async for message in chat.messages()]
        assert shown[2:] == [
            ("user", [{"type": "text", "text": "Sure?"}]),
            ("assistant", [{"type": "text", "text": "Yes."}]),
        ]
