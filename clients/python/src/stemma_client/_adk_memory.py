from collections.abc import Mapping, Sequence

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai.types import Content, Part

from ._adk_events import to_message
from ._adk_sessions import APP, USER, register
from ._adk_state import SessionKey
from ._async.client import AsyncStemma
from .models import Hit

_MOST_MESSAGES = 1_000
_REMEMBERED = "adkMemory"
_NO_SESSION = "memory"


class StemmaMemoryService(BaseMemoryService):
    """Memory of Google's ADK on a server: `Runner(…, memory_service=StemmaMemoryService(stemma))`.

    A search finds messages of all sessions of the user in the app that were added, whichever service keeps them; one of
    `StemmaSessionService` is only marked, and what is appended to it later is found, too. `limit` is how many are found at most. The
    client is yours to close. What the server refuses is a `StemmaError`.
    """

    def __init__(self, stemma: AsyncStemma, *, limit: int = 10) -> None:
        self._stemma = stemma
        self._limit = limit

    async def add_session_to_memory(self, session: Session) -> None:
        """Adds a session. Events that were added before are not added again."""
        await self._add(SessionKey(session.app_name, session.user_id, session.id), session.events)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Adds some events of a session. `custom_metadata` is not kept."""
        await self._add(SessionKey(app_name, user_id, session_id or _NO_SESSION), events)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """The messages that a query finds, the best first, in one request. Their id is the event's."""
        wanted = {APP: app_name, USER: user_id, _REMEMBERED: True}
        memories: list[MemoryEntry] = []
        async for hit in self._stemma.search(query, session_metadata=wanted, limit=self._limit):
            memories.append(_memory_of(hit))
            if len(memories) == self._limit:
                break
        return SearchMemoryResponse(memories=memories)

    async def _add(self, key: SessionKey, events: Sequence[Event]) -> None:
        await register(self._stemma, key, {})
        chat = self._stemma.session(key.id)
        await chat.update(metadata={_REMEMBERED: True})
        messages = [to_message(event) for event in events if not event.partial]
        for start in range(0, len(messages), _MOST_MESSAGES):
            await chat.append(messages[start : start + _MOST_MESSAGES])


def _memory_of(hit: Hit) -> MemoryEntry:
    role = "user" if hit.role == "user" else "model"
    return MemoryEntry(
        id=hit.id,
        content=Content(role=role, parts=[Part(text=hit.content)]),
        author=hit.name or role,
        timestamp=hit.created_at.isoformat(),
    )
