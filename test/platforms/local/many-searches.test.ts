import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { localModel } from "stemma/local";
import { memory } from "stemma/memory";
import { Session, SessionManager, type SessionMessage } from "stemma/session";
import { sqlite } from "stemma/sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { patience } from "../../helpers/patience.js";
import { findModels } from "../../local/models.js";

const models = findModels();
const folder = mkdtempSync(join(tmpdir(), "stemma-many-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const said = (id: string, text: string): SessionMessage => ({ id, role: "user", parts: [{ type: "text", text }] });

const CITIES = ["Rome", "Lisbon", "Oslo", "Vienna", "Porto", "Ghent", "Turin", "Malmö"];
const THINGS = ["ferry", "kitten", "rent", "bicycle", "recipe", "doctor", "garden", "invoice", "concert", "passport"];

/** A long answer about a city and some things. */
function answer(index: number): string {
  const city = CITIES[index % CITIES.length] as string;
  const sentences = Array.from({ length: 40 }, (_, n) => {
    const thing = THINGS[(index * 7 + n * 3) % THINGS.length] as string;
    return `In ${city} the ${thing} of week ${(index + n) % 52} was paid, moved or lost, and somebody wrote it down.`;
  });
  return sentences.join(" ");
}

describe.skipIf(models === null)("many searches of a store with a local reranker", async () => {
  if (models === null) return;
  const model = await localModel({ model: `${models}/all-MiniLM-L6-v2` });
  afterAll(() => model.close());

  it("are all reranked when eight come at once, if only in part", async () => {
    const failures: unknown[] = [];
    const rerank = model.reranker({ timeBudget: patience(1_500) });
    const store = sqlite(join(folder, "many.db")).withReranker(rerank, {
      timeout: Math.ceil(patience(2_000)),
      onError: (error) => failures.push(error),
    });
    const session = Session.create(store).forSession("s");
    await session.appendAll(Array.from({ length: 200 }, (_, index) => said(`${index}`, answer(index))));
    const searches = Array.from({ length: 8 }, async (_, at) => {
      for (let round = 0; round < 3; round += 1) {
        const found = await session.search(`What about the ${THINGS[at]} in ${CITIES[(at + round) % CITIES.length]}?`);
        expect(found.length).toBeGreaterThan(0);
        expect(found[0]?.rerankScore).toBeDefined();
      }
    });
    await Promise.all(searches);
    expect(failures).toEqual([]);
    await store.close();
  });

  it("are all answered, by words where the model has no time, when hundreds come at once", async () => {
    let failures = 0;
    const store = memory().withReranker(model.reranker(), {
      onError: () => {
        failures += 1;
      },
    });
    const manager = SessionManager.create(store);
    await manager.appendAll("s", [said("1", "My cat is ill."), said("2", "The cat of a neighbour sleeps.")]);
    const found = await Promise.all(Array.from({ length: 600 }, (_, index) => manager.search(`cat ${index}`)));
    expect(new Set(found.map((hits) => hits.length))).toEqual(new Set([2]));
    const reranked = found.filter(([best]) => best?.rerankScore !== undefined).length;
    expect(reranked + failures).toBe(600);
    expect(reranked).toBeGreaterThan(0);
    // Afterwards all is as before.
    expect((await manager.search("a sick cat"))[0]?.rerankScore).toBeDefined();
    await store.close();
  });

  it.each([
    ["of 100 kB", "where did the cat go ".repeat(5_000)],
    ["of one word of 100 kB", "x".repeat(100_000)],
    ["of stop words", "the of and what"],
    ["of one character", "c"],
    ["of Chinese, which the model hardly knows", "猫在哪里"],
  ])("may have a query %s", async (_, query) => {
    const failures: unknown[] = [];
    const store = memory();
    const reranked = store.withReranker(model.reranker({ timeBudget: patience(1_500) }), {
      timeout: Math.ceil(patience(2_000)),
      onError: (error) => failures.push(error),
    });
    await Session.create(store)
      .forSession("s")
      .appendAll([said("1", "Where did the cat c go?"), said("2", "The cat went home."), said("3", "猫在花园里。")]);
    const idsOf = (hits: { id: string }[]) => hits.map(({ id }) => id).sort();
    const plain = await SessionManager.create(store).search(query);
    expect(idsOf(await SessionManager.create(reranked).search(query))).toEqual(idsOf(plain));
    expect(failures).toEqual([]);
    await store.close();
  });
});
