"""LangGraph on a server: `graph.compile(checkpointer=StemmaSaver(stemma), store=StemmaStore(stemma))`, or with `Async` for `ainvoke`."""

import asyncio
from collections.abc import Iterable

from langgraph.store.base import BaseStore, Op, Result

from ._async.client import AsyncStemma
from ._async.items import AsyncItems
from ._async.saver import AsyncStemmaSaver
from ._sync.client import Stemma
from ._sync.items import SyncItems
from ._sync.saver import StemmaSaver

__all__ = ["AsyncStemmaSaver", "AsyncStemmaStore", "StemmaSaver", "StemmaStore"]

_OWNER = "key:langgraph"


class StemmaStore(BaseStore):
    """Long-term memory of LangGraph: items are entries of `owner`, which `stemma/langgraph` reads, too.

    A query finds items that hold its words, the best first; with a filter, among the best 200. Each write is a request of its own.
    """

    __slots__ = ("_items",)

    def __init__(self, stemma: Stemma, *, owner: str = _OWNER) -> None:
        self._items = SyncItems(stemma, owner)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self._items.batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self._items.batch, list(ops))


class AsyncStemmaStore(BaseStore):
    """The items of `StemmaStore` for `ainvoke`. Its synchronous methods are refused: they would block the event loop."""

    __slots__ = ("_items",)

    def __init__(self, stemma: AsyncStemma, *, owner: str = _OWNER) -> None:
        self._items = AsyncItems(stemma, owner)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        raise NotImplementedError("Use StemmaStore where nothing is awaited.")

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await self._items.batch(ops)
