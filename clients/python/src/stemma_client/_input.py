"""What callers may give."""

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from .errors import InvalidRequestError
from .models import Message

MessageInput = Message | Mapping[str, Any]


def text_message(role: str, text: str, *, id: str | None = None, metadata: Any = None) -> dict[str, Any]:
    """A message of a text. Its id is a new one unless `id` is given."""
    message: dict[str, Any] = {"id": id or str(uuid.uuid4()), "role": role, "parts": [{"type": "text", "text": text}]}
    return message if metadata is None else {**message, "metadata": metadata}


def message_json(message: MessageInput) -> dict[str, Any]:
    """Errors: `INVALID_ARGUMENT` for what is no message."""
    if not isinstance(message, Message | Mapping):
        given = type(message).__name__
        text = f"A message is a Message, or a dict as text_message() gives it; got {given}."
        raise InvalidRequestError(text, code="INVALID_ARGUMENT")
    return message.to_json() if isinstance(message, Message) else dict(message)


def messages_json(messages: Iterable[MessageInput]) -> list[dict[str, Any]]:
    return [message_json(message) for message in messages]
