from collections.abc import AsyncIterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from .._checkpoints import (
    CHECKPOINTS,
    WRITES,
    Json,
    Place,
    checkpoint_value,
    matches,
    merged_writes,
    tuple_of,
    value_of,
)
from ..errors import ConflictError, NotFoundError
from ..models import Entry
from .client import AsyncStemma
from .memory import AsyncMemory

_PAGE = 200


class AsyncStemmaSaver(BaseCheckpointSaver[int]):
    """Checkpoints of LangGraph in a server: a thread is the session of that id, in whose memory they are entries.

    Each checkpoint is one write, and so are the writes of a task. `delete_thread` erases the whole memory of the session; its
    messages stay. The ids of checkpoints are ASCII. The client is yours to close.
    """

    def __init__(self, stemma: AsyncStemma, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self._stemma = stemma

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that the config names, or the latest one; None where there is none."""
        place = Place.of(config)
        memory = self._stemma.memory(place.owner)
        try:
            if place.id is not None:
                found = await memory.entry(CHECKPOINTS, place.key)
                return await self._tuple(memory, place, value_of(found))
            async for entry in memory.entries(CHECKPOINTS, prefix=place.prefix, limit=1):
                return await self._tuple(memory, place, value_of(entry))
        except NotFoundError:
            pass
        return None

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Checkpoints of a thread, or without a config of all threads, the latest of each namespace first."""
        left = limit
        end = None if before is None else Place.of(before).id
        async for place, value in self._stored(config):
            if left is not None and left <= 0:
                return
            if (end is None or value["id"] < end) and matches(self.serde, value, filter):
                yield await self._tuple(self._stemma.memory(place.owner), place, value)
                left = None if left is None else left - 1

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Stores a checkpoint with the values of all its channels."""
        place = Place.of(config).at(checkpoint["id"])
        value = checkpoint_value(self.serde, config, checkpoint, metadata)
        await self._stemma.memory(place.owner).set_entry(CHECKPOINTS, place.key, "", value=value)
        return place.config

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Stores what a task wrote after a checkpoint. The same writes again change nothing."""
        place = Place.of(config)
        memory = self._stemma.memory(place.owner)
        key = place.writes_key(task_id)
        known: Entry | None = None
        while True:
            value = merged_writes(self.serde, value_of(known) if known else None, writes, task_id, task_path)
            etag = known.etag if known else None
            try:
                await memory.set_entry(WRITES, key, "", value=value, if_match=etag, only_new=known is None)
                return
            except ConflictError as error:
                if error.code != "ENTRY_CONFLICT":
                    raise
            try:
                known = await memory.entry(WRITES, key)
            except NotFoundError:
                known = None

    async def adelete_thread(self, thread_id: str) -> None:
        """Erases the memory of the session."""
        await self._stemma.memory(f"session:{thread_id}").erase()

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies all checkpoints and writes, each in a request of its own."""
        source, target = self._stemma.memory(f"session:{source_thread_id}"), f"session:{target_thread_id}"
        for label in (WRITES, CHECKPOINTS):
            for key, value in await self._entries(source, label):
                await self._stemma.memory(target).set_entry(label, key, "", value=value)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Removes all checkpoints but the latest of each namespace, or with `delete` all of them."""
        for thread_id in thread_ids:
            kept: set[str] = set()
            memory = self._stemma.memory(f"session:{thread_id}")
            for _, value in await self._entries(memory, CHECKPOINTS):
                namespace = value["namespace"]
                if strategy == "delete" or namespace in kept:
                    await self._remove(memory, Place(thread_id, namespace, value["id"]))
                kept.add(namespace)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Removes the checkpoints of runs. It reads all threads."""
        runs = set(run_ids)
        found = [
            place.at(value["id"])
            async for place, value in self._stored(None)
            if any(matches(self.serde, value, {"run_id": run}) for run in runs)
        ]
        for place in found:
            await self._remove(self._stemma.memory(place.owner), place)

    async def _stored(self, config: RunnableConfig | None) -> AsyncIterator[tuple[Place, Json]]:
        if config is None:
            async for session in self._stemma.sessions():
                for _, value in await self._entries(self._stemma.memory(f"session:{session.id}"), CHECKPOINTS):
                    yield Place(session.id, value["namespace"], None), value
            return
        place = Place.of(config)
        is_one = "checkpoint_ns" in config.get("configurable", {})
        prefix = place.prefix if is_one else ""
        for _, value in await self._entries(self._stemma.memory(place.owner), CHECKPOINTS, prefix):
            if place.id is None or value["id"] == place.id:
                yield Place(place.thread_id, value["namespace"], None), value

    async def _tuple(self, memory: AsyncMemory, place: Place, value: Json) -> CheckpointTuple:
        at = place.at(value["id"])
        writes = await self._entries(memory, WRITES, at.writes_prefix)
        return tuple_of(self.serde, at, value, [value for _, value in writes])

    async def _entries(self, memory: AsyncMemory, label: str, prefix: str = "") -> Sequence[tuple[str, Json]]:
        try:
            return [(entry.key, value_of(entry)) async for entry in memory.entries(label, prefix=prefix, limit=_PAGE)]
        except NotFoundError:
            # Nobody has written to the session.
            return []

    async def _remove(self, memory: AsyncMemory, place: Place) -> None:
        for key, _ in await self._entries(memory, WRITES, place.writes_prefix):
            await memory.delete_entry(WRITES, key, keep_versions=False)
        await memory.delete_entry(CHECKPOINTS, place.key, keep_versions=False)
