import { beforeEach, expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { textMessage } from "../../helpers/messages.js";
import { describeServer } from "../../postgres/server.js";

const ROUNDS = 60;

describeServer("a session that is deleted and made anew while others write to it", (server) => {
  let stores: Store[];
  beforeEach(async () => {
    const url = await server.createDatabase();
    // A connection each, as processes have them.
    stores = Array.from({ length: 5 }, () => postgres(url));
    await stores[0]?.migrate();
    return async () => {
      for (const store of stores) await store.close();
    };
  });

  it("is always one session: no row of one that is gone is left, and what was written behind the last deletion is there", async () => {
    const [deleting, plain, checked, together, keeping] = stores as [Store, Store, Store, Store, Store];
    let next = 0;
    const message = () => textMessage(`m${++next}`);
    const rounds = async (work: () => Promise<unknown>) => {
      for (let round = 0; round < ROUNDS; round += 1) await work();
    };
    await Promise.all([
      rounds(() => deleting.sessions.delete("s")),
      rounds(() => plain.session("s").append([message()])),
      // The shared operation, which looks at the leaf first.
      rounds(async () => {
        const leaf = await checked.session("s").leaf();
        await checked
          .session("s")
          .append([message()], undefined, { expectedLeaf: leaf?.id ?? null })
          .catch((error) => expect(error).toMatchObject({ code: "LEAF_MOVED" }));
      }),
      rounds(() =>
        together.writeTogether([
          { block: { sessionId: "s", label: "notes", kind: "block" }, content: "one" },
          { session: "s", append: [message()] },
        ]),
      ),
      rounds(() => keeping.blocks.set({ sessionId: "s", label: "memory", kind: "block" }, "two")),
    ]);
    expect((await plain.check?.())?.problems).toEqual([]);

    await deleting.sessions.delete("s");
    expect(await plain.session("s").count()).toBe(0);
    await Promise.all([plain, checked, together].map((store) => store.session("s").append([message()])));
    expect(await deleting.session("s").count()).toBe(3);
  });
});
