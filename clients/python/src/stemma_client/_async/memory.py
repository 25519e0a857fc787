from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

from .._request import UNSET, Unset, given, id_of, request_of, time_text
from ..models import Block, Entry, EntryLabel, Erased, FoundEntry, Version
from .transport import AsyncTransport

Origin = Literal["user", "import", "tool", "learning", "web"]


class AsyncMemory:
    """The blocks and entries of an owner: `user` for the user of the key, `user:{id}`, `session:{id}` or `key:{name}`."""

    def __init__(self, transport: AsyncTransport, owner: str) -> None:
        self._transport = transport
        self.owner = owner
        self._path = f"/v1/memory/{id_of(owner)}"

    async def erase(self) -> Erased:
        """Erases all blocks and entries of the owner, with their versions."""
        return await self._transport.model(Erased, request_of("DELETE", self._path))

    def blocks(self, *, limit: int | None = None) -> AsyncIterator[Block]:
        """The parts of the prompt, by their labels."""
        return self._transport.pages(Block, request_of("GET", f"{self._path}/blocks", query={"limit": limit}))

    async def block(self, label: str) -> Block:
        """One block. Errors: `BLOCK_NOT_FOUND`."""
        return await self._transport.model(Block, request_of("GET", self._block(label)))

    async def set_block(
        self, label: str, content: str, *, if_match: str | None = None, only_new: bool = False
    ) -> Block:
        """Replaces a block. Errors: `BLOCK_CONFLICT` where `if_match` is another version's, or with `only_new` there is one."""
        request = request_of("PUT", self._block(label), body={"content": content}, if_match=if_match, only_new=only_new)
        return await self._transport.model(Block, request)

    async def append_to_block(self, label: str, text: str, *, max_tokens: int) -> Block:
        """Appends a text on a new line. What several writers append at once is all kept. Errors: `BLOCK_OVER_BUDGET`."""
        body = {"append": text, "maxTokens": max_tokens}
        return await self._transport.model(Block, request_of("PATCH", self._block(label), body=body))

    async def delete_block(self, label: str, *, if_match: str | None = None) -> None:
        """Erases a block with its versions."""
        await self._transport.json(request_of("DELETE", self._block(label), if_match=if_match))

    def block_versions(self, label: str) -> AsyncIterator[Version]:
        """What the block was, and who wrote it."""
        return self._transport.pages(Version, request_of("GET", f"{self._block(label)}/versions"))

    async def restore_block(self, label: str, version: int, *, if_match: str | None = None) -> Block:
        """Writes an old version as a new one. Errors: `VERSION_NOT_FOUND`."""
        request = request_of("POST", f"{self._block(label)}/restore", body={"version": version}, if_match=if_match)
        return await self._transport.model(Block, request)

    def labels(self) -> AsyncIterator[EntryLabel]:
        """The labels that have entries, with their numbers."""
        return self._transport.pages(EntryLabel, request_of("GET", f"{self._path}/entries"))

    def entries(
        self,
        label: str,
        *,
        prefix: str | None = None,
        filter: Mapping[str, Any] | None = None,
        include_ended: bool | None = None,
        include_expired: bool | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[Entry]:
        """Entries in the order of their keys, page by page: those that hold now, or held `as_of` a time in the world, or that
        the store knew at `known_at`. `filter` is `{"tags", "value", "and", "or"}`, as docs/facts.md shows."""
        view = _view(prefix, include_ended, include_expired, as_of, known_at)
        body = {**view, **given(filter=filter, limit=limit)}
        return self._transport.pages(Entry, request_of("POST", f"{self._label(label)}/query", body=body))

    async def search(
        self,
        label: str,
        query: str,
        *,
        limit: int | None = None,
        prefix: str | None = None,
        filter: Mapping[str, Any] | None = None,
        include_ended: bool | None = None,
        include_expired: bool | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        rerank: bool | None = None,
        threshold: float | None = None,
    ) -> list[FoundEntry]:
        """The entries that a query finds, the best first."""
        view = _view(prefix, include_ended, include_expired, as_of, known_at)
        body = {"query": query, **view, **given(filter=filter, limit=limit, rerank=rerank, threshold=threshold)}
        answer = await self._transport.json(request_of("POST", f"{self._label(label)}/search", body=body))
        return [FoundEntry.model_validate(entry) for entry in answer["data"]]

    async def entry(self, label: str, key: str) -> Entry:
        """One entry, also one that has ended. Errors: `ENTRY_NOT_FOUND`."""
        return await self._transport.model(Entry, request_of("GET", self._entry(label, key)))

    async def set_entry(
        self,
        label: str,
        key: str,
        content: str,
        *,
        value: object = UNSET,
        valid_from: datetime | None | Unset = UNSET,
        valid_to: datetime | None | Unset = UNSET,
        expires_at: datetime | None | Unset = UNSET,
        supersedes: Iterable[str] | Unset = UNSET,
        tags: Iterable[str] | Unset = UNSET,
        origin: Origin | None | Unset = UNSET,
        if_match: str | None = None,
        only_new: bool = False,
    ) -> Entry:
        """Writes an entry: `content` is what a search finds, `value` any JSON. Times and tags that are left out stay as they are.
        Errors: `ENTRY_CONFLICT` where `if_match` is another version's, or with `only_new` there is one."""
        body = {
            "content": content,
            "value": value,
            "validFrom": _time(valid_from),
            "validTo": _time(valid_to),
            "expiresAt": _time(expires_at),
            "supersedes": supersedes if isinstance(supersedes, Unset) else list(supersedes),
            "tags": tags if isinstance(tags, Unset) else list(tags),
            "origin": origin,
        }
        request = request_of("PUT", self._entry(label, key), body=body, if_match=if_match, only_new=only_new)
        return await self._transport.model(Entry, request)

    async def append_to_entry(self, label: str, key: str, text: str, *, max_tokens: int) -> Entry:
        """Appends a text on a new line, to a new entry where there is none."""
        body = {"append": text, "maxTokens": max_tokens}
        return await self._transport.model(Entry, request_of("PATCH", self._entry(label, key), body=body))

    async def delete_entry(
        self, label: str, key: str, *, keep_versions: bool = True, if_match: str | None = None
    ) -> None:
        """Removes an entry. Its versions stay, unless `keep_versions` is False. Errors: `ENTRY_NOT_FOUND`."""
        query = {"keepVersions": keep_versions}
        await self._transport.json(request_of("DELETE", self._entry(label, key), query=query, if_match=if_match))

    def entry_versions(self, label: str, key: str) -> AsyncIterator[Version]:
        """What the entry was, and who wrote it."""
        return self._transport.pages(Version, request_of("GET", f"{self._entry(label, key)}/versions"))

    async def restore_entry(self, label: str, key: str, version: int, *, if_match: str | None = None) -> Entry:
        """Writes an old version as a new one. Errors: `VERSION_NOT_FOUND`."""
        path = f"{self._entry(label, key)}/restore"
        return await self._transport.model(
            Entry, request_of("POST", path, body={"version": version}, if_match=if_match)
        )

    def _block(self, label: str) -> str:
        return f"{self._path}/blocks/{id_of(label)}"

    def _label(self, label: str) -> str:
        return f"{self._path}/entries/{id_of(label)}"

    def _entry(self, label: str, key: str) -> str:
        return f"{self._label(label)}/{id_of(key)}"


def _view(
    prefix: str | None,
    include_ended: bool | None,
    include_expired: bool | None,
    as_of: datetime | None,
    known_at: datetime | None,
) -> dict[str, object]:
    return given(
        prefix=prefix,
        includeEnded=include_ended,
        includeExpired=include_expired,
        asOf=None if as_of is None else time_text(as_of),
        knownAt=None if known_at is None else time_text(known_at),
    )


def _time(time: datetime | None | Unset) -> str | None | Unset:
    return time_text(time) if isinstance(time, datetime) else time
