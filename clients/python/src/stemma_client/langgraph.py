"""Checkpoints of LangGraph: `graph.compile(checkpointer=StemmaSaver(stemma))`, or `AsyncStemmaSaver` for `ainvoke`."""

from ._async.saver import AsyncStemmaSaver
from ._sync.saver import StemmaSaver

__all__ = ["AsyncStemmaSaver", "StemmaSaver"]
