"""What answers hold that the document of the server has no name for."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from ._model import Model
from .models import Message


class Tool(Model):
    """A tool of a turn, which `run_tool` runs."""

    name: str
    description: str
    input_schema: Annotated[dict[str, Any], Field(alias="inputSchema")]
    needs_approval: Annotated[bool, Field(alias="needsApproval")]
    """The user may have to be asked before it is called."""


class TurnRecall(Model):
    results: list[dict[str, Any]]
    tokens: float
    ms: float
    is_late: Annotated[bool, Field(alias="isLate")]


class Turn(Model):
    """A request to a model."""

    system: str
    messages: list[Message]
    tools: list[Tool]
    changes: list[str]
    """The labels of blocks whose change this turn tells."""
    recalled: TurnRecall
    refreshed: Literal[False] | str
    prefix_hash: Annotated[str, Field(alias="prefixHash")]


class Recall(TurnRecall):
    """What a memory holds about a text; `text` has it for the model."""

    text: str


class Counted(Model):
    input_tokens: Annotated[int, Field(alias="inputTokens")]
    output_tokens: Annotated[int, Field(alias="outputTokens")]
    cost: float


class Learned(Model):
    """What a session's learning has done. `failed` has the code of a failure."""

    messages: int
    edits: int
    usage: Counted
    failed: str | None
    is_more_due: Annotated[bool, Field(alias="isMoreDue")]


class Usage(Counted):
    """Requests of a session on a day to a model."""

    day: str
    model: str
    requests: int


class UsageSum(Counted):
    """Requests of a day, of a model or of a session, by `name`."""

    name: str
    requests: int


class Labelled(Model):
    label: str
    count: int


class Imported(Model):
    inserted: int
    skipped: int


class Change(Model):
    """A session that changed. `id` is where `changes` goes on behind it."""

    id: str
    session: str
    kind: Literal["changed", "deleted"]
    change: str


class Token(Model):
    """A short-lived token of a user, for a browser."""

    token: str
    expires_at: Annotated[datetime, Field(alias="expiresAt")]


class Limits(Model):
    max_body_bytes: Annotated[int, Field(alias="maxBodyBytes")]
    max_messages: Annotated[int, Field(alias="maxMessages")]
    default_limit: Annotated[int, Field(alias="defaultLimit")]
    max_limit: Annotated[int, Field(alias="maxLimit")]
