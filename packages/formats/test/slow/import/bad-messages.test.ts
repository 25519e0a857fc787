import { describe, expect, it } from "vitest";
import { memory } from "../../../../store/src/memory.js";
import { sessionsOfItems } from "../../../src/formats.js";
import { importSession } from "../../../src/import/import-session.js";
import { readItems } from "../../../src/json-items.js";

const BAD: unknown[] = [null, 5, "text", true, [], {}, [null], [5], [{}], [{ type: 5 }], "\0", "\ud800", { toJSON: 1 }];

type Json = Record<string, unknown>;

/** For each format: how a file of these messages is written, and a good message. */
const FORMATS: Record<string, { good: (id: string) => Json; file: (messages: unknown[]) => string }> = {
  jsonl: {
    good: (id) => ({ message: { id, role: "user", parts: [{ type: "text", text: id }] }, parentId: null }),
    file: (lines) =>
      [{ stemma: 1, session: { id: "s", input_tokens: "x", estimated_cost: 1e300 } }, ...lines]
        .map((line) => JSON.stringify(line))
        .join("\n"),
  },
  "ui-messages": {
    good: (id) => ({ id, role: "user", parts: [{ type: "text", text: id }] }),
    file: (messages) => JSON.stringify({ messages }),
  },
  openai: {
    good: (id) => ({ id, role: "user", content: [{ type: "text", text: id }], tool_calls: [], name: "n" }),
    file: (messages) => JSON.stringify(messages),
  },
  pi: {
    good: (id) => ({
      type: "message",
      id,
      parentId: null,
      timestamp: "2025-01-01T00:00:00.000Z",
      message: { role: "user", content: [{ type: "text", text: id }], timestamp: 1 },
    }),
    file: (entries) => [{ type: "session", id: "s" }, ...entries].map((entry) => JSON.stringify(entry)).join("\n"),
  },
};

async function imported(format: string, text: string): Promise<{ ids: string[]; reported: number }> {
  const store = memory();
  const ids: string[] = [];
  let reported = 0;
  async function* chunks() {
    yield text;
  }
  for await (const session of sessionsOfItems(readItems(chunks()), { stem: "file" }, format)) {
    const report = await importSession(store, session);
    reported += (report ?? session).skipped.length;
    ids.push(...(await store.session(session.id).tree()).map(({ id }) => id));
  }
  await store.close();
  return { ids, reported };
}

/** Each copy of `value` in which one place holds something else. */
function* broken(value: Json): Generator<Json> {
  for (const key of Object.keys(value)) {
    for (const bad of BAD) yield { ...value, [key]: bad };
    const child = value[key];
    const list = Array.isArray(child);
    if (typeof child !== "object" || child === null) continue;
    for (const inner of broken(child as Json)) yield { ...value, [key]: list ? Object.values(inner) : inner };
  }
}

describe.each(Object.entries(FORMATS))("a bad message in a file of the format %s", (format, { good, file }) => {
  it("keeps none of the others out", async () => {
    let reported = 0;
    for (const bad of [...broken(good("bad")), null, 5, "x", [], {}]) {
      const { ids, reported: faults } = await imported(format, file([good("a"), bad, good("b")]));
      expect(ids).toEqual(expect.arrayContaining(["a", "b"]));
      reported += faults;
    }
    expect(reported).toBeGreaterThan(0);
  });

  it("is reported when it is nested too deep", async () => {
    for (const depth of [2_000, 50_000]) {
      const deep = good("deep");
      const holder = (deep.message ?? deep) as Json;
      // JSON.stringify would overflow at such a depth.
      holder.metadata = "DEEP";
      const text = file([good("a"), deep, good("b")]).replace(
        '"DEEP"',
        `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`,
      );
      const { ids, reported } = await imported(format, text);
      expect(ids).toEqual(["a", "b"]);
      expect(reported).toBeGreaterThan(0);
    }
  });

  it("is data where it holds our own marker", async () => {
    const own = { media: [{ path: ["__proto__", "polluted"], hash: "x" }], split: "row:1", date: true };
    const bad: Json = { ...good("own"), $stemma: own };
    if (format === "jsonl") bad.message = { ...(bad.message as Json), $stemma: own };
    const { ids } = await imported(format, file([good("a"), bad]));
    expect(ids).toEqual(["a", "own"]);
    expect("polluted" in {}).toBe(false);
  });
});
