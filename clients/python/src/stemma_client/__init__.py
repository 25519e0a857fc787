"""Memory for agents: the client of a Stemma server. `Stemma` waits, `AsyncStemma` is awaited; both do the same."""

from ._async.client import AsyncStemma
from ._async.memory import AsyncMemory
from ._async.session import AsyncSession
from ._input import MessageInput, text_message
from ._request import UNSET, Unset
from ._sync.client import Stemma
from ._sync.memory import SyncMemory
from ._sync.session import SyncSession
from .errors import (
    AuthenticationError,
    ConflictError,
    ConnectionLostError,
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
    RateLimitError,
    ServerError,
    StemmaError,
    UnsupportedError,
)

__all__ = [
    "UNSET",
    "AsyncMemory",
    "AsyncSession",
    "AsyncStemma",
    "AuthenticationError",
    "ConflictError",
    "ConnectionLostError",
    "ForbiddenError",
    "InvalidRequestError",
    "MessageInput",
    "NotFoundError",
    "RateLimitError",
    "ServerError",
    "Stemma",
    "StemmaError",
    "SyncMemory",
    "SyncSession",
    "UnsupportedError",
    "Unset",
    "text_message",
]
