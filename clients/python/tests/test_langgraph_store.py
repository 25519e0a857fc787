import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from stemma_client import AsyncStemma, Stemma
from stemma_client.langgraph import AsyncStemmaStore, StemmaStore

from ._async.test_client import new_id

pytestmark = pytest.mark.anyio


async def told(store: BaseStore) -> list[object]:
    """What a store tells, without times and scores."""
    for namespace, key, value in (
        (("users", "ada"), "a/b", {"text": "likes quinces", "age": 36, "nested": {"x": [1, None]}}),
        (("users", "ada"), "b", {"text": "likes tea", "age": 37}),
        (("users", "ada", "old"), "c", {"text": "liked milk", "age": 5}),
        (("users", "bob%"), "a", {"text": "likes figs", "age": 50}),
    ):
        await store.aput(namespace, key, value)
    await store.aput(("users", "ada"), "gone", {"text": "gone"})
    await store.adelete(("users", "ada"), "gone")
    await store.adelete(("users", "ada"), "never")
    found = await store.aget(("users", "ada"), "a/b")
    searches = [
        await store.asearch(("users",)),
        await store.asearch(("users", "ada")),
        await store.asearch(("users", "ad")),
        await store.asearch(("users",), filter={"age": {"$gt": 36}}),
        await store.asearch(("users",), filter={"nested": {"x": [1, None]}}),
        await store.asearch(("users", "none")),
    ]
    return [
        found and (found.namespace, found.key, found.value),
        await store.aget(("users", "ada"), "gone"),
        *[sorted((item.namespace, item.key) for item in items) for items in searches],
        len(await store.asearch(("users",), limit=2, offset=1)),
        await store.alist_namespaces(),
        await store.alist_namespaces(prefix=("users", "*"), max_depth=2),
        await store.alist_namespaces(suffix=("old",)),
    ]


async def test_a_store_tells_what_that_of_langgraph_tells() -> None:
    expected = await told(InMemoryStore())
    async with AsyncStemma() as stemma:
        assert await told(AsyncStemmaStore(stemma, owner=f"key:{new_id()}")) == expected
    with Stemma() as sync:
        assert await told(StemmaStore(sync, owner=f"key:{new_id()}")) == expected


def test_a_query_finds_words() -> None:
    with Stemma() as stemma:
        store = StemmaStore(stemma, owner=f"key:{new_id()}")
        store.put(("a",), "1", {"text": "quinces and tea"})
        store.put(("a",), "2", {"text": "figs"})
        store.put(("a",), "3", {"text": "quinces"}, index=False)
        store.put(("a",), "4", {"title": "quinces", "text": "none"}, index=["text"])
        found = store.search(("a",), query="quinces")
        assert [item.key for item in found] == ["1"] and found[0].score is not None
        with pytest.raises(NotImplementedError):
            store.put(("a",), "5", {}, ttl=1)
