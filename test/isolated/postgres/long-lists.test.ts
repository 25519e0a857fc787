import pg from "pg";
import { afterEach, beforeEach, expect, it } from "vitest";
import { message, numbered } from "../../../packages/conformance/src/samples.js";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { Session } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { measure } from "../../../reliability/pauses/measure.js";
import { patience } from "../../helpers/patience.js";
import { describeServer } from "../../postgres/server.js";

const list = (length: number) => numbered("m", length).map((id) => message(id, `${id} says something of some length`));
const ids = (length: number) => numbered("m", length);

describeServer("a long list of messages", (server) => {
  let pool: pg.Pool;
  let store: Store;
  beforeEach(async () => {
    pool = new pg.Pool({ connectionString: await server.createDatabase() });
    store = postgres(pool);
    await store.migrate();
  });
  afterEach(() => pool.end());

  const idsOf = async (id: string) => (await store.session(id).tree()).map((node) => node.id);

  const LONG = 40_000;
  const works: Record<string, (id: string) => () => unknown> = {
    appendAll: (id) => {
      const [session, given] = [Session.create(store).forSession(id), list(LONG)];
      return () => session.appendAll(given);
    },
    writeTogether: (id) => {
      const append = list(LONG);
      return () => store.writeTogether([{ session: id, append }]);
    },
    importTree: (id) => {
      const messages = list(LONG).map((given, at, all) => ({ message: given, parentId: all[at - 1]?.id ?? null }));
      return () => store.session(id).importTree({ messages });
    },
  };

  it.each(Object.keys(works))("lets the event loop turn: %s", async (name) => {
    const { pause } = await measure(works[name]?.(name) ?? (() => {}));
    expect(pause).toBeLessThan(patience(100));
    expect(await idsOf(name)).toEqual(ids(LONG));
  });

  it("goes on from what is known, and gives what was inserted", async () => {
    const session = store.session("known");
    await session.append(list(3));
    await session.append([message("other")], "m000000");
    const given = list(1200);
    const { insertedIds, lastId, visibleTokens } = await session.append(given);
    expect(insertedIds).toEqual(ids(1200).slice(3));
    expect(lastId).toBe("m001199");
    expect(visibleTokens).toBe(await session.tokens());
    expect((await session.path()).messages.map(({ id }) => id)).toEqual(ids(1200));
    expect(await session.append(given)).toMatchObject({ insertedIds: [], lastId: "m001199" });
  });

  it("hangs below the parent that is named, and is refused where that is not there", async () => {
    const session = store.session("below");
    await session.append([message("root"), message("tip")]);
    await session.append(list(600), "root");
    expect((await session.path()).messages.map(({ id }) => id)).toEqual(["root", ...ids(600)]);
    const refused = store.session("none").append(list(600), "missing");
    await expect(refused).rejects.toMatchObject({ code: "PARENT_NOT_FOUND" });
    expect(await store.sessions.get("none")).toBeNull();
  });

  it("is stored whole or not at all, in the order of the calls", async () => {
    const session = store.session("order");
    const bad = { ...message("bad"), parts: "none" } as never;
    const calls = [session.append([...list(1200), bad]), session.append(list(1200)), session.append([message("last")])];
    const [failed] = await Promise.allSettled(calls);
    expect(failed).toMatchObject({ status: "rejected", reason: { code: "INVALID_MESSAGE" } });
    expect(await idsOf("order")).toEqual([...ids(1200), "last"]);
  });

  it("is appended from the leaf that is expected, and only by the session's user", async () => {
    const session = store.forUser("ann").session("anns");
    await session.append(list(600), undefined, { expectedLeaf: null });
    const moved = session.append([message("a"), message("b")], undefined, { expectedLeaf: "m1" });
    await expect(moved).rejects.toMatchObject({ code: "LEAF_MOVED" });
    const others = store.forUser("bob").session("anns").append(list(700));
    await expect(others).rejects.toMatchObject({ code: "SESSION_OWNED" });
    expect(await idsOf("anns")).toEqual(ids(600));
  });
});
