"""Sessions of the OpenAI Agents SDK: `Runner.run(agent, "Hi", session=StemmaSession(stemma, "chat"))`."""

from typing import Any, cast

from agents.items import TResponseInputItem
from agents.memory.session import SessionABC
from agents.memory.session_settings import SessionSettings, coerce_session_settings, resolve_session_limit

from ._async.client import AsyncStemma
from ._items import Json, call_part, item_of, json_of, message_of, result_part, text_of, text_part, tool_of
from .errors import ConflictError, NotFoundError
from .models import Message

_NAME = "openaiAgentsPython"
_MOST_MESSAGES = 1_000
_PAGE = 200
_TEXTS = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text"})


class StemmaSession(SessionABC):
    """A session of a server as the `session` of a run.

    `get_items` gives back what `add_items` was given, and of messages that other programs wrote the items that say the same.
    `pop_item` moves the active leaf back: the item stays stored. The client is yours to close. What the server refuses is
    a `StemmaError`.
    """

    def __init__(
        self, stemma: AsyncStemma, session_id: str, *, session_settings: SessionSettings | dict[str, Any] | None = None
    ) -> None:
        self.session_id = session_id
        self.session_settings = coerce_session_settings(session_settings or {})
        self._session = stemma.session(session_id)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The newest items, at most `limit`, oldest first."""
        most = resolve_session_limit(limit, self.session_settings)
        newest: list[Json] = []
        try:
            async for message in self._session.messages(newest_first=True, limit=_PAGE):
                if most is not None and len(newest) >= most:
                    break
                newest += reversed(_items_of(message))
        except NotFoundError:
            # Nothing was written yet.
            pass
        return _typed(newest[: None if most is None else max(0, most)][::-1])

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Appends items, of each 1,000 all or none."""
        messages = [_message(dict(item)) for item in items]
        for start in range(0, len(messages), _MOST_MESSAGES):
            await self._session.append(messages[start : start + _MOST_MESSAGES])

    async def pop_item(self) -> TResponseInputItem | None:
        """Takes the newest item out of the history; None where there is none."""
        while True:
            newest = await self._newest(2)
            if not newest:
                return None
            leaf, parent = newest[0].id, newest[1].id if len(newest) > 1 else None
            items = _items_of(newest[0])
            remaining = [_message(item) for item in items[:-1]]
            try:
                if remaining:
                    await self._session.append(remaining, parent=parent, expected_leaf=leaf)
                else:
                    await self._session.set_leaf(parent, expected_leaf=leaf)
            except ConflictError as error:
                # Another program wrote in between.
                if error.code != "LEAF_MOVED":
                    raise
            else:
                if items:
                    return _typed(items[-1:])[0]

    async def clear_session(self) -> None:
        """Removes all items."""
        try:
            await self._session.clear()
        except NotFoundError:
            pass

    async def _newest(self, count: int) -> list[Message]:
        found: list[Message] = []
        try:
            async for message in self._session.messages(newest_first=True, limit=count):
                found.append(message)
                if len(found) == count:
                    break
        except NotFoundError:
            pass
        return found


def _typed(items: list[Json]) -> list[TResponseInputItem]:
    return cast(list[TResponseInputItem], items)


def _message(item: Json) -> Json:
    role = item.get("role")
    shown = {"user": "user", "system": "system", "developer": "system"}.get(str(role), "assistant")
    return message_of(_NAME, item, shown, _parts_of(item))


def _parts_of(item: Json) -> list[Json]:
    """What an item says to other programs."""
    call_id = item.get("call_id")
    if isinstance(call_id, str) and str(item.get("type")).endswith("_output"):
        return [result_part(str(item.get("type")).removesuffix("_output"), call_id, json_of(item.get("output")))]
    if isinstance(call_id, str):
        name = item.get("name") or str(item.get("type")).removesuffix("_call")
        return [call_part(str(name), call_id, json_of(item.get("arguments", item.get("action"))))]
    if item.get("type") == "reasoning":
        blocks = item.get("content") or item.get("summary")
        return [{"type": "reasoning", "text": text} for text in _texts_of(blocks)]
    return [text_part(text) for text in _texts_of(item.get("content"))]


def _texts_of(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content] if content else []
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") in _TEXTS]
    return [text for text in texts if isinstance(text, str)]


def _items_of(message: Message) -> list[Json]:
    """The items of a message: the one that was given, or of another program's those that say the same."""
    item = item_of(_NAME, message)
    if item is not None:
        return [item]
    parts = [part.to_json() for part in message.parts]
    text = "\n".join(str(part["text"]) for part in parts if part["type"] == "text" and "text" in part)
    calls = [(*tool, part) for part in parts if (tool := tool_of(part)) is not None]
    return [
        *([{"role": message.role, "content": text}] if text else []),
        *[
            {"type": "function_call", "call_id": id, "name": name, "arguments": text_of(part.get("input", {}))}
            for name, id, part in calls
            if part["type"] != "tool-result"
        ],
        # A call without a result is refused by the model's provider.
        *[{"type": "function_call_output", "call_id": id, "output": _output_of(part)} for _, id, part in calls],
    ]


def _output_of(part: Json) -> str:
    if "output" in part:
        return text_of(part["output"])
    return text_of(part.get("errorText", "The call was interrupted. Whether it ran is not known."))
