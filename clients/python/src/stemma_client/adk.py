"""Google's ADK on a server: `Runner(…, session_service=StemmaSessionService(stemma), memory_service=StemmaMemoryService(stemma))`."""

from ._adk_memory import StemmaMemoryService
from ._adk_sessions import StemmaSessionService

__all__ = ["StemmaMemoryService", "StemmaSessionService"]
