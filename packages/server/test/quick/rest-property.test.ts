import type { SessionStore } from "@stemma/store";
import { memory } from "@stemma/store/memory";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyString } from "../../../../test/helpers/any-string.js";
import { newStore, segmentOf, serveRest } from "./rest-helpers.js";

/** A text that a database keeps. */
const storable = anyString({ maxLength: 12 }).filter((text) => !text.includes("\0") && text.isWellFormed());
const id = storable.filter((text) => text !== "" && !text.startsWith("compaction_"));
const part = fc.record({ type: fc.constantFrom("text", "x"), text: storable, more: fc.jsonValue({ maxDepth: 3 }) });
const message = fc.record({
  id,
  role: fc.constantFrom("user", "assistant", "tool"),
  parts: fc.array(part, { maxLength: 2 }),
  metadata: fc.jsonValue(),
});

const step = fc.oneof(
  fc.record({
    do: fc.constant("append" as const),
    messages: fc.array(message, { minLength: 1, maxLength: 3 }),
    root: fc.boolean(),
  }),
  fc.record({ do: fc.constant("upsert" as const), message }),
  fc.record({ do: fc.constant("delete" as const), at: fc.nat() }),
  fc.record({ do: fc.constant("leaf" as const), at: fc.nat() }),
  fc.record({ do: fc.constant("edit" as const), at: fc.nat(), message }),
  fc.record({ do: fc.constant("block" as const), label: id, content: storable }),
  fc.record({ do: fc.constant("entry" as const), key: id, content: id, value: fc.jsonValue() }),
);

async function expectSame(far: SessionStore, own: SessionStore): Promise<void> {
  expect((await far.path()).messages).toEqual((await own.path()).messages);
  const treeOf = async (session: SessionStore) =>
    (await session.tree()).map(({ id, parentId, role, preview }) => [id, parentId, role, preview]);
  expect(await treeOf(far)).toEqual(await treeOf(own));
}

describe("REST and the store", () => {
  it("give the same after the same writes", async () => {
    await fc.assert(
      fc.asyncProperty(id, fc.array(step, { maxLength: 10 }), async (session, steps) => {
        const { store, ask } = await serveRest();
        // Where the server's store is out of reach, the other one is of its kind.
        const local = store === undefined ? await newStore() : memory();
        const path = `/v1/sessions/${segmentOf(session)}`;
        const memoryPath = `/v1/memory/${segmentOf(`session:${session}`)}`;
        const own = local.session(session);
        for (const each of steps) {
          const known = (await own.tree()).map((node) => node.id);
          const at = "at" in each ? (known[each.at % Math.max(1, known.length)] ?? "none") : "";
          const [locally, remotely] = await (async () => {
            switch (each.do) {
              case "append": {
                const parent = each.root ? null : undefined;
                return [
                  () => own.append(each.messages, parent),
                  () => ask("POST", `${path}/messages`, { json: { messages: each.messages, parent } }),
                ];
              }
              case "upsert":
                return [
                  () => own.upsert(each.message),
                  () => ask("PUT", `${path}/messages/${segmentOf(each.message.id)}`, { json: each.message }),
                ];
              case "delete":
                return [() => own.delete([at]), () => ask("POST", `${path}/messages/delete`, { json: { ids: [at] } })];
              case "leaf":
                return [() => own.setActiveLeaf(at), () => ask("PUT", `${path}/leaf`, { json: { messageId: at } })];
              case "edit":
                return [
                  () => own.appendSibling(at, each.message),
                  () => ask("POST", `${path}/messages/${segmentOf(at)}/siblings`, { json: { message: each.message } }),
                ];
              case "block":
                return [
                  () => local.blocks.set({ sessionId: session, kind: "block", label: each.label }, each.content),
                  () =>
                    ask("PUT", `${memoryPath}/blocks/${segmentOf(each.label)}`, { json: { content: each.content } }),
                ];
              default:
                return [
                  () =>
                    local.entries.set(
                      { sessionId: session, label: "facts" },
                      { key: each.key, content: each.content, value: each.value },
                    ),
                  () =>
                    ask("PUT", `${memoryPath}/entries/facts/${segmentOf(each.key)}`, {
                      json: { content: each.content, value: each.value },
                    }),
                ];
            }
          })();
          const code = await locally().then(
            () => null,
            (error) => error.code as string,
          );
          const { status, body } = await remotely();
          const isNew = each.do !== "edit" || each.message.id !== at;
          // A session that is not there is told of.
          const isThere = each.do !== "delete" || known.length > 0;
          if (isNew && isThere && code === null)
            expect([each.do, body?.detail, status < 300]).toEqual([each.do, undefined, true]);
          if (code !== null && known.length > 0)
            expect([each.do, body.code]).toEqual([each.do, isNew ? code : "INVALID_MESSAGE"]);
        }
        if (store !== undefined) await expectSame(store.session(session), own);
        // And what is read through REST is what the store holds.
        const stored = (await own.path()).messages;
        const read = await ask("GET", `${path}/messages?limit=200`);
        expect(read.status === 404 ? [] : read.body.data).toEqual(JSON.parse(JSON.stringify(stored)));
        const blocks = (await local.blocks.list({ sessionId: session })).map(({ label, content, version }) => ({
          label,
          content,
          version,
        }));
        const readBlocks = await ask("GET", `${memoryPath}/blocks`);
        expect(readBlocks.status === 404 ? [] : readBlocks.body.data).toMatchObject(blocks);
        const entries = (await local.entries.list({ sessionId: session, label: "facts" })).map(
          ({ key, content, value }) => ({ key, content, value }),
        );
        const readEntries = await ask("GET", `${memoryPath}/entries/facts`);
        const shown = readEntries.status === 404 ? [] : readEntries.body.data;
        expect(shown.map(({ key, content, value }: (typeof entries)[number]) => ({ key, content, value }))).toEqual(
          entries,
        );
      }),
      { numRuns: 40 },
    );
  });
});
