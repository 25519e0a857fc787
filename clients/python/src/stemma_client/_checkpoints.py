"""How a thread's checkpoints and their writes lie in the memory of a session, as entries with a value and no text."""

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from .errors import InvalidRequestError
from .models import Entry

CHECKPOINTS = "langgraph checkpoints"
WRITES = "langgraph writes"

Json = dict[str, Any]

_FIRST, _LAST = 0x20, 0x7E


@dataclass(frozen=True)
class Place:
    """The checkpoint that a config names; the latest one of the namespace where `id` is None."""

    thread_id: str
    namespace: str
    id: str | None

    @staticmethod
    def of(config: RunnableConfig) -> "Place":
        configurable = config.get("configurable", {})
        thread_id = configurable.get("thread_id")
        if thread_id is None:
            raise InvalidRequestError("The config names no thread_id.", code="INVALID_ARGUMENT")
        return Place(str(thread_id), configurable.get("checkpoint_ns", ""), get_checkpoint_id(config))

    @property
    def owner(self) -> str:
        return f"session:{self.thread_id}"

    @property
    def prefix(self) -> str:
        """Begins the keys of all checkpoints of the namespace."""
        return quote(self.namespace, safe="") + "/"

    @property
    def key(self) -> str:
        return self.prefix + _descending(self.id or "")

    @property
    def writes_prefix(self) -> str:
        return self.key + "/"

    def writes_key(self, task_id: str) -> str:
        return self.writes_prefix + quote(task_id, safe="")

    def at(self, id: str) -> "Place":
        return Place(self.thread_id, self.namespace, id)

    @property
    def config(self) -> RunnableConfig:
        return {
            "configurable": {
                "thread_id": self.thread_id,
                "checkpoint_ns": self.namespace,
                "checkpoint_id": self.id,
            }
        }


def _descending(id: str) -> str:
    """A text that sorts the other way round: entries are listed by their keys, and the latest checkpoint has the greatest id."""
    if not all(_FIRST <= ord(sign) <= _LAST for sign in id):
        raise InvalidRequestError("The id of a checkpoint is ASCII.", code="INVALID_ARGUMENT")
    return "".join(chr(_FIRST + _LAST - ord(sign)) for sign in id) + chr(_LAST)


def value_of(entry: Entry) -> Json:
    return cast(Json, entry.value)


def pack(serde: SerializerProtocol, value: Any) -> list[str]:
    kind, data = serde.dumps_typed(value)
    return [kind, base64.b64encode(data).decode()]


def unpack(serde: SerializerProtocol, packed: Sequence[str]) -> Any:
    kind, data = packed
    return serde.loads_typed((kind, base64.b64decode(data)))


def checkpoint_value(
    serde: SerializerProtocol, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
) -> Json:
    place = Place.of(config)
    return {
        "namespace": place.namespace,
        "id": checkpoint["id"],
        "parent": place.id,
        "checkpoint": pack(serde, checkpoint),
        "metadata": pack(serde, get_checkpoint_metadata(config, metadata)),
    }


def merged_writes(
    serde: SerializerProtocol, known: Json | None, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
) -> Json:
    """A task's writes with new ones. What a step wrote stays; errors, interrupts and the like are replaced."""
    kept = {index: [index, *rest] for index, *rest in (known or {}).get("writes", [])}
    for number, (channel, value) in enumerate(writes):
        index = WRITES_IDX_MAP.get(channel, number)
        if index < 0 or index not in kept:
            kept[index] = [index, channel, task_path, *pack(serde, value)]
    return {"task": task_id, "writes": list(kept.values())}


def pending_writes(serde: SerializerProtocol, values: Iterable[Json]) -> list[PendingWrite]:
    """The writes of a checkpoint's tasks, in the order in which a run applies them."""
    found = [(value["task"], *write) for value in values for write in value["writes"]]
    found.sort(key=lambda write: writes_sort_key(write[3], write[0], write[1]))
    return [(task, channel, unpack(serde, packed)) for task, _, channel, _, *packed in found]


def tuple_of(serde: SerializerProtocol, place: Place, value: Json, writes: Iterable[Json]) -> CheckpointTuple:
    parent = value["parent"]
    return CheckpointTuple(
        config=place.at(value["id"]).config,
        checkpoint=unpack(serde, value["checkpoint"]),
        metadata=unpack(serde, value["metadata"]),
        parent_config=None if parent is None else place.at(parent).config,
        pending_writes=pending_writes(serde, writes),
    )


def matches(serde: SerializerProtocol, value: Json, filter: Json | None) -> bool:
    if not filter:
        return True
    metadata = cast(Json, unpack(serde, value["metadata"]))
    return all(metadata.get(name) == wanted for name, wanted in filter.items())
