import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from stemma_client import (
    AsyncStemma,
    AuthenticationError,
    ConflictError,
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
    RateLimitError,
    StemmaError,
    UnsupportedError,
    text_message,
)
from stemma_client.models import Quota

pytestmark = pytest.mark.anyio

# What paths and lines could trip over.
IDS = ["a/b c", "", ".", "..", "~", "~x", "ü%20?#", "line\nend", "\u2028", "a" * 200]


def new_id() -> str:
    return str(uuid.uuid4())


async def test_messages_come_back_as_they_were_given() -> None:
    async with AsyncStemma() as stemma:
        chat = stemma.session(new_id())
        given = [
            text_message("user", "When do I plant\u2028the quince? \U0001f331"),
            {"id": new_id(), "role": "assistant", "parts": [{"type": "x", "n": 1.5, "none": None}], "extra": [None, 1]},
        ]
        assert await chat.append(given) == [given[0]["id"], given[1]["id"]]
        assert await chat.append(given) == []
        assert [message.to_json() async for message in chat.messages()] == given
        assert [message.to_json() async for message in chat.stream_messages()] == given
        assert (await chat.message(given[1]["id"])).to_json() == given[1]
        assert await chat.leaf() == given[1]["id"]


async def test_pages_and_streams_hold_all_of_a_long_history() -> None:
    async with AsyncStemma() as stemma:
        chat = stemma.session(new_id())
        ids = [f"m{number}" for number in range(1_001)]
        await chat.append([text_message("user", id, id=id) for id in ids[:1_000]])
        await chat.append(text_message("user", "last", id=ids[-1]))
        assert [message.id async for message in chat.messages()] == ids
        assert [message.id async for message in chat.messages(limit=7, newest_first=True)] == ids[::-1]
        assert [message.id async for message in chat.stream_messages()] == ids
        assert [node.id async for node in chat.tree(limit=200)] == ids[::-1]
        assert [message.id for message in await chat.recent(1, min_messages=3)] == ids[-3:]


@pytest.mark.parametrize("id", IDS)
async def test_any_id_names_what_it_names(id: str) -> None:
    async with AsyncStemma() as stemma:
        prefix = new_id()
        chat = stemma.session(prefix + id)
        await chat.append(text_message("user", "hello", id=id or "x"))
        assert [message.id async for message in chat.messages()] == [id or "x"]
        assert (await chat.message(id or "x")).id == (id or "x")
        memory = stemma.memory(f"key:{prefix}{id}")
        await memory.set_entry("facts", id or "x", "holds")
        assert (await memory.entry("facts", id or "x")).content == "holds"


async def test_a_tree_has_branches() -> None:
    async with AsyncStemma() as stemma:
        chat = stemma.session(new_id())
        await chat.append([text_message("user", "one", id="1"), text_message("assistant", "two", id="2")])
        assert await chat.write_beside("2", text_message("assistant", "other", id="2b"))
        assert await chat.leaf() == "2b"
        assert {message.id async for message in chat.siblings("2")} == {"2", "2b"}
        assert {message.id async for message in chat.children("1")} == {"2", "2b"}
        parent = await chat.parent("2")
        assert parent is not None and parent.id == "1" and await chat.parent("1") is None
        assert await chat.select("2") == "2"
        with pytest.raises(ConflictError) as moved:
            await chat.append(text_message("user", "late", id="3"), expected_leaf="2b")
        assert moved.value.code == "LEAF_MOVED" and moved.value.status == 409
        await chat.append(text_message("user", "root", id="r"), parent=None)
        assert [message.id async for message in chat.messages()] == ["r"]
        await chat.set_leaf(None, expected_leaf="r")
        assert await chat.leaf() is None and [message async for message in chat.messages()] == []
        await chat.rewind("2")
        fork = await chat.fork("2", "A fork")
        assert [message.id async for message in stemma.session(fork.id).messages()] == ["1", "2"]
        assert await chat.delete_messages(["2", "none"]) == ["2"]
        await chat.clear()
        assert [message async for message in chat.messages()] == []


async def test_a_message_is_replaced_only_where_it_is_as_it_was_read() -> None:
    async with AsyncStemma() as stemma:
        chat = stemma.session(new_id())
        assert await chat.write(text_message("user", "one", id="1"), only_new=True)
        read = await chat.message("1")
        assert read.etag is not None
        assert not await chat.write(text_message("user", "two", id="1"), if_match=read.etag)
        with pytest.raises(ConflictError) as changed:
            await chat.write(text_message("user", "three", id="1"), if_match=read.etag)
        assert (changed.value.code, changed.value.status) == ("MESSAGE_CHANGED", 412)
        with pytest.raises(ConflictError):
            await chat.write(text_message("user", "four", id="1"), only_new=True)
        await chat.write(text_message("user", "root", id="2"), parent=None)
        assert await chat.parent("2") is None


async def test_a_session_is_registered_listed_and_erased() -> None:
    async with AsyncStemma() as stemma:
        prefix = new_id()
        for number in range(5):
            metadata = {"run": prefix, "number": number}
            await stemma.create_session(f"Chat {number}", id=f"{prefix}{number}", metadata=metadata, user_id="ada")
        found = [session async for session in stemma.sessions(metadata={"run": prefix}, limit=2)]
        assert {session.id for session in found} == {f"{prefix}{number}" for number in range(5)}
        assert [session.name async for session in stemma.sessions(prefix=prefix, name="Chat 3")] == ["Chat 3"]
        chat = stemma.session(f"{prefix}0")
        info = await chat.info()
        assert info.user_id == "ada" and info.created_at.tzinfo is not None
        changed = await chat.update(name="New", metadata={"number": None}, if_match=info.etag)
        assert changed.name == "New" and changed.metadata == {"run": prefix}
        with pytest.raises(ConflictError):
            await chat.update(name="Newer", if_match=info.etag)
        receipt = await chat.delete()
        assert receipt.deleted.sessions == 1
        with pytest.raises(NotFoundError) as gone:
            await chat.info()
        assert gone.value.code == "SESSION_NOT_FOUND" and gone.value.details == {"sessionId": f"{prefix}0"}
        assert gone.value.request_id and f"{prefix}0" in str(gone.value)


async def test_blocks_have_versions() -> None:
    async with AsyncStemma() as stemma:
        memory = stemma.memory(f"user:{new_id()}")
        with pytest.raises(NotFoundError):
            await memory.block("persona")
        first = await memory.set_block("persona", "A gardener.", only_new=True)
        with pytest.raises(ConflictError):
            await memory.set_block("persona", "Another.", only_new=True)
        await memory.append_to_block("persona", "Likes quinces.", max_tokens=100)
        with pytest.raises(ConflictError) as changed:
            await memory.set_block("persona", "Stale.", if_match=first.etag)
        assert changed.value.code == "BLOCK_CONFLICT"
        assert (await memory.block("persona")).content == "A gardener.\nLikes quinces."
        assert [version.version async for version in memory.block_versions("persona")] != []
        await memory.restore_block("persona", first.version)
        assert [(block.label, block.content) async for block in memory.blocks()] == [("persona", "A gardener.")]
        await memory.delete_block("persona")
        assert [block async for block in memory.blocks()] == []


async def test_entries_hold_values_and_times() -> None:
    async with AsyncStemma() as stemma:
        user = new_id()
        memory = stemma.memory(f"user:{user}")
        now = datetime.now(UTC)
        entry = await memory.set_entry(
            "facts",
            "city",
            "Lives in Leipzig",
            value={"zip": "04109"},
            tags=["home"],
            valid_from=now - timedelta(days=9),
        )
        assert entry.value == {"zip": "04109"} and entry.tags == ["home"] and entry.valid_from is not None
        await memory.set_entry("facts", "pet", "Has a cat", value=None)
        assert (await memory.entry("facts", "pet")).value is None
        assert [entry.key async for entry in memory.entries("facts", limit=1)] == ["city", "pet"]
        assert [entry.key async for entry in memory.entries("facts", filter={"tags": ["home"]})] == ["city"]
        assert [entry.key for entry in await memory.search("facts", "Leipzig")] == ["city"]
        assert [entry.key for entry in await stemma.search_entries("cat", owners=[f"user:{user}"])] == ["pet"]
        assert [(label.label, label.count) async for label in memory.labels()] == [("facts", 2)]
        read = await memory.entry("facts", "city")
        await memory.append_to_entry("facts", "city", "since 2020", max_tokens=100)
        with pytest.raises(ConflictError) as changed:
            await memory.set_entry("facts", "city", "Stale", if_match=read.etag)
        assert changed.value.code == "ENTRY_CONFLICT"
        versions = [version.version async for version in memory.entry_versions("facts", "city")]
        assert (await memory.restore_entry("facts", "city", min(versions))).content == "Lives in Leipzig"
        await memory.delete_entry("facts", "pet", keep_versions=False)
        assert (await memory.erase()).deleted.entries == 1
        with pytest.raises(ValueError, match="time zone"):
            await memory.set_entry("facts", "x", "y", valid_to=datetime(2026, 1, 1))


async def test_search_and_recall_find_what_was_said() -> None:
    async with AsyncStemma() as stemma:
        word, user = f"w{new_id().replace('-', '')}", new_id()
        ids = [new_id() for _ in range(3)]
        for id in ids:
            await stemma.create_session("Chat", id=id, user_id=user)
            await stemma.session(id).append(text_message("user", f"The {word} is here."))
        hits = [hit async for hit in stemma.search(word, limit=2)]
        assert {hit.session_id for hit in hits} == set(ids) and all(word in hit.content for hit in hits)
        assert [hit.session_id async for hit in stemma.search(word, session_ids=ids[:1])] == ids[:1]
        assert word in (await stemma.recall(word, user_id=user)).text
        assert (await stemma.erase_user(user)).deleted.sessions == 3
        assert [hit async for hit in stemma.search(word)] == []


async def test_a_turn_holds_what_a_model_needs() -> None:
    async with AsyncStemma() as stemma:
        # The blocks of the server's turns are a user's.
        token = await stemma.create_token(new_id())
    async with AsyncStemma(api_key=token.token) as stemma:
        chat = stemma.session(new_id())
        await chat.append(text_message("user", "Hello", id="1"))
        turn = await chat.turn()
        assert [message.id for message in turn.messages] == ["1"] and isinstance(turn.system, str)
        assert (await chat.turn()).prefix_hash == turn.prefix_hash
        with pytest.raises(NotFoundError):
            await chat.run_tool("none", {})
        with pytest.raises(UnsupportedError):
            await chat.learn()
        with pytest.raises(StemmaError) as refused:
            await chat.compact()
        assert refused.value.code == "COMPACTION_NOT_CONFIGURED"


async def test_summaries_stand_for_messages() -> None:
    async with AsyncStemma() as stemma:
        chat = stemma.session(new_id())
        await chat.append([text_message("user", id, id=id) for id in "abcd"])
        compaction = await chat.add_compaction("a and b", "a", "b")
        assert [message.id async for message in chat.messages()][1:] == ["c", "d"]
        assert [message.id async for message in chat.messages(stored=True)] == list("abcd")
        assert [each.id async for each in chat.compactions()] == [compaction.id]
        await chat.remove_compaction(compaction.id)
        assert [message.id async for message in chat.messages()] == list("abcd")


async def test_a_copy_makes_an_equal_session() -> None:
    async with AsyncStemma() as stemma:
        chat, copy = stemma.session(new_id()), stemma.session(new_id())
        await chat.append([text_message("user", f"{id}\u2028", id=id) for id in "abc"])
        lines = [line async for line in chat.export()]
        assert (await copy.import_lines(lines)).inserted == 3
        assert (await copy.import_lines(lines)).inserted == 0
        assert [message.id async for message in copy.messages()] == list("abc")
        assert any("a" in line for line in [line async for line in chat.export("markdown")])


async def test_usage_adds_up() -> None:
    async with AsyncStemma() as stemma:
        chat = stemma.session(new_id())
        await chat.append(text_message("user", "Hello"))
        await chat.add_usage(100, 20, cost=0.5, model="m")
        await chat.add_usage(1, 2, model="m")
        assert [(row.model, row.requests, row.input_tokens) async for row in chat.usage()] == [("m", 2, 101)]
        assert chat.id in [row.name async for row in stemma.usage("session", limit=1_000)]


async def test_changes_are_heard_of() -> None:
    async with AsyncStemma() as stemma:
        chat = stemma.session(new_id())
        await chat.append(text_message("user", "Hello"))
        # Behind a change that was never: the next one comes at once.
        changes = chat.changes(after="none")
        change = await anext(changes)
        assert (change.session, change.kind) == (chat.id, "changed") and change.id
        await chat.delete()
        assert [change.kind async for change in changes] == ["deleted"]


async def test_what_a_key_does_not_reach_is_refused() -> None:
    async with AsyncStemma(api_key="stemma-wrong-key-000000") as stranger:
        with pytest.raises(AuthenticationError) as unknown:
            await stranger.limits()
        assert (unknown.value.code, unknown.value.status) == ("NOT_ALLOWED", 401)
    user = new_id()
    async with AsyncStemma() as stemma:
        token = await stemma.create_token(user, ttl=60)
        assert token.expires_at > datetime.now(UTC)
        chat = stemma.session(new_id())
        await chat.append(text_message("user", "secret"))
    async with AsyncStemma(api_key=token.token) as page:
        with pytest.raises(ForbiddenError):
            await page.memory("user:somebody").block("persona")
        with pytest.raises(NotFoundError):
            await page.session(chat.id).message("1")
        await page.memory().set_block("persona", "Mine.")
        assert (await page.memory(f"user:{user}").block("persona")).content == "Mine."


async def test_what_cannot_be_sent_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncStemma() as stemma:
        chat = stemma.session(new_id())
        with pytest.raises(InvalidRequestError) as refused:
            await chat.append({"id": "1", "role": "user"})
        assert refused.value.status == 400
        with pytest.raises(InvalidRequestError):
            await chat.append({"id": "1", "role": "user", "parts": [{"type": "x", "n": float("nan")}]})
        with pytest.raises(InvalidRequestError):
            await chat.append([])
    for url, key in (("127.0.0.1:1", "key"), ("ftp://127.0.0.1", "key"), (None, "a\nb")):
        async with AsyncStemma(base_url=url, api_key=key) as stemma:
            with pytest.raises(InvalidRequestError) as invalid:
                await stemma.limits()
            assert invalid.value.code == "INVALID_ARGUMENT"
    monkeypatch.delenv("STEMMA_API_KEY")
    with pytest.raises(InvalidRequestError, match="STEMMA_API_KEY"):
        AsyncStemma()


async def test_an_administrator_makes_keys_and_revokes_them() -> None:
    user, until = new_id(), datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    async with AsyncStemma() as stemma:
        made = await stemma.create_api_key("site", user_id=user, keys=["team"], read_only=True, expires_at=until)
        listed = [key async for key in stemma.api_keys() if key.id == made.id]
        assert [(key.name, key.access, key.user_id, key.expires_at) for key in listed] == [
            ("site", "memory", user, until)
        ]
        async with AsyncStemma(api_key=made.key) as reader:
            assert [session async for session in reader.sessions()] == []
            with pytest.raises(ForbiddenError):
                await reader.create_api_key("another")
        await stemma.revoke_api_key(made.id)
        async with AsyncStemma(api_key=made.key) as reader:
            with pytest.raises(AuthenticationError):
                await reader.limits()


async def test_a_key_is_held_to_its_quota_and_not_kept_waiting_until_tomorrow() -> None:
    session = new_id()
    async with AsyncStemma() as stemma:
        made = await stemma.create_api_key("site", quota=Quota(writes_per_day=1))
        assert made.quota is not None and made.quota.writes_per_day == 1
        async with AsyncStemma(api_key=made.key) as limited:
            await limited.create_session("Chat", id=session)
            began = time.monotonic()
            with pytest.raises(RateLimitError) as full:
                await limited.session(session).append(text_message("user", "One more."))
            assert full.value.code == "QUOTA_EXCEEDED" and time.monotonic() - began < 5
            assert [(row.quota, row.limit, row.used) async for row in limited.quota()] == [("writesPerDay", 1, 1)]
        assert [row.used async for row in stemma.quota(made.id)] == [1]


async def test_records_hold_json_and_bytes_and_are_replaced_at_their_version() -> None:
    async with AsyncStemma() as stemma:
        chat = stemma.session(new_id())
        await chat.append(text_message("user", "Hello."))
        for key in IDS:
            made = await chat.set_record("state", key, {"n": [1, None, "ü"]}, only_new=True)
            assert made.key == key and (await chat.record("state", key)).value == {"n": [1, None, "ü"]}
        assert [row.label async for row in chat.record_labels()] == ["state"]
        assert [row.key async for row in chat.records("state", prefix="a", limit=1)] == ["a/b c", "a" * 200]
        await chat.set_record("state", "raw", b"\x00\xff")
        assert await chat.record_bytes("state", "raw") == b"\x00\xff"
        tag = f'"v{made.version}"'
        soon = datetime.now(UTC) + timedelta(days=1)
        assert (await chat.set_record("state", made.key, None, if_match=tag, expires_at=soon)).expires_at is not None
        with pytest.raises(ConflictError) as stale:
            await chat.set_record("state", made.key, 1, if_match=tag)
        assert stale.value.code == "RECORD_CONFLICT"
        await chat.delete_record("state", made.key)
        with pytest.raises(NotFoundError):
            await chat.record("state", made.key)
        with pytest.raises(ForbiddenError):
            await chat.set_record("stemma:keys", "x", 1)


async def test_a_batch_is_made_whole_or_not_at_all() -> None:
    session = new_id()
    async with AsyncStemma() as stemma:
        message = text_message("user", "Hello.", id="m1")
        good: list[dict[str, Any]] = [
            {"op": "appendMessages", "session": session, "messages": [message]},
            {"op": "setBlock", "owner": f"session:{session}", "label": "notes", "content": "Said hello."},
            {"op": "setRecord", "session": session, "label": "state", "key": "step", "value": 1, "expectedVersion": 0},
        ]
        assert await stemma.batch(good) == [["m1"], [], []]
        with pytest.raises(ConflictError):
            await stemma.batch([{"op": "setBlock", "owner": "key:team", "label": "x", "content": "y"}, good[2]])
        assert [block async for block in stemma.memory("key:team").blocks() if block.label == "x"] == []
        with pytest.raises(InvalidRequestError):
            await stemma.batch([{"op": "unknown"}])
