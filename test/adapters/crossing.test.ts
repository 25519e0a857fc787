import { describe, expect, it } from "vitest";
import { memory } from "../../src/memory.js";
import { ADAPTERS } from "./crossing-adapters.js";
import { CONVERSATION, type Said } from "./crossing-said.js";

// docs/adapters.md has the table of what this finds.
describe("a conversation crosses over", () => {
  const pairs = ADAPTERS.flatMap((writer) => ADAPTERS.map((reader) => ({ writer, reader })));

  it.each(pairs.map(({ writer, reader }) => [writer.name, reader.name, writer, reader] as const))(
    "from %s to %s",
    async (_from, _to, writer, reader) => {
      const store = memory();
      await writer.write(store, "chat", CONVERSATION);
      expect(await reader.read(store, "chat")).toEqual(CONVERSATION);
      await store.close();
    },
  );

  it("through all of them and back", async () => {
    const store = memory();
    let said: readonly Said[] = CONVERSATION;
    for (const [index, adapter] of [...ADAPTERS, ...[...ADAPTERS].reverse()].entries()) {
      await adapter.write(store, `chat ${index}`, said);
      const reader = ADAPTERS[(index + 1) % ADAPTERS.length] as (typeof ADAPTERS)[number];
      said = await reader.read(store, `chat ${index}`);
    }
    expect(said).toEqual(CONVERSATION);
    await store.close();
  });

  it("while all of them write to one session in turn", async () => {
    const store = memory();
    const [first, ...others] = ADAPTERS.filter(({ isFile }) => !isFile);
    await first?.write(store, "chat", CONVERSATION);
    const all: Said[] = [...CONVERSATION];
    for (const [index, { write }] of others.entries()) {
      const more: Said[] = [
        { user: `More, ${index}?` },
        { call: `more_${index}`, tool: "weather", input: {}, output: { degrees: index } },
        { answer: "So it is." },
      ];
      await write(store, "chat", more);
      all.push(...more);
    }
    for (const { name, read } of ADAPTERS) expect([name, await read(store, "chat")]).toEqual([name, all]);
    await store.close();
  });
});
