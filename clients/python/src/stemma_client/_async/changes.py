from collections.abc import AsyncIterator

from anyio import sleep

from .._request import request_of
from ..errors import ConnectionLostError
from ..models import Change
from .transport import AsyncTransport

_PAUSE = 1.0


async def changes_of(transport: AsyncTransport, path: str, after: str | None) -> AsyncIterator[Change]:
    """Changes from now on, or behind one. The server ends a stream now and then: the next one goes on behind the last change."""
    while True:
        try:
            async for id, data in transport.events(request_of("GET", path, query={"after": after})):
                after = id
                if data is None:
                    continue
                change = Change.model_validate({"id": id, **data})
                yield change
                if change.kind == "deleted":
                    return
        except ConnectionLostError:
            # Asking anew fails, too, where the server does not come back.
            pass
        await sleep(_PAUSE)
