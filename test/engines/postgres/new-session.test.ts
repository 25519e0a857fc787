import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { StemmaError } from "../../../packages/model/src/errors.js";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { Session } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { describeServer } from "../../postgres/server.js";

const say = (id: string) => ({ id, role: "user", parts: [{ type: "text", text: `text of ${id}` }] });
const SESSIONS = Array.from({ length: 25 }, (_, index) => `session ${index}`);

// A session's row is what its writers lock: a new session does not have one yet.
describeServer("connections that write to a new session at the same time", (server) => {
  let stores: Store[] = [];

  beforeEach(async () => {
    const url = await server.createDatabase();
    stores = Array.from({ length: 4 }, () => postgres(url));
    await stores[0]?.migrate();
    await Promise.all(stores.map((store) => store.sessions.count()));
  });

  afterEach(() => Promise.all(stores.map((store) => store.close())));

  const atOnce = <T>(call: (session: Session, message: ReturnType<typeof say>) => Promise<T>, id: string) =>
    Promise.all(stores.map((store, index) => call(Session.create(store).forSession(id), say(`m${index}`))));

  describe("on Postgres", () => {
    it("lose no message of an upsert", async () => {
      for (const id of SESSIONS) {
        expect(await atOnce((session, message) => session.upsertMessage(message), id)).toEqual([
          true,
          true,
          true,
          true,
        ]);
        const [store] = stores;
        expect(await Session.create(store).forSession(id).getPathLength()).toBe(4);
      }
    });

    it("store one message where each expects no leaf", async () => {
      for (const id of SESSIONS) {
        const codes = await atOnce(async (session, message) => {
          try {
            return (await session.appendMessage(message, undefined, { expectedLeaf: null })).inserted;
          } catch (error) {
            return StemmaError.isInstance(error) ? error.code : error;
          }
        }, id);
        expect(codes.sort()).toEqual(["LEAF_MOVED", "LEAF_MOVED", "LEAF_MOVED", true]);
        const [store] = stores;
        expect(await Session.create(store).forSession(id).getPathLength()).toBe(1);
      }
    });
  });
});
