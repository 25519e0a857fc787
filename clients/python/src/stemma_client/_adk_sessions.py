import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Iterable
from typing import Any

from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from google.adk.sessions.session import Session

from ._adk_events import is_of, to_events, to_message
from ._adk_state import AdkState, SessionKey, Values, merged, sessions_prefix
from ._async.client import AsyncStemma
from .errors import NotFoundError
from .models import Message
from .models import Session as Info

_PAGE = 200
_AT_ONCE = 8

APP, USER, SESSION = "adkApp", "adkUser", "adkSession"
_UPDATED, _MADE = "adkUpdated", "adkMade"


class StemmaSessionService(BaseSessionService):
    """Sessions of Google's ADK on a server: `Runner(agent=agent, app_name="app", session_service=StemmaSessionService(stemma))`.

    Events come back as they were, in the order in which they were appended; of messages that other programs wrote, those that
    say the same. An event is appended whoever else wrote meanwhile, and of its state each value replaces the one before. State of
    a user is in the user's memory, state of an app in that of the key `adk`. The client is yours to close. What the server
    refuses is a `StemmaError`.
    """

    def __init__(self, stemma: AsyncStemma) -> None:
        self._stemma = stemma
        self._state = AdkState(stemma)

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Makes a session, which is the user's on the server, too. Errors: `AlreadyExistsError`."""
        key = SessionKey(app_name, user_id, session_id or str(uuid.uuid4()))
        made, updated = str(uuid.uuid4()), time.time()
        info = await register(self._stemma, key, {_MADE: made, _UPDATED: updated})
        if info.metadata.get(_MADE) != made:
            raise AlreadyExistsError(f"Session with id {key.session} already exists.")
        await self._state.write(key, state or {})
        return _session(key, info, await self._state.read(key))

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """A session with its state and events. With `after_timestamp`, they begin behind the last one that is older."""
        key = SessionKey(app_name, user_id, session_id)
        try:
            info, state, events = await asyncio.gather(
                self._stemma.session(key.id).info(), self._state.read(key), self._events(key, config)
            )
        except NotFoundError:
            return None
        return _session(key, info, state, events)

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """The sessions of a user, or of all users, without their events. The state of each is a request of its own."""
        prefix = sessions_prefix(app_name, user_id)
        found = [(info, _key_of(info)) async for info in self._stemma.sessions(prefix=prefix, limit=_PAGE)]
        app = await self._state.app(app_name)
        users = {user: await self._state.user(app_name, user) for user in {key.user for _, key in found}}
        slots = asyncio.Semaphore(_AT_ONCE)

        async def listed(info: Info, key: SessionKey) -> list[Session]:
            async with slots:
                try:
                    own = await self._state.session(key.id)
                except NotFoundError:
                    # Deleted meanwhile.
                    return []
            return [_session(key, info, merged(own, users[key.user], app))]

        sessions = [each for some in await asyncio.gather(*(listed(*each) for each in found)) for each in some]
        sessions.sort(key=lambda each: (each.last_update_time, each.user_id, each.id))
        return ListSessionsResponse(sessions=sessions)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Erases a session with its events and its state. State of its user and its app stays."""
        try:
            await self._stemma.session(SessionKey(app_name, user_id, session_id).id).delete()
        except NotFoundError:
            pass

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """The state of a user in an app, without the prefix `user:`."""
        return await self._state.user(app_name, user_id)

    async def append_event(self, session: Session, event: Event) -> Event:
        """Writes the state, then the event. One that is stored already is not appended again. Errors: `SessionNotFoundError`."""
        if event.partial:
            return event
        key = SessionKey(session.app_name, session.user_id, session.id)
        chat = self._stemma.session(key.id)
        try:
            # An append would make a session that was deleted.
            await chat.update(metadata={_UPDATED: event.timestamp})
        except NotFoundError:
            raise SessionNotFoundError(f"Session {session.id} not found.") from None
        await self._state.write(key, event.actions.state_delta)
        if not await chat.append(to_message(event)):
            if not is_of(await chat.message(event.id), event):
                # Another event has its id.
                await chat.append(to_message(event, str(uuid.uuid4())))
            elif any(each.id == event.id for each in session.events):
                return event
        await super().append_event(session=session, event=event)
        session.last_update_time = event.timestamp
        return event

    async def _events(self, key: SessionKey, config: GetSessionConfig | None) -> list[Event]:
        most = config.num_recent_events if config is not None else None
        after = config.after_timestamp if config is not None else None
        chat = self._stemma.session(key.id)
        if most is None and after is None:
            messages = chat.stream_messages(stored=True, created_at=True)
            return [event async for message in messages for event in to_events(message)]
        newest: list[Event] = []
        if most == 0:
            return newest
        page = min(_PAGE, most or _PAGE)
        async for event in _newest_first(chat.messages(newest_first=True, stored=True, created_at=True, limit=page)):
            if after is not None and event.timestamp < after:
                break
            newest.append(event)
            if len(newest) == most:
                break
        return newest[::-1]


async def _newest_first(messages: AsyncIterator[Message]) -> AsyncIterator[Event]:
    async for message in messages:
        for event in reversed(to_events(message)):
            yield event


async def register(stemma: AsyncStemma, key: SessionKey, metadata: Values) -> Info:
    """Registers a session; one that is there stays as it is."""
    names = {APP: key.app, USER: key.user, SESSION: key.session}
    return await stemma.create_session(
        key.app, id=key.id, user_id=key.user, source="adk", metadata={**names, **metadata}
    )


def _key_of(info: Info) -> SessionKey:
    return SessionKey(*(str(info.metadata[name]) for name in (APP, USER, SESSION)))


def _session(key: SessionKey, info: Info, state: Values, events: Iterable[Event] = ()) -> Session:
    updated = float(info.metadata.get(_UPDATED) or info.updated_at.timestamp())
    return Session(
        id=key.session,
        app_name=key.app,
        user_id=key.user,
        state=state,
        events=list(events),
        last_update_time=updated,
    )
