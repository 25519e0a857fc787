"""Items of frameworks as messages: parts show an item to every other program, the metadata keeps it as it was."""

import json
import uuid
from typing import Any

from .models import Message

Json = dict[str, Any]


def message_of(name: str, item: Json, role: str, parts: list[Json], id: str | None = None) -> Json:
    """A message of one item of the framework `name`."""
    return {"id": id or str(uuid.uuid4()), "role": role, "parts": parts, "metadata": {name: {"item": item}}}


def item_of(name: str, message: Message) -> Json | None:
    """The item of `message_of`; None for a message that others wrote."""
    metadata = message.metadata
    saved = metadata.get(name) if isinstance(metadata, dict) else None
    item = saved.get("item") if isinstance(saved, dict) else None
    return item if isinstance(item, dict) else None


def text_part(text: str) -> Json:
    return {"type": "text", "text": text}


def call_part(name: str, call_id: str, input: Any) -> Json:
    part = {"type": "dynamic-tool", "toolName": name, "toolCallId": call_id, "state": "input-available"}
    return {**part, "input": input}


def result_part(name: str, call_id: str, output: Any) -> Json:
    return {"type": "tool-result", "toolName": name, "toolCallId": call_id, "output": output}


def json_of(text: Any) -> Any:
    """What a text holds as JSON; the text itself where it holds none."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def tool_of(part: Json) -> tuple[str, str] | None:
    """The name and the id of the call that a part is, or is the result of; null for any other part."""
    call_id, type = part.get("toolCallId"), str(part.get("type"))
    if not isinstance(call_id, str):
        return None
    return str(part.get("toolName") or type.removeprefix("tool-")), call_id
