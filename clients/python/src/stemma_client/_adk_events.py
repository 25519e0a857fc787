"""Events of Google's ADK as messages of a session."""

import json
from datetime import UTC, datetime
from typing import Any

from google.adk.events.event import Event
from google.adk.sessions.state import State

from ._items import Json, call_part, item_of, message_of, result_part, text_part, tool_of
from .models import Message

_NAME = "adk"
_FOREIGN_AUTHOR = "model"


def event_json(event: Event) -> str:
    """The event without what its invocation alone needs. As a text: JavaScript would round its large numbers."""
    saved = event.model_dump(mode="json", exclude_none=True)
    delta = saved["actions"]["state_delta"]
    saved["actions"]["state_delta"] = {
        name: value for name, value in delta.items() if not name.startswith(State.TEMP_PREFIX)
    }
    return json.dumps(saved)


def to_message(event: Event, id: str | None = None) -> Json:
    role = "user" if event.author == "user" else "assistant"
    message = message_of(_NAME, {"event": event_json(event)}, role, _parts_of(event), id or event.id)
    if role == "assistant" and event.author:
        message["metadata"]["name"] = event.author
    created_at = _time_of(event.timestamp)
    return message if created_at is None else {**message, "createdAt": created_at}


def is_of(message: Message, event: Event) -> bool:
    """Whether a message holds just this event."""
    return item_of(_NAME, message) == {"event": event_json(event)}


def to_events(message: Message) -> list[Event]:
    """The event that was given; of another program's message, those that say the same."""
    item = item_of(_NAME, message)
    return _said_by_others(message) if item is None else [Event.model_validate(json.loads(item["event"]))]


def _time_of(timestamp: float) -> str | None:
    try:
        return datetime.fromtimestamp(timestamp, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        # No time of a calendar. The event has it as it is.
        return None


def _parts_of(event: Event) -> list[Json]:
    """What an event says to other programs."""
    content = event.content
    heard = [each.text for each in (event.input_transcription, event.output_transcription) if each is not None]
    parts = [text_part(text) for text in heard if text]
    for part in (content.parts if content is not None else None) or []:
        if part.text:
            parts.append({"type": "reasoning", "text": part.text} if part.thought else text_part(part.text))
        call, result = part.function_call, part.function_response
        if call is not None:
            parts.append(call_part(call.name or "", call.id or "", _plain(call.args)))
        if result is not None:
            parts.append(result_part(result.name or "", result.id or "", _plain(result.response)))
    return parts


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=repr))


def _said_by_others(message: Message) -> list[Event]:
    parts = [part.to_json() for part in message.parts]
    said: list[Json] = [{"text": part["text"]} for part in parts if part["type"] == "text" and part.get("text")]
    calls = [(*tool, part) for part in parts if (tool := tool_of(part)) is not None]
    said += [
        {"functionCall": {"id": id, "name": name, "args": _object(part.get("input"))}}
        for name, id, part in calls
        if part["type"] != "tool-result"
    ]
    results = [
        {"functionResponse": {"id": id, "name": name, "response": _response_of(part)}} for name, id, part in calls
    ]
    is_user = message.role == "user"
    shared: Json = {"author": "user" if is_user else _FOREIGN_AUTHOR}
    created_at = (message.model_extra or {}).get("createdAt")
    if isinstance(created_at, str):
        shared["timestamp"] = datetime.fromisoformat(created_at).timestamp()
    events = [
        (message.id, "user" if is_user else "model", said),
        # A call without a result is refused by the model.
        (f"{message.id}/results", "user", results),
    ]
    return [
        Event.model_validate({**shared, "id": id, "content": {"role": role, "parts": given}})
        for id, role, given in events
        if given
    ]


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {} if value is None else {"input": value}


def _response_of(part: Json) -> Json:
    if "output" in part:
        output = part["output"]
        return output if isinstance(output, dict) else {"result": output}
    return {"error": part.get("errorText", "The call was interrupted. Whether it ran is not known.")}
