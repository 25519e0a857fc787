from operator import add
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from stemma_client import AsyncStemma
from stemma_client.langgraph import AsyncStemmaSaver

from .test_client import new_id

pytestmark = pytest.mark.anyio


class State(TypedDict):
    said: Annotated[list[str], add]


def ask(state: State) -> dict[str, Any]:
    return {"said": [interrupt("How old?")]}


def answer(state: State) -> dict[str, Any]:
    return {"said": [f"after {len(state['said'])}"]}


async def test_a_graph_goes_on_where_it_was_interrupted() -> None:
    async with AsyncStemma() as stemma:
        builder = StateGraph(State)
        builder.add_node("ask", ask)
        builder.add_node("answer", answer)
        builder.add_edge(START, "ask")
        builder.add_edge("ask", "answer")
        builder.add_edge("answer", END)
        config: RunnableConfig = {"configurable": {"thread_id": new_id()}}
        graph = builder.compile(checkpointer=AsyncStemmaSaver(stemma))
        paused = await graph.ainvoke({"said": ["hello"]}, config)
        assert paused["__interrupt__"][0].value == "How old?"
        # Another process.
        graph = builder.compile(checkpointer=AsyncStemmaSaver(stemma))
        assert (await graph.ainvoke(Command(resume="42"), config))["said"] == ["hello", "42", "after 2"]
        history = [state.values.get("said", []) async for state in graph.aget_state_history(config)]
        assert history[0] == ["hello", "42", "after 2"] and history[-1] == []
        await graph.aupdate_state(config, {"said": ["more"]})
        assert (await graph.aget_state(config)).values["said"][-1] == "more"
        assert [hit async for hit in stemma.search("hello", session_ids=[config["configurable"]["thread_id"]])] == []


async def test_the_same_writes_again_change_nothing_and_others_at_once_are_kept() -> None:
    async with AsyncStemma() as stemma:
        saver = AsyncStemmaSaver(stemma)
        config: RunnableConfig = {"configurable": {"thread_id": new_id(), "checkpoint_ns": "", "checkpoint_id": "c1"}}
        await saver.aput_writes(config, [("a", 1), ("b", 2)], "task")
        await saver.aput_writes(config, [("a", 9), ("b", 9), ("__error__", "x")], "task")
        await saver.aput_writes(config, [("__error__", "y")], "task")
        memory = stemma.memory(f"session:{config['configurable']['thread_id']}")
        entries = [entry async for entry in memory.entries("langgraph writes")]
        assert [[write[:2] for write in (entry.value or {})["writes"]] for entry in entries] == [
            [[0, "a"], [1, "b"], [-1, "__error__"]]
        ]
