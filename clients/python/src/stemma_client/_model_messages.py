"""Messages of Pydantic AI as those of a session."""

from collections.abc import Iterable, Sequence
from typing import cast

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from ._items import Json, call_part, item_of, json_of, message_of, result_part, text_part, tool_of
from .models import Message

_NAME = "pydanticAi"


def to_messages(given: Sequence[ModelMessage]) -> list[Json]:
    items = cast(list[Json], ModelMessagesTypeAdapter.dump_python(list(given), mode="json"))
    return [message_of(_NAME, item, _role_of(item), _parts_of(item)) for item in items]


def from_messages(messages: Iterable[Message]) -> list[ModelMessage]:
    items = [item for message in messages for item in _items_of(message)]
    return ModelMessagesTypeAdapter.validate_python(items)


def _role_of(item: Json) -> str:
    kinds = {part["part_kind"] for part in item["parts"]}
    if item["kind"] == "response":
        return "assistant"
    return "user" if "user-prompt" in kinds or not kinds else "system" if kinds == {"system-prompt"} else "assistant"


def _parts_of(item: Json) -> list[Json]:
    """What a message says to other programs."""
    return [shown for part in item["parts"] for shown in _shown(part)]


def _shown(part: Json) -> list[Json]:
    content = part.get("content")
    match part["part_kind"]:
        case "user-prompt":
            texts = [content] if isinstance(content, str) else content or []
            return [text_part(text) for text in texts if isinstance(text, str)]
        case "text":
            return [text_part(str(content))]
        case "thinking":
            return [{"type": "reasoning", "text": str(content)}]
        case "tool-call":
            return [call_part(part["tool_name"], part["tool_call_id"], json_of(part.get("args")))]
        case "tool-return":
            return [result_part(part["tool_name"], part["tool_call_id"], content)]
        case _:
            return []


def _items_of(message: Message) -> list[Json]:
    """The message that was given; of another program's, those that say the same."""
    item = item_of(_NAME, message)
    if item is not None:
        return [item]
    parts = [part.to_json() for part in message.parts]
    texts = [str(part["text"]) for part in parts if part["type"] == "text" and "text" in part]
    if message.role != "assistant":
        kind = "system-prompt" if message.role == "system" else "user-prompt"
        said = [{"part_kind": kind, "content": text} for text in texts]
        return [{"kind": "request", "parts": said}] if said else []
    calls = [(*tool, part) for part in parts if (tool := tool_of(part)) is not None]
    answers = [
        *[{"part_kind": "text", "content": text} for text in texts],
        *[
            {"part_kind": "tool-call", "tool_name": name, "tool_call_id": id, "args": part.get("input") or {}}
            for name, id, part in calls
            if part["type"] != "tool-result"
        ],
    ]
    results = [
        {"part_kind": "tool-return", "tool_name": name, "tool_call_id": id, "content": _output_of(part)}
        for name, id, part in calls
    ]
    return [
        *([{"kind": "response", "parts": answers}] if answers else []),
        *([{"kind": "request", "parts": results}] if results else []),
    ]


def _output_of(part: Json) -> object:
    return part.get("output", part.get("errorText", "The call was interrupted. Whether it ran is not known."))
