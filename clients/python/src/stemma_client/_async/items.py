from collections.abc import AsyncIterator, Iterable

from langgraph.store.base import GetOp, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp

from .._store_items import LABEL, entry_key, fits, item_of, key_prefix, namespaces_of, search_item_of, searchable_text
from ..errors import NotFoundError
from ..models import Entry
from .client import AsyncStemma

_PAGE = 200


class AsyncItems:
    """The items of a store of LangGraph, in an owner's memory."""

    def __init__(self, stemma: AsyncStemma, owner: str) -> None:
        self._memory = stemma.memory(owner)

    async def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Makes operations one after the other; those that read see what was there before."""
        all = list(ops)
        results = [await self._read(op) for op in all]
        for op in {(op.namespace, op.key): op for op in all if isinstance(op, PutOp)}.values():
            await self._write(op)
        return results

    async def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return await self._get(op)
        if isinstance(op, SearchOp):
            return await self._search(op)
        if isinstance(op, ListNamespacesOp):
            return namespaces_of([entry.key async for entry in self._entries("")], op)
        return None

    async def _get(self, op: GetOp) -> Item | None:
        try:
            return item_of(await self._memory.entry(LABEL, entry_key(op.namespace, op.key)))
        except NotFoundError:
            return None

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        prefix, end = key_prefix(op.namespace_prefix), op.offset + op.limit
        found: list[Entry] = []
        if op.query:
            # The server searches up to so many; a filter is looked at here.
            found = list(await self._memory.search(LABEL, op.query, prefix=prefix, limit=_PAGE))
            found = [entry for entry in found if fits(entry.value, op.filter or {})]
        else:
            async for entry in self._entries(prefix):
                if len(found) >= end:
                    break
                if fits(entry.value, op.filter or {}):
                    found.append(entry)
        return [search_item_of(entry) for entry in found[op.offset : end]]

    async def _write(self, op: PutOp) -> None:
        key = entry_key(op.namespace, op.key)
        if op.value is not None:
            await self._memory.set_entry(LABEL, key, searchable_text(op.value, op.index), value=op.value)
            return
        try:
            await self._memory.delete_entry(LABEL, key, keep_versions=False)
        except NotFoundError:
            pass

    def _entries(self, prefix: str) -> AsyncIterator[Entry]:
        return self._memory.entries(LABEL, prefix=prefix, limit=_PAGE)
