import { expect, it } from "vitest";
import type { SessionState, StoreSessionStorage } from "../../packages/stemma/src/agent.js";

const stateOf = (content: string, id = "m"): SessionState => ({
  id: "s",
  messages: [
    { id, role: "user", content },
    { id: `${id}-${content}`, role: "user", content },
  ],
  usage: { input_tokens: 1, output_tokens: 1 },
  metadata: {},
  createdAt: 1,
  updatedAt: 2,
});

/** What first saves promise where two storages open the same place. `open` gives two for an empty one. */
export function describeFirstSaves(open: () => Promise<[StoreSessionStorage, StoreSessionStorage]>): void {
  const textsOf = async (storage: StoreSessionStorage) =>
    (await storage.load("s"))?.messages.map((each) => each.content);

  it("acknowledges one of two first saves whose messages share an id, at the same time or one after the other", async () => {
    for (let round = 0; round < 20; round += 1) {
      const [a, b] = await open();
      expect([await a.load("s"), await b.load("s")]).toEqual([undefined, undefined]);
      const saves =
        round % 2 === 0
          ? [await settled(a.save(stateOf("ours"))), await settled(b.save(stateOf("theirs")))]
          : await Promise.all([settled(a.save(stateOf("ours"))), settled(b.save(stateOf("theirs")))]);
      expect([...saves].sort()).toEqual(["SESSION_CONFLICT", "saved"]);
      const text = saves[0] === "saved" ? "ours" : "theirs";
      expect(await textsOf(a)).toEqual([text, text]);
      // Whoever was refused has seen it now, and goes on.
      await b.load("s");
      await b.save(stateOf("later"));
      expect(await textsOf(a)).toEqual(["later", "later"]);
    }
  });

  it("keeps the messages of both where no id is shared, and takes the same state twice", async () => {
    const [a, b] = await open();
    await Promise.all([a.load("s"), b.load("s")]);
    await Promise.all([a.save(stateOf("ours", "a")), b.save(stateOf("theirs", "b"))]);
    const store = await a.openStore();
    expect((await store.session("s").tree()).map(({ id }) => id).sort()).toEqual(["a", "a-ours", "b", "b-theirs"]);
    const [c, d] = await open();
    await Promise.all([c.load("s"), d.load("s")]);
    await Promise.all([c.save(stateOf("same")), d.save(stateOf("same"))]);
    expect(await textsOf(c)).toEqual(["same", "same"]);
  });
}

const settled = (save: Promise<void>) =>
  save.then(
    () => "saved",
    (error: { code?: string }) => error.code ?? String(error),
  );
