from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, Self

import httpx

from .._request import UNSET, Settings, Unset, given, id_of, request_of, time_text
from ..models import (
    ApiKey,
    Change,
    ErasureReceipt,
    FoundEntry,
    Hit,
    Limits,
    MadeApiKey,
    Quota,
    QuotaUse,
    Recall,
    Session,
    Token,
    UsageSum,
)
from .changes import changes_of
from .memory import AsyncMemory
from .session import AsyncSession
from .transport import AsyncTransport

Order = Literal["change", "tokens", "cost", "messages", "registered"]


class AsyncStemma:
    """A Stemma server.

    Args:
        api_key: A key or a user's token. Default: the environment variable `STEMMA_API_KEY`.
        base_url: Where the server listens. Default: `STEMMA_BASE_URL`, else `http://127.0.0.1:4985`.
        timeout: Seconds that a connection, and each piece of an answer, is waited for.
        retry_for: Seconds in which a request is sent again that was not answered, or with 429, 502, 503 or 504. 0: never.
        http_client: A client of httpx that you configured, and close.

    Errors: `INVALID_ARGUMENT` without a key.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = 30.0,
        retry_for: float = 30.0,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        self._transport = AsyncTransport(Settings.of(base_url, api_key, retry_for), timeout, http_client)

    async def close(self) -> None:
        """Ends the connections. A client of httpx that you passed stays open. Each call that follows fails with `STORE_CLOSED`."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def session(self, id: str) -> AsyncSession:
        """The session with an id. Nothing is sent: the first message that is appended makes it."""
        return AsyncSession(self._transport, id)

    def memory(self, owner: str = "user") -> AsyncMemory:
        """The memory of an owner: `user` for the user of the key, `user:{id}`, `session:{id}` or `key:{name}`."""
        return AsyncMemory(self._transport, owner)

    async def create_session(
        self,
        name: str,
        *,
        id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        model: str | None = None,
        source: str | None = None,
        parent_session_id: str | None = None,
        user_id: str | None = None,
    ) -> Session:
        """Registers a session. An id that is registered stays as it is."""
        body = given(
            name=name,
            id=id,
            metadata=metadata,
            model=model,
            source=source,
            parentSessionId=parent_session_id,
            userId=user_id,
        )
        return await self._transport.model(Session, request_of("POST", "/v1/sessions", body=body))

    def sessions(
        self,
        *,
        order: Order | None = None,
        prefix: str | None = None,
        name: str | None = None,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[Session]:
        """Sessions page by page, each of `limit`: those whose id begins with `prefix`, whose name holds `name`, and with
        these values in the metadata, None for a field that is not there."""
        body = given(order=order, prefix=prefix, name=name, userId=user_id, metadata=metadata, limit=limit)
        return self._transport.pages(Session, request_of("POST", "/v1/sessions/query", body=body))

    def search(
        self,
        query: str,
        *,
        session_ids: Iterable[str] | None = None,
        role: str | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        leaf_id: str | None | Unset = UNSET,
        metadata: Mapping[str, Any] | None = None,
        session_metadata: Mapping[str, Any] | None = None,
        context: int | None = None,
        rerank: bool | None = None,
        threshold: float | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[Hit]:
        """The messages that a query finds, the best first, page by page. `context`: messages around each."""
        body = given(
            query=query,
            sessionIds=None if session_ids is None else list(session_ids),
            role=role,
            after=None if after is None else time_text(after),
            before=None if before is None else time_text(before),
            metadata=metadata,
            sessionMetadata=session_metadata,
            context=context,
            rerank=rerank,
            threshold=threshold,
            limit=limit,
        )
        body["leafId"] = leaf_id
        return self._transport.pages(Hit, request_of("POST", "/v1/search", body={**body, "owners": []}))

    async def search_entries(
        self, query: str, *, owners: Iterable[str] | None = None, limit: int | None = None
    ) -> list[FoundEntry]:
        """The entries under all labels that a query finds, the best first. Default: those of the key's user."""
        body = given(query=query, owners=None if owners is None else list(owners), limit=limit)
        answer = await self._transport.json(request_of("POST", "/v1/search", body=body))
        return [FoundEntry.model_validate(entry) for entry in answer["entries"]]

    async def recall(
        self,
        query: str,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        keys: Iterable[str] | None = None,
        max_tokens: float | None = None,
        max_ms: int | None = None,
        rerank: bool | None = None,
        threshold: float | None = None,
    ) -> Recall:
        """What a user's memory holds about a text: entries and past exchanges, cut to what fits."""
        body = given(
            query=query,
            sessionId=session_id,
            userId=user_id,
            keys=None if keys is None else list(keys),
            maxTokens=max_tokens,
            maxMs=max_ms,
            rerank=rerank,
            threshold=threshold,
        )
        return await self._transport.model(Recall, request_of("POST", "/v1/recall", body=body))

    def usage(
        self,
        by: Literal["day", "model", "session"],
        *,
        from_day: str | None = None,
        to_day: str | None = None,
        user_id: str | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[UsageSum]:
        """What requests to models have used: by day, the newest first, or by model or session, by cost. A day is `2026-11-22`."""
        query = {"by": by, "from": from_day, "to": to_day, "userId": user_id, "limit": limit}
        return self._transport.pages(UsageSum, request_of("GET", "/v1/usage", query=query))

    async def batch(self, operations: Iterable[Mapping[str, Any]]) -> list[list[str]]:
        """Makes several writes together, all or none: `{"op": "setRecord", …}` and others, as the server's document has them.
        Gives for each the ids of the messages that it inserted, or of the leaf. Its messages are of one session, and its memory
        of users is one user's."""
        body = {"operations": [dict(operation) for operation in operations]}
        answer = await self._transport.json(request_of("POST", "/v1/batch", body=body))
        return [list(ids) for ids in answer["ids"]]

    async def erase_user(self, user_id: str) -> ErasureReceipt:
        """Erases a user: their sessions and their memory."""
        return await self._transport.model(ErasureReceipt, request_of("DELETE", f"/v1/users/{id_of(user_id)}"))

    def changes(self, *, after: str | None = None) -> AsyncIterator[Change]:
        """Each session that changes, without an end. A change may come twice, several of one session may come as one."""
        return changes_of(self._transport, "/v1/changes", after)

    async def create_token(
        self,
        user_id: str,
        *,
        tenant: str | None = None,
        project: str | None = None,
        keys: Iterable[str] | None = None,
        read_only: bool | None = None,
        ttl: int | None = None,
    ) -> Token:
        """Makes a token for a page of a signed-in user. `ttl` is in seconds, an hour at most. The key has the access `mint`."""
        body = given(
            userId=user_id,
            tenant=tenant,
            project=project,
            keys=None if keys is None else list(keys),
            readOnly=read_only,
            ttl=ttl,
        )
        return await self._transport.model(Token, request_of("POST", "/v1/tokens", body=body))

    def api_keys(self, *, tenant: str | None = None) -> AsyncIterator[ApiKey]:
        """The API keys of the server, or of a tenant, without their secrets. The key that asks is an administrator's."""
        return self._transport.pages(ApiKey, request_of("GET", "/v1/keys", query=given(tenant=tenant)))

    async def create_api_key(
        self,
        name: str,
        *,
        access: Literal["memory", "admin", "mint"] | None = None,
        tenant: str | None = None,
        user_id: str | None = None,
        project: str | None = None,
        keys: Iterable[str] | None = None,
        read_only: bool | None = None,
        expires_at: datetime | None = None,
        quota: Quota | None = None,
    ) -> MadeApiKey:
        """Makes an API key, which is in this answer alone. A request that was sent again has made another one, too."""
        body = given(
            name=name,
            access=access,
            tenant=tenant,
            userId=user_id,
            project=project,
            keys=None if keys is None else list(keys),
            readOnly=read_only,
            expiresAt=None if expires_at is None else time_text(expires_at),
            quota=None if quota is None else quota.model_dump(by_alias=True, exclude_none=True),
        )
        return await self._transport.model(MadeApiKey, request_of("POST", "/v1/keys", body=body))

    async def revoke_api_key(self, id: str) -> None:
        """Revokes an API key: at once in the process that answers, within 30 seconds in all others."""
        await self._transport.json(request_of("DELETE", f"/v1/keys/{id_of(id)}"))

    def quota(self, key: str | None = None) -> AsyncIterator[QuotaUse]:
        """How far the quota of the key or token is used up; with the id of another key its, for an administrator's key."""
        return self._transport.pages(QuotaUse, request_of("GET", "/v1/quota", query={"key": key}))

    async def limits(self) -> Limits:
        """How large requests and pages may be."""
        return await self._transport.model(Limits, request_of("GET", "/v1/limits"))
