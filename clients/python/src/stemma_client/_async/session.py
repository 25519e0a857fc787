import base64
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

from .._input import MessageInput, message_json, messages_json
from .._request import UNSET, Unset, given, id_of, request_of, time_text
from ..models import (
    Change,
    Compaction,
    ErasureReceipt,
    Imported,
    Learned,
    Message,
    RecordLabel,
    Session,
    StoredRecord,
    TreeNode,
    Turn,
    Usage,
)
from .changes import changes_of
from .transport import AsyncTransport


class AsyncSession:
    """One conversation: a tree of messages, of which a path from a root to a leaf is active. Nothing is sent to make one."""

    def __init__(self, transport: AsyncTransport, id: str) -> None:
        self._transport = transport
        self.id = id
        self._path = f"/v1/sessions/{id_of(id)}"

    async def info(self) -> Session:
        """The session's name, metadata and usage. Errors: `SESSION_NOT_FOUND`."""
        return await self._transport.model(Session, request_of("GET", self._path))

    async def update(
        self,
        *,
        name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expected_name: str | None = None,
        if_match: str | None = None,
    ) -> Session:
        """Changes the name, and the fields of the metadata that are given: None removes one. With `expected_name`, a session
        of another name stays as it is. Errors: `SESSION_CONFLICT` where `if_match` is another version's."""
        body = given(name=name, metadata=metadata, expectedName=expected_name)
        return await self._transport.model(Session, request_of("PATCH", self._path, body=body, if_match=if_match))

    async def delete(self, *, if_match: str | None = None) -> ErasureReceipt:
        """Erases the session with everything that is kept for it."""
        return await self._transport.model(ErasureReceipt, request_of("DELETE", self._path, if_match=if_match))

    async def append(
        self,
        messages: MessageInput | Iterable[MessageInput],
        *,
        parent: str | None | Unset = UNSET,
        expected_leaf: str | None | Unset = UNSET,
    ) -> list[str]:
        """Appends messages as one chain, all of it or nothing, and gives the ids of those that were not there. They come below
        the active leaf, or `parent`; None begins a new root. Errors: `LEAF_MOVED` where `expected_leaf` is not the active leaf.
        """
        many = [messages] if isinstance(messages, Message | Mapping) else messages
        body = {"messages": messages_json(many), "parent": parent, "expectedLeaf": expected_leaf}
        answer = await self._transport.json(request_of("POST", f"{self._path}/messages", body=body))
        return list(answer["insertedIds"])

    def messages(
        self,
        *,
        leaf: str | None = None,
        newest_first: bool = False,
        stored: bool = False,
        created_at: bool = False,
        limit: int | None = None,
    ) -> AsyncIterator[Message]:
        """The history page by page, each of `limit` messages. `leaf`: of another path than the active one. `stored`: messages,
        where summaries stand for them. `created_at`: each has a `createdAt`. Errors: `SESSION_NOT_FOUND`."""
        query = {**_history(leaf, newest_first, stored, created_at), "limit": limit}
        return self._transport.pages(Message, request_of("GET", f"{self._path}/messages", query=query))

    async def stream_messages(
        self,
        *,
        leaf: str | None = None,
        newest_first: bool = False,
        stored: bool = False,
        created_at: bool = False,
    ) -> AsyncIterator[Message]:
        """The whole history in one answer, read as it comes. Errors: `CONNECTION_LOST` where it does not come to its end."""
        query = _history(leaf, newest_first, stored, created_at)
        request = request_of("GET", f"{self._path}/messages", query=query, accept="application/x-ndjson")
        async for line in self._transport.lines(request):
            # Pydantic would refuse half of a pair of surrogates.
            yield Message.model_validate(json.loads(line))

    async def recent(self, max_bytes: int, *, min_messages: int = 1, leaf: str | None = None) -> list[Message]:
        """The newest messages whose stored sizes add up to at most `max_bytes`, and at least `min_messages`, oldest first."""
        query = {"maxBytes": max_bytes, "minMessages": min_messages, "leaf": leaf}
        answer = await self._transport.json(request_of("GET", f"{self._path}/messages", query=query))
        return [Message.model_validate(message) for message in answer["data"]]

    async def message(self, message_id: str) -> Message:
        """One message. Errors: `MESSAGE_NOT_FOUND`."""
        return await self._transport.model(Message, request_of("GET", self._message(message_id)))

    async def write(
        self,
        message: MessageInput,
        *,
        parent: str | None | Unset = UNSET,
        if_match: str | None = None,
        only_new: bool = False,
    ) -> bool:
        """Replaces a message, or appends it where there is none; True if it was appended. Errors: `MESSAGE_CHANGED` where
        `if_match` is another version's, `MESSAGE_EXISTS` with `only_new`."""
        body = message_json(message)
        query = {"parent": "" if parent is None else parent}
        path = self._message(str(body.get("id", "")))
        request = request_of("PUT", path, query=query, body=body, if_match=if_match, only_new=only_new)
        return bool((await self._transport.json(request))["inserted"])

    async def write_beside(self, message_id: str, message: MessageInput) -> bool:
        """Appends a message beside another one, as an edit of the user's does: it becomes the active leaf."""
        body = {"message": message_json(message)}
        answer = await self._transport.json(request_of("POST", f"{self._message(message_id)}/siblings", body=body))
        return bool(answer["inserted"])

    async def delete_messages(self, ids: Iterable[str]) -> list[str]:
        """Removes messages; their children are attached to their parents. Gives the ids that were there."""
        body = {"ids": list(ids)}
        answer = await self._transport.json(request_of("POST", f"{self._path}/messages/delete", body=body))
        return list(answer["deletedIds"])

    async def clear(self) -> None:
        """Removes all messages. The session's entry and its memory stay."""
        await self._transport.json(request_of("POST", f"{self._path}/clear"))

    async def leaf(self) -> str | None:
        """The id of the active leaf; None where there is none."""
        answer: str | None = (await self._transport.json(request_of("GET", f"{self._path}/leaf")))["messageId"]
        return answer

    async def set_leaf(self, message_id: str | None, *, expected_leaf: str | None | Unset = UNSET) -> None:
        """Makes a message the active leaf; None stands before the first one. Errors: `LEAF_MOVED`."""
        body = {"messageId": message_id, "expectedLeaf": expected_leaf}
        await self._transport.json(request_of("PUT", f"{self._path}/leaf", body=body))

    async def select(self, message_id: str) -> str | None:
        """Shows the branch of a message, to its newest leaf, whose id it gives."""
        body = {"messageId": message_id}
        answer: str | None = (await self._transport.json(request_of("POST", f"{self._path}/select", body=body)))[
            "messageId"
        ]
        return answer

    async def rewind(self, message_id: str) -> None:
        """Goes back to a message, with the memory as it was then."""
        await self._transport.json(request_of("POST", f"{self._path}/rewind", body={"messageId": message_id}))

    def siblings(self, message_id: str) -> AsyncIterator[Message]:
        """The messages with the same parent, this one among them."""
        return self._transport.pages(Message, request_of("GET", f"{self._message(message_id)}/siblings"))

    def children(self, message_id: str) -> AsyncIterator[Message]:
        """The messages below one."""
        return self._transport.pages(Message, request_of("GET", f"{self._message(message_id)}/children"))

    async def parent(self, message_id: str) -> Message | None:
        """The message above one; None for a root."""
        found = (await self._transport.json(request_of("GET", f"{self._message(message_id)}/parent")))["parent"]
        return None if found is None else Message.model_validate(found)

    def tree(self, *, limit: int | None = None) -> AsyncIterator[TreeNode]:
        """All messages of all branches, the newest first, without their content."""
        return self._transport.pages(TreeNode, request_of("GET", f"{self._path}/tree", query={"limit": limit}))

    async def fork(self, message_id: str, name: str, *, id: str | None = None) -> Session:
        """Copies the path to a message into a new session."""
        body = given(messageId=message_id, name=name, id=id)
        return await self._transport.model(Session, request_of("POST", f"{self._path}/fork", body=body))

    async def split(self, summary: str, *, name: str | None = None) -> Session:
        """Ends the session, and makes a new one that begins with a summary."""
        body = given(summary=summary, name=name)
        return await self._transport.model(Session, request_of("POST", f"{self._path}/split", body=body))

    def compactions(self) -> AsyncIterator[Compaction]:
        """The summaries of the history."""
        return self._transport.pages(Compaction, request_of("GET", f"{self._path}/compactions"))

    async def add_compaction(self, summary: str, from_message_id: str, to_message_id: str) -> Compaction:
        """Lays a summary over a range of messages, which stay stored."""
        body = {"summary": summary, "fromMessageId": from_message_id, "toMessageId": to_message_id}
        return await self._transport.model(Compaction, request_of("POST", f"{self._path}/compactions", body=body))

    async def remove_compaction(self, compaction_id: str) -> None:
        """Removes a summary: its messages are shown again."""
        await self._transport.json(request_of("DELETE", f"{self._path}/compactions/{id_of(compaction_id)}"))

    async def compact(self) -> dict[str, Any] | None:
        """Summarises with the model of the server; None where nothing was due. Errors: `COMPACTION_NOT_CONFIGURED`."""
        answer: dict[str, Any] | None = (await self._transport.json(request_of("POST", f"{self._path}/compact")))[
            "compaction"
        ]
        return answer

    def record_labels(self) -> AsyncIterator[RecordLabel]:
        """The labels under which the session has records."""
        return self._transport.pages(RecordLabel, request_of("GET", f"{self._path}/records"))

    def records(
        self, label: str, *, prefix: str | None = None, descending: bool = False, limit: int | None = None
    ) -> AsyncIterator[StoredRecord]:
        """Records: JSON or bytes of your own, which are kept for the session, in the order of their keys."""
        query = {"prefix": prefix, "descending": descending, "limit": limit}
        return self._transport.pages(
            StoredRecord, request_of("GET", f"{self._path}/records/{id_of(label)}", query=query)
        )

    async def record(self, label: str, key: str) -> StoredRecord:
        """One record: its `value`, or `bytes` in base64 where it is no JSON. Errors: `NOT_FOUND`."""
        return await self._transport.model(StoredRecord, request_of("GET", self._record(label, key)))

    async def record_bytes(self, label: str, key: str) -> bytes:
        """The bytes of a record as they were stored. Errors: `NOT_FOUND`."""
        request = request_of("GET", self._record(label, key), query={"format": "bytes"})
        return base64.b64decode((await self._transport.json(request))["bytes"])

    async def set_record(
        self,
        label: str,
        key: str,
        value: Any,
        *,
        expires_at: datetime | None = None,
        if_match: str | None = None,
        only_new: bool = False,
    ) -> StoredRecord:
        """Writes a record: JSON, or bytes. Errors: `RECORD_CONFLICT` where `if_match` is another version's, or with `only_new`
        there is one."""
        content = {"bytes": base64.b64encode(value).decode()} if isinstance(value, bytes) else {"value": value}
        body = {**content, **given(expiresAt=None if expires_at is None else time_text(expires_at))}
        request = request_of("PUT", self._record(label, key), body=body, if_match=if_match, only_new=only_new)
        return await self._transport.model(StoredRecord, request)

    async def delete_record(self, label: str, key: str, *, if_match: str | None = None) -> None:
        """Deletes a record. Errors: `NOT_FOUND`, `RECORD_CONFLICT`."""
        await self._transport.json(request_of("DELETE", self._record(label, key), if_match=if_match))

    async def turn(
        self,
        *,
        message_id: str | None | Unset = UNSET,
        cache_ttl: float | None = None,
        on_corrupt: Literal["throw", "skip"] | None = None,
        recall: Mapping[str, Any] | None = None,
    ) -> Turn:
        """Prepares a request to a model: the frozen prompt, the messages, and tools as JSON Schema. `recall` is
        `{"userId", "keys", "maxTokens", "maxMs", "rerank", "threshold"}`; `cache_ttl` is in milliseconds."""
        body = given(messageId=message_id, cacheTtl=cache_ttl, onCorrupt=on_corrupt, recall=recall)
        if message_id is None:
            body["messageId"] = None
        return await self._transport.model(Turn, request_of("POST", f"{self._path}/turn", body=body))

    async def run_tool(
        self, tool: str, input: Mapping[str, Any], *, tool_call_id: str | None = None, approved: bool | None = None
    ) -> str:
        """Runs a tool of a turn. What it refuses is an answer for the model, which begins with `Error:`. Errors:
        `TOOL_REFUSED` where the user is to be asked first."""
        body = given(input=dict(input), toolCallId=tool_call_id, approved=approved)
        answer = await self._transport.json(request_of("POST", f"{self._path}/tools/{id_of(tool)}", body=body))
        return str(answer["output"])

    async def learn(self) -> Learned:
        """Learns from what is new, with the function of the server. Errors: `STORE_UNSUPPORTED` where it has none."""
        return await self._transport.model(Learned, request_of("POST", f"{self._path}/learn"))

    async def export(self, format: str | None = None) -> AsyncIterator[str]:
        """The lines of a copy: `jsonl`, which `import_lines` reads, `markdown`, `html`, `openai` or `pi`."""
        request = request_of("GET", f"{self._path}/export", query={"format": format})
        async for line in self._transport.lines(request):
            yield line

    async def import_lines(self, lines: Iterable[str], format: str | None = None) -> Imported:
        """Imports a copy of one session. What is stored stays as it is."""
        sent = "".join(f"{line}\n" for line in lines).encode()
        request = request_of("POST", f"{self._path}/import", query={"format": format}, lines=sent)
        return await self._transport.model(Imported, request)

    def usage(self) -> AsyncIterator[Usage]:
        """What the session's requests to models have used, by day and model."""
        return self._transport.pages(Usage, request_of("GET", f"{self._path}/usage"))

    async def add_usage(
        self, input_tokens: int, output_tokens: int, *, cost: float | None = None, model: str | None = None
    ) -> None:
        """Counts a request to a model. `cost` is in dollars."""
        body = given(inputTokens=input_tokens, outputTokens=output_tokens, cost=cost, model=model)
        await self._transport.json(request_of("POST", f"{self._path}/usage", body=body))

    def changes(self, *, after: str | None = None) -> AsyncIterator[Change]:
        """Each change of the session, without an end. A change may come twice, several may come as one."""
        return changes_of(self._transport, f"{self._path}/changes", after)

    def _record(self, label: str, key: str) -> str:
        return f"{self._path}/records/{id_of(label)}/{id_of(key)}"

    def _message(self, message_id: str) -> str:
        return f"{self._path}/messages/{id_of(message_id)}"


def _history(leaf: str | None, newest_first: bool, stored: bool, created_at: bool) -> dict[str, object]:
    return {
        "leaf": leaf,
        "order": "desc" if newest_first else None,
        "view": "stored" if stored else None,
        "createdAt": created_at or None,
    }
