// One topic of the suite: its cases, one after the other.
import { copyStore, exportStore, jsonl } from "@stemma/formats/copy";
import type { EmbeddableStore, Embedder, EmbedFunction } from "@stemma/store";
import { expect, expectError } from "../assert.js";
import { collect, forkedTree, idsOf, message, numbered } from "../samples.js";
import { defineTopic } from "../topic.js";
import { hashingEmbedder } from "./hashing-embedder.js";

const NEEDS = ["search", "embeddings"] as const;
const DURABLE = ["search", "embeddings", "durable"] as const;

/** An embedder that counts the texts it is given, and fails while it is told to. */
function watched(options: Partial<Embedder> = {}) {
  const hashing = hashingEmbedder({ dimensions: 64 });
  const watch = {
    texts: [] as string[],
    failing: false,
    refuses: (_text: string) => false,
    errors: [] as unknown[],
  };
  const embedder = {
    ...hashing,
    minSimilarity: 0.3,
    onError: (error: unknown) => void watch.errors.push(error),
    retryDelay: () => 1,
    ...options,
    embed: async (texts: string[], given: { signal: AbortSignal }) => {
      if (watch.failing || texts.some(watch.refuses)) throw new RangeError("the model is away");
      watch.texts.push(...texts);
      return hashing.embed(texts, given);
    },
  } as Embedder;
  return { watch, embedder };
}

/** Vectors that say nothing of a text, though always the same of it. */
async function arbitraryVectors(texts: string[]): Promise<number[][]> {
  return texts.map((text) => {
    let state = 7;
    const next = (value: number): number => {
      state = (Math.imul(state ^ value, 1_664_525) + 1_013_904_223) >>> 0;
      return state / 2 ** 31 - 1;
    };
    for (const character of text) next(character.charCodeAt(0));
    return Array.from({ length: 64 }, () => next(0));
  });
}

/** Search by vectors, beside words. */
export const embeddings = defineTopic("embeddings", (it) => {
  it("ranks as without an embedder until something is embedded", NEEDS, async (workspace) => {
    await workspace.session.appendAll(
      numbered("m", 40).map((id, index) => message(id, `zebra ${"x ".repeat(index % 7)}`)),
    );
    const { watch, embedder } = watched();
    watch.failing = true;
    const { session, manager } = workspace.embed(embedder);
    expect(await session.search("zebra x")).toEqual(await workspace.session.search("zebra x"));
    expect(await manager.search("zebra x", { limit: 7 })).toEqual(
      await workspace.manager.search("zebra x", { limit: 7 }),
    );
  });

  it("finds by meaning only a user's messages for the user", NEEDS, async (workspace) => {
    const { store, manager } = workspace.embed(watched().embedder);
    for (const userId of ["ada", "bob"]) {
      await manager.forUser(userId).appendAll(`chat of ${userId}`, [message("a", "elephants"), message("b", "other")]);
    }
    await store.embeddings.flush();
    const found = async (userId: string) =>
      (await manager.forUser(userId).search("elephantine")).map(({ sessionId, id }) => [sessionId, id]);
    expect(await found("ada")).toEqual([["chat of ada", "a"]]);
    expect(await found("bob")).toEqual([["chat of bob", "a"]]);
    expect(await found("eve")).toEqual([]);
    const stranger = manager.forUser("eve").getSession("chat of ada");
    await expectError(stranger.search("elephantine"), "SESSION_OWNED");
  });

  it("ranks a user's messages by their vectors as a store with nobody else would", NEEDS, async (workspace) => {
    const embedder = watched({ weights: { words: 0 } }).embedder;
    const mixed = workspace.embed(embedder);
    const alone = ((await workspace.openAnother()) as EmbeddableStore).withEmbedder(embedder);
    const words = ["restaurant", "umbrella", "photograph", "telescope", "harbour"];
    // So many sessions, with others between them, that words are not looked for in each.
    for (let index = 0; index < 30; index += 1) {
      const texts = [0, 1, 2].map((place) => `${words[(index + place) % 5]} ${index * 7} ${words[(index * 3) % 5]}`);
      const messages = texts.map((text, place) => message(`m${place}`, text));
      for (const { store, users } of [
        { store: mixed.store, users: ["ada", "bob", "eve"] },
        { store: alone, users: ["ada"] },
      ]) {
        for (const userId of users) {
          const session = store.forUser(userId).session(`s${index} of ${userId}`);
          for (const each of userId === "ada"
            ? messages
            : messages.map(({ id }) => message(id, "restaurants nearby"))) {
            await session.append([each]);
          }
        }
      }
    }
    await mixed.store.embeddings.flush();
    await alone.embeddings.flush();
    for (const query of ["restaurnat", "umbrela 21", "harbor photo"]) {
      // Where sessions share numbers, those of equal scores come in any order.
      const find = async (store: EmbeddableStore | typeof alone) =>
        (await store.forUser("ada").search(query, { limit: 50 }))
          .map(({ sessionId, id, score }) => [score?.toFixed(5), sessionId, id])
          .sort();
      const expected = await find(alone);
      expect(expected.length > 3).toBe(true);
      expect(await find(mixed.store)).toEqual(expected);
    }
    await alone.close();
  });

  it("finds entries that are alike, as they were written last", NEEDS, async (workspace) => {
    const { watch, embedder } = watched();
    const { store } = workspace.embed(embedder);
    const { entries } = store;
    const scope = { sessionId: "main", label: "facts" };
    const keys = async (query: string, of = scope) =>
      (await entries.search(of, query, { limit: 10 })).map(({ key }) => key).sort();
    // Through the store without the embedder too.
    await workspace.store.entries.set(scope, { key: "a", content: "restaurant" });
    await entries.set(scope, { key: "b", content: "umbrella" });
    await entries.set({ ...scope, label: "others" }, { key: "c", content: "restaurants" });
    expect(await store.embeddings.backlog()).toBe(3);
    expect(await keys("restaurnat")).toEqual([]);
    await store.embeddings.flush();
    expect(await store.embeddings.backlog()).toBe(0);
    expect(await keys("restaurnat")).toEqual(["a"]);
    expect(await keys("umbrella")).toEqual(["b"]);
    await entries.set(scope, { key: "a", content: "telescope" });
    await entries.append(scope, { key: "b", content: "photograph" }, { maxTokens: 100 });
    // What an entry said before does not find it.
    expect(await keys("restaurnat")).toEqual([]);
    await store.embeddings.flush();
    expect(await keys("telescop")).toEqual(["a"]);
    expect(await keys("photogarph")).toEqual(["b"]);
    await entries.delete(scope, "a");
    expect(await keys("telescop")).toEqual([]);
    expect(await store.embeddings.backlog()).toBe(0);
    watch.refuses = (text) => text.includes("poison");
    await entries.set(scope, { key: "d", content: "poison" });
    await entries.set(scope, { key: "e", content: "restaurante" });
    await expectError(store.embeddings.flush(), "EMBEDDER_FAILED");
    expect([await keys("poison"), await keys("restaurnat")]).toEqual([["d"], ["e"]]);
  });

  it("takes queries of any length, and what has no word", NEEDS, async (workspace) => {
    const { session, store } = workspace.embed(watched().embedder);
    await session.appendMessage(message("a", "restaurant"));
    await store.embeddings.flush();
    expect(idsOf(await session.search("restaurant ".repeat(10_000)))).toEqual(["a"]);
    for (const query of ["r", "\ud800", "", " "]) await session.search(query);
  });

  it("finds what is alike though it shares no word, once it is embedded", NEEDS, async (workspace) => {
    const { embedder } = watched();
    const { session, manager, store } = workspace.embed(embedder);
    // Through the other store, which does not wake the work.
    await workspace.session.appendAll([
      message("a", "a lovely restaurant downtown"),
      message("b", "the weather in Lisbon"),
    ]);
    expect(await store.embeddings.backlog()).toBe(2);
    await store.embeddings.flush();
    expect(await store.embeddings.backlog()).toBe(0);
    const [hit, ...others] = await session.search("restaurnat");
    expect([hit?.id, hit?.content, hit?.snippet, others.length]).toEqual([
      "a",
      "a lovely restaurant downtown",
      "a lovely restaurant downtown",
      0,
    ]);
    expect(idsOf(await manager.search("restaurnat"))).toEqual(["a"]);
    expect(await session.search("?!")).toEqual([]);
    expect(await workspace.session.search("restaurnat")).toEqual([]);
  });

  it("puts first what both words and vectors find", NEEDS, async (workspace) => {
    const { embedder } = watched();
    const { session, store } = workspace.embed(embedder);
    await session.appendAll([
      message("v", "photographs"),
      message("w", "a photography course, and much else beside"),
      message("o", "zebra"),
    ]);
    await store.embeddings.flush();
    const found = await session.search("photography course");
    expect(idsOf(found).slice(0, 1)).toEqual(["w"]);
    expect(found.every(({ score }) => (score ?? 0) > 0)).toBe(true);
  });

  it("leaves first what words find where vectors tell nothing apart", NEEDS, async (workspace) => {
    const embedder = { id: "arbitrary", dimensions: 64, embed: arbitraryVectors };
    const { session, store } = workspace.embed(embedder);
    const ids = numbered("m", 200);
    await session.appendAll(ids.map((id) => message(id, `zebra ${id}`)));
    await store.embeddings.flush();
    for (const index of [0, 7, 100, 199]) {
      expect(idsOf(await session.search(ids[index] as string)).slice(0, 1)).toEqual([ids[index]]);
    }
  });

  it("explains with `explain` which place a result has by words, and which by meaning", NEEDS, async (workspace) => {
    const { session, store } = workspace.embed(watched().embedder);
    await session.appendAll([message("v", "photographs"), message("w", "a photography course")]);
    await store.embeddings.flush();
    const hits = await store.search("photography course", { limit: 10, explain: true });
    expect(hits.map(({ id, explanation }) => [id, explanation?.ranks])).toEqual([
      ["w", { words: 1, meaning: 1 }],
      ["v", { words: null, meaning: 2 }],
    ]);
    expect(hits.map(({ explanation }) => explanation?.words.map(({ word }) => word).sort())).toEqual([
      ["course", "photography"],
      [],
    ]);
  });

  it("weighs the two as it is told", NEEDS, async (workspace) => {
    const plain = workspace.session;
    await plain.appendAll([message("a", "restaurant"), message("b", "restaurants and more words of other things")]);
    const words = workspace.embed(watched({ weights: { vectors: 0 } }).embedder);
    await words.store.embeddings.flush();
    expect(idsOf(await words.session.search("restaurnat"))).toEqual([]);
    expect(idsOf(await words.session.search("other things"))).toEqual(idsOf(await plain.search("other things")));
    const vectors = workspace.embed(watched({ weights: { words: 0 } }).embedder);
    expect(idsOf(await vectors.session.search("restaurnat"))).toEqual(["a", "b"]);
  });

  it("narrows what vectors find as it does what words find", NEEDS, async (workspace) => {
    const { session, manager, sessionOf, store } = workspace.embed(watched().embedder);
    await forkedTree(session);
    await sessionOf("other").appendMessage({
      ...message("x", "text of x", "tool"),
      createdAt: "2024-02-01T00:00:00.000Z",
    });
    await store.embeddings.flush();
    // Misspelled, so that no word is found.
    const found = async (options: object) => idsOf(await manager.search("txet text_", options)).sort();
    expect(idsOf(await session.search("textt", { leafId: "c" })).sort()).toEqual(["a", "b", "c", "root"]);
    expect(idsOf(await session.search("textt", { leafId: "e" })).sort()).toEqual(["a", "d", "e", "root"]);
    expect(idsOf(await manager.search("textt", { sessionIds: ["other"] }))).toEqual(["x"]);
    await sessionOf("between").appendMessage(message("y", "text of y"));
    await sessionOf("last").appendMessage(message("z", "text of z"));
    await store.embeddings.flush();
    expect(idsOf(await manager.search("textt", { sessionIds: ["other", "last"] })).sort()).toEqual(["x", "z"]);
    await manager.delete("between");
    await manager.delete("last");
    expect(idsOf(await manager.search("textt", { role: "tool" }))).toEqual(["x"]);
    expect(idsOf(await manager.search("textt", { before: "2024-03-01" }))).toEqual(["x"]);
    expect((await found({ limit: 3 })).length).toBe(3);
    const [hit] = await session.search("textt", { leafId: "c", limit: 1, context: 1 });
    expect((hit?.context?.before.length ?? 0) + (hit?.context?.after.length ?? 0) > 0).toBe(true);
  });

  it("gives pages that neither repeat nor leave out a result", NEEDS, async (workspace) => {
    const { session, store } = workspace.embed(watched().embedder);
    const words = ["zebra", "zebras", "zebraa", "zebbra"];
    await session.appendAll(
      numbered("m", 700).map((id, index) => message(id, `${words[index % 4]}${" x".repeat(index % 7)}`)),
    );
    await store.embeddings.flush();
    const whole = idsOf(await session.search("zebra", { limit: 700 }));
    expect(new Set(whole).size).toBe(whole.length);
    expect(whole.length > 350).toBe(true);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof session.searchPage>> = await session.searchPage("zebra", {
        limit: 99,
        cursor,
      });
      seen.push(...idsOf(page.results));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(seen).toEqual(whole);
  });

  it("embeds a message anew when it is edited, and finds none that was deleted", NEEDS, async (workspace) => {
    const { watch, embedder } = watched();
    const { session, manager, sessionOf, store } = workspace.embed(embedder);
    await session.appendAll([message("a", "restaurant"), message("b", "restaurants"), message("c", "weather")]);
    await sessionOf("gone").appendMessage(message("d", "restaurante"));
    await store.embeddings.flush();
    const found = async () => idsOf(await manager.search("restaurnat")).sort();
    expect(await found()).toEqual(["a", "b", "d"]);
    await session.updateMessage(message("a", "umbrella"));
    await session.deleteMessages(["b"]);
    await manager.delete("gone");
    expect(await found()).toEqual([]);
    await store.embeddings.flush();
    expect(idsOf(await session.search("umbrela"))).toEqual(["a"]);
    expect(watch.texts.filter((text) => text === "user: umbrella").length).toBe(1);
    await session.clearMessages();
    expect(idsOf(await session.search("umbrela"))).toEqual([]);
    // The numbers of rows start again.
    await session.appendAll([message("e", "weather"), message("f", "restaurant")]);
    await store.embeddings.flush();
    expect(await found()).toEqual(["f"]);
  });

  it("gives no message the vector of a text that was changed while the model worked", NEEDS, async (workspace) => {
    const { watch, embedder } = watched({ batchSize: 200 });
    let meanwhile = async () => {};
    const { embed: made } = embedder as { embed: EmbedFunction };
    const slow: EmbedFunction = async (texts, options) => {
      const vectors = await made(texts, options);
      const change = meanwhile;
      meanwhile = async () => {};
      await change();
      return vectors;
    };
    const { session, sessionOf, manager, store } = workspace.embed({ ...embedder, embed: slow } as Embedder);
    const found = async (query: string) => idsOf(await manager.search(query, { limit: 200 })).sort();
    const [ids, others] = [numbered("m", 80), numbered("o", 30)];
    const [first, edited, deleted] = [others[0], ids[40], ids[60]] as [string, string, string];
    await session.appendAll(ids.map((id) => message(id, "restaurant")));
    await sessionOf("other").appendAll(others.map((id) => message(id, "restaurants")));
    meanwhile = async () => {
      await session.updateMessage(message(edited, "umbrella"));
      await session.deleteMessages([deleted]);
      await sessionOf("other").updateMessage(message(first, "umbrella"));
      await session.appendMessage(message("late", "restaurante"));
    };
    await store.embeddings.flush();
    expect(await store.embeddings.backlog()).toBe(0);
    expect(await found("umbrela")).toEqual([edited, first]);
    expect((await found("restaurnat")).length).toBe(80 + 30 + 1 - 3);
    const again = ids.slice(0, 35);
    const [twice] = again.splice(30, 1) as [string];
    // Those that have a vector already.
    for (const id of [...again, twice]) await session.updateMessage(message(id, "lighthouse"));
    meanwhile = async () => void (await session.updateMessage(message(twice, "telescope")));
    await store.embeddings.flush();
    expect(await store.embeddings.backlog()).toBe(0);
    expect(await found("telescop")).toEqual([twice]);
    expect(await found("lighthuose")).toEqual(again);
    expect(watch.texts.filter((text) => text === "user: telescope").length).toBe(1);
  });

  it("keeps right what is changed through a store without the embedder", NEEDS, async (workspace) => {
    const { session, store } = workspace.embed(watched().embedder);
    await session.appendAll([message("a", "restaurant"), message("b", "restaurants")]);
    await store.embeddings.flush();
    await workspace.session.updateMessage(message("a", "umbrella"));
    await workspace.session.deleteMessages(["b"]);
    await workspace.session.appendMessage(message("c", "the restaurante"));
    expect(await store.embeddings.backlog()).toBe(2);
    await store.embeddings.flush();
    expect(idsOf(await session.search("restaurnat"))).toEqual(["c"]);
    expect(idsOf(await session.search("umbrela"))).toEqual(["a"]);
  });

  it("takes the vectors along into a fork, without asking the embedder again", NEEDS, async (workspace) => {
    const { watch, embedder } = watched();
    const { session, manager, sessionOf, store } = workspace.embed(embedder);
    await session.appendAll([message("a", "restaurant"), message("b", "weather"), message("c", "umbrella")]);
    await store.embeddings.flush();
    const count = watch.texts.length;
    const fork = await manager.fork("main", "b", "fork");
    await sessionOf(fork.id).appendMessage(message("d", "restaurants"));
    await store.embeddings.flush();
    expect(watch.texts.slice(count)).toEqual(["user: restaurants"]);
    expect(idsOf(await sessionOf(fork.id).search("restaurnat")).sort()).toEqual(["a", "d"]);
    await session.deleteMessages(["a"]);
    expect(idsOf(await sessionOf(fork.id).search("restaurnat")).sort()).toEqual(["a", "d"]);
  });

  it(
    "takes the vectors along into a copy of the store, without asking the embedder again",
    NEEDS,
    async (workspace) => {
      const { watch, embedder } = watched();
      const { sessionOf, store } = workspace.embed(embedder);
      for (const id of ["one", "two"]) {
        await sessionOf(id).appendAll([message("a", "restaurant"), message("b", ""), message("c", `umbrella ${id}`)]);
      }
      await store.embeddings.flush();
      const lines = await collect(exportStore(store));
      const hits = await store.search("restaurnat", { limit: 10 });
      const count = watch.texts.length;
      const other = (await workspace.openAnother()) as EmbeddableStore;
      const copy = async () => copyStore(jsonl(new Blob(lines).stream()), other);
      expect((await copy()).parts.map(({ state }) => state)).toEqual(["copied", "copied", "copied", "copied"]);
      const { ok, vectors, parts } = await copy();
      expect([ok, vectors, parts.map(({ state }) => state)]).toEqual([true, 6, Array(4).fill("present")]);
      const copied = other.withEmbedder(embedder);
      await copied.embeddings.flush();
      expect(await copied.search("restaurnat", { limit: 10 })).toEqual(hits);
      expect(watch.texts.slice(count).filter((text) => text !== "restaurnat")).toEqual([]);
      expect(await collect(exportStore(copied))).toEqual(lines);
    },
  );

  it("appends and searches by words while the embedder fails, and says so", NEEDS, async (workspace) => {
    const { watch, embedder } = watched();
    const { session, store } = workspace.embed(embedder);
    await session.appendMessage(message("a", "restaurant"));
    await store.embeddings.flush();
    watch.failing = true;
    await session.appendMessage(message("b", "restaurants downtown"));
    expect(idsOf(await session.search("downtown"))).toEqual(["b"]);
    expect(watch.errors.length > 0).toBe(true);
    await expectError(store.embeddings.flush(), "EMBEDDER_FAILED");
    expect(store.embeddings.lastError === null).toBe(false);
    expect(await store.embeddings.backlog()).toBe(1);
    watch.failing = false;
    await store.embeddings.flush();
    expect([await store.embeddings.backlog(), store.embeddings.lastError]).toEqual([0, null]);
    expect(idsOf(await session.search("restaurnat")).sort()).toEqual(["a", "b"]);
  });

  it("embeds the others when the embedder refuses one text, which goes on waiting", NEEDS, async (workspace) => {
    const { watch, embedder } = watched();
    const { session, store } = workspace.embed(embedder);
    watch.refuses = (text) => text.includes("poison");
    await session.appendAll([message("a", "restaurant"), message("b", "poison"), message("c", "restaurants")]);
    await expectError(store.embeddings.flush(), "EMBEDDER_FAILED");
    expect(await store.embeddings.backlog()).toBe(1);
    expect(idsOf(await session.search("restaurnat")).sort()).toEqual(["a", "c"]);
    expect(idsOf(await session.search("poison"))).toEqual(["b"]);
    await session.updateMessage(message("b", "a restaurante"));
    await store.embeddings.flush();
    expect(idsOf(await session.search("restaurnat")).sort()).toEqual(["a", "b", "c"]);
  });

  it("refuses vectors that are none", NEEDS, async (workspace) => {
    const { watch, embedder } = watched();
    const { session, store } = workspace.embed(embedder);
    await session.appendMessage(message("a", "restaurant"));
    await store.embeddings.flush();
    expect(watch.texts.length).toBe(1);
    for (const vector of [[], [1], new Array(64).fill(Number.NaN), "x"]) {
      const id = `${JSON.stringify(vector)}`;
      const wrong = workspace.embed({
        ...watched().embedder,
        embed: async () => [vector] as number[][],
        id,
        dimensions: 64,
      });
      await expectError(wrong.store.embeddings.flush(), "EMBEDDER_FAILED");
      expect(idsOf(await wrong.session.search("restaurant"))).toEqual(["a"]);
    }
    expect(idsOf(await session.search("restaurnat"))).toEqual(["a"]);
  });

  it(
    "embeds everything anew with another model, and never compares vectors of different ones",
    NEEDS,
    async (workspace) => {
      const old = workspace.embed(watched().embedder);
      await old.session.appendAll(numbered("m", 100).map((id) => message(id, `restaurant ${id}`)));
      await old.store.embeddings.flush();
      const { watch, embedder } = watched({ id: "another" });
      const next = workspace.embed(embedder);
      expect(await next.store.embeddings.backlog()).toBe(100);
      expect(idsOf(await old.session.search("restaurnat")).length).toBe(20);
      expect(idsOf(await next.session.search("restaurnat"))).toEqual([]);
      await next.store.embeddings.flush();
      expect([await next.store.embeddings.backlog(), watch.texts.length >= 100]).toEqual([0, true]);
      expect(idsOf(await next.session.search("restaurnat")).length).toBe(20);
      // The one that was opened before stops, and searches by words.
      expect(idsOf(await old.session.search("restaurnat"))).toEqual([]);
      await old.session.appendMessage(message("new", "restaurant"));
      await expectError(old.store.embeddings.flush(), "EMBEDDER_REPLACED");
      await next.store.embeddings.flush();
      expect(await next.store.embeddings.backlog()).toBe(0);
    },
  );

  it("begins by itself after an append", NEEDS, async (workspace) => {
    const { watch, embedder } = watched();
    const { session } = workspace.embed(embedder);
    await session.appendMessage(message("a", "restaurant"));
    for (let waits = 0; waits < 200 && watch.texts.length === 0; waits += 1) {
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    expect(watch.texts).toEqual(["user: restaurant"]);
  });

  it("goes on where it stopped, and embeds what others appended", DURABLE, async (workspace) => {
    const { watch, embedder } = watched();
    const first = workspace.embed(embedder);
    await first.session.appendMessage(message("a", "restaurant"));
    await first.store.embeddings.flush();
    await first.session.appendMessage(message("b", "restaurants"));
    await first.store.close();
    const other = await workspace.connect();
    await other.session.appendMessage(message("c", "restaurante"));
    const again = (await workspace.connect()).embed(embedder);
    await again.store.embeddings.flush();
    expect(idsOf(await again.session.search("restaurnat")).sort()).toEqual(["a", "b", "c"]);
    expect(watch.texts.filter((text) => text !== "restaurnat")).toEqual([
      "user: restaurant",
      "user: restaurants",
      "user: restaurante",
    ]);
  });

  it("ends with each message embedded when two work at once", DURABLE, async (workspace) => {
    const [one, two] = [watched({ batchSize: 8 }), watched({ batchSize: 8 })];
    const first = workspace.embed(one.embedder);
    const second = (await workspace.connect()).embed(two.embedder);
    await Promise.all(
      [first, second].map(({ sessionOf }, index) =>
        sessionOf(`s${index}`).appendAll(numbered("m", 40).map((id) => message(id, `restaurant ${id}`))),
      ),
    );
    await Promise.all([first.store.embeddings.flush(), second.store.embeddings.flush()]);
    expect([await first.store.embeddings.backlog(), await second.store.embeddings.backlog()]).toEqual([0, 0]);
    expect((await first.manager.search("restaurnat", { limit: 100 })).length).toBe(80);
    const count = one.watch.texts.length + two.watch.texts.length;
    await Promise.all([first.store.embeddings.flush(), second.store.embeddings.flush()]);
    expect(one.watch.texts.length + two.watch.texts.length).toBe(count);
  });

  it("stops when the store is closed", NEEDS, async (workspace) => {
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    let aborted = false;
    const { session, store } = workspace.embed({
      id: "slow",
      dimensions: 3,
      embed: (_texts, { signal }) => {
        begin();
        return new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            aborted = true;
            reject(signal.reason);
          });
        });
      },
    });
    await session.appendMessage(message("a", "restaurant"));
    const flushed = expectError(store.embeddings.flush(), "STORE_CLOSED");
    await begun;
    await store.close();
    await flushed;
    expect(aborted).toBe(true);
    await expectError(store.embeddings.backlog(), "STORE_CLOSED");
    await expectError(session.search("restaurant"), "STORE_CLOSED");
  });

  it("refuses an embedder that is none", NEEDS, async ({ store }) => {
    const hashing = hashingEmbedder();
    const wrong: unknown[] = [
      null, {}, { ...hashing, id: "" }, { ...hashing, dimensions: 0 }, { ...hashing, dimensions: undefined }, { ...hashing, embed: 1 },
      { ...hashing, batchSize: 0 }, { ...hashing, retryDelay: 500 }, { ...hashing, minSimilarity: 2 }, { ...hashing, weights: { words: -1 } },
    ]; // biome-ignore format: one list
    for (const embedder of wrong) {
      await expectError(
        (async () => (store as EmbeddableStore).withEmbedder(embedder as Embedder))(),
        "INVALID_ARGUMENT",
      );
    }
  });
});
