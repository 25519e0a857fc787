// The store of a Durable Object over a database of this process. What it is in workerd stands in test/workers.
import { expect, it } from "vitest";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import { durableObject } from "../../../packages/store/src/durable-object.js";
import { objectContext } from "../../documents/host.js";
import { textMessage } from "../../helpers/messages.js";

it("keeps the sessions of an object, and another store of the same object finds them", async () => {
  const ctx = objectContext();
  const store = durableObject(ctx);
  const manager = SessionManager.create(store);
  await manager.create("Tea", { id: "tea" });
  await manager.appendAll("tea", [textMessage("a", "A pot of tea"), textMessage("b", "And a cup")]);
  await store.close();
  const again = SessionManager.create(durableObject(ctx));
  expect((await again.getSession("tea").getHistory()).map(({ id }) => id)).toEqual(["a", "b"]);
  expect((await again.search("pot")).map(({ id }) => id)).toEqual(["a"]);
  await again.delete("tea");
  expect(await again.list()).toEqual([]);
});

it("writes all of a call or nothing", async () => {
  const ctx = objectContext();
  const session = SessionManager.create(durableObject(ctx)).getSession("s");
  await session.appendMessage(textMessage("a"));
  await expect(session.appendAll([textMessage("b"), { ...textMessage("c"), parts: 5 as never }])).rejects.toThrow();
  expect((await session.getHistory()).map(({ id }) => id)).toEqual(["a"]);
});

it("has no search where that was turned off", async () => {
  const manager = SessionManager.create(durableObject(objectContext(), { search: false }));
  await manager.append("s", textMessage("a"));
  await expect(manager.search("a")).rejects.toMatchObject({ code: "SEARCH_UNAVAILABLE" });
});

it("refuses an object that is kept in the older storage, and says what to configure", () => {
  const older = {
    storage: {
      get sql(): never {
        throw new Error("SQL is not enabled for this Durable Object class.");
      },
    },
  };
  for (const ctx of [older, { storage: {} }, {}]) {
    const open = () => durableObject(ctx as never);
    expect(open).toThrowError(expect.objectContaining({ code: "STORE_UNSUPPORTED" }));
    expect(open).toThrowError(/new_sqlite_classes/);
  }
});
