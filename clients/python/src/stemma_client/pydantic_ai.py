"""Histories of Pydantic AI: `AsyncStemmaHistory` for `agent.run`, `StemmaHistory` for `agent.run_sync`."""

from ._async.history import AsyncStemmaHistory
from ._sync.history import StemmaHistory

__all__ = ["AsyncStemmaHistory", "StemmaHistory"]
