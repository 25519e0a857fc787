import { expect, it } from "vitest";
import type { EntryScope } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";

const scopeOf = (user: string): EntryScope => ({ sessionId: "", label: "facts", scope: { key: user } });
const ADA = scopeOf("ada");

it("scores an entry by those of its scope, whatever others store", async () => {
  const store = memory();
  const set = (entries: EntryScope, key: string, content: string) => ({ entries, key, content });
  await store.writeTogether([
    set(ADA, "ferry", "The ferry to the island."),
    set(ADA, "twice", "A ferry, another ferry."),
    set(ADA, "thrice", "A bridge, a bridge and a bridge beside the road."),
    set(ADA, "tea", "Likes green tea in the morning, and says so whenever somebody asks for it."),
    ...Array.from({ length: 8 }, (_, at) => set(ADA, `other ${at}`, `Number ${at} of what else there is.`)),
  ]);
  const queries = ["ferry", "ferry tea", "bridge road", "island", '"green tea" ferry'];
  const found = async () => {
    const all = queries.map((query) => store.entries.search(ADA, query, { limit: 20 }));
    return (await Promise.all(all)).map((hits) => hits.map(({ key, score }) => [key, score.toFixed(9)]));
  };
  const alone = await found();
  expect(alone[0]?.map(([key]) => key)).toEqual(["twice", "ferry"]);
  const bob = (count: number, text: string) =>
    store.writeTogether(Array.from({ length: count }, (_, at) => set(scopeOf("bob"), `${text}${at}`, `${text} ${at}`)));
  await bob(9, "Ferry, ferry, ferry, bridge.");
  expect(await found()).toEqual(alone);
  await bob(200, "Ferry and bridge to somewhere, on a long and rainy day in the green tea house of an island.");
  expect(await found()).toEqual(alone);
  // Nearly all entries of the store hold the words then.
  await bob(600, "Ferry bridge island");
  expect(await found()).toEqual(alone);
  await store.close();
});
