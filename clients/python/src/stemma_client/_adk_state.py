"""The state of ADK's sessions, users and apps: an entry for each value, so that two writers replace no value of each other's."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from google.adk.sessions.state import State
from pydantic_core import to_jsonable_python

from ._async.client import AsyncStemma

LABEL = "adk state"
_APP_OWNER = "key:adk"
_PAGE = 200

Values = dict[str, Any]


@dataclass(frozen=True)
class SessionKey:
    """The names that a session has in ADK."""

    app: str
    user: str
    session: str

    @property
    def id(self) -> str:
        """The session's id on the server: ADK's are only unique for a user of an app."""
        return sessions_prefix(self.app, self.user) + quote(self.session, safe="")


def sessions_prefix(app: str, user: str | None = None) -> str:
    """Begins the ids of all sessions of an app, or of a user in it."""
    return "/".join(["adk", *(quote(name, safe="") for name in (app, user) if name is not None), ""])


def plain(state: Values) -> Values:
    """Values as JSON has them; what it cannot have is written as its `repr`."""
    made = to_jsonable_python(state, serialize_unknown=True, bytes_mode="base64", by_alias=False)
    return {str(name): value for name, value in made.items()}


class AdkState:
    """Reads and writes state by the prefixes that ADK's names have: `app:`, `user:`, none; `temp:` is not kept."""

    def __init__(self, stemma: AsyncStemma) -> None:
        self._stemma = stemma

    async def write(self, key: SessionKey, delta: Values) -> None:
        """Replaces the values of a delta."""
        kept = {name: value for name, value in plain(delta).items() if not name.startswith(State.TEMP_PREFIX)}
        await asyncio.gather(*(self._write(*self._place(key, name), value) for name, value in kept.items()))

    async def read(self, key: SessionKey) -> Values:
        """All that a session sees."""
        own, user, app = await asyncio.gather(self.session(key.id), self.user(key.app, key.user), self.app(key.app))
        return merged(own, user, app)

    async def session(self, id: str) -> Values:
        return await self._values(f"session:{id}", "")

    async def user(self, app: str, user: str) -> Values:
        return await self._values(f"user:{user}", _prefix_of(app))

    async def app(self, app: str) -> Values:
        return await self._values(_APP_OWNER, _prefix_of(app))

    def _place(self, key: SessionKey, name: str) -> tuple[str, str, str]:
        if name.startswith(State.APP_PREFIX):
            return _APP_OWNER, _prefix_of(key.app), name.removeprefix(State.APP_PREFIX)
        if name.startswith(State.USER_PREFIX):
            return f"user:{key.user}", _prefix_of(key.app), name.removeprefix(State.USER_PREFIX)
        return f"session:{key.id}", "", name

    async def _write(self, owner: str, prefix: str, name: str, value: Any) -> None:
        # A text: JavaScript would round large numbers.
        await self._stemma.memory(owner).set_entry(LABEL, prefix + name, "", value=json.dumps(value))

    async def _values(self, owner: str, prefix: str) -> Values:
        entries = self._stemma.memory(owner).entries(LABEL, prefix=prefix or None, limit=_PAGE)
        return {entry.key.removeprefix(prefix): json.loads(str(entry.value)) async for entry in entries}


def merged(own: Values, user: Values, app: Values) -> Values:
    """State as a session sees it."""
    return {
        **own,
        **{State.USER_PREFIX + name: value for name, value in user.items()},
        **{State.APP_PREFIX + name: value for name, value in app.items()},
    }


def _prefix_of(app: str) -> str:
    return quote(app, safe="") + "/"
