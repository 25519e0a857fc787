from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage

from .._model_messages import from_messages, to_messages
from ..errors import NotFoundError
from .client import AsyncStemma

_PAGE = 200
_MOST_MESSAGES = 1_000


class AsyncStemmaHistory:
    """The history of Pydantic AI's runs in a session: `load` it as `message_history`, and `append` what `new_messages()` gives.

    What was appended comes back as it was; of messages that other programs wrote, those that say the same. The client is
    yours to close. What the server refuses is a `StemmaError`.
    """

    def __init__(self, stemma: AsyncStemma, session_id: str) -> None:
        self._session = stemma.session(session_id)

    async def load(self) -> list[ModelMessage]:
        """The whole history; empty where nothing was written yet."""
        try:
            return from_messages([message async for message in self._session.messages(limit=_PAGE)])
        except NotFoundError:
            return []

    async def append(self, messages: Sequence[ModelMessage]) -> None:
        """Appends messages, of each 1,000 all or none."""
        sent = to_messages(messages)
        for start in range(0, len(sent), _MOST_MESSAGES):
            await self._session.append(sent[start : start + _MOST_MESSAGES])
