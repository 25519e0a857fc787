import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { afterAll, describe, expect, it } from "vitest";
import { collect, message, numbered } from "../../../packages/conformance/src/samples.js";
import { hashingEmbedder } from "../../../packages/conformance/src/search/hashing-embedder.js";
import { readSessionFile } from "../../../packages/formats/src/read.js";
import { toBase64 } from "../../../packages/model/src/messages/media.js";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { copyStore, exportStore } from "../../../packages/stemma/src/copy.js";
import { jsonlFiles } from "../../../packages/stemma/src/copy-node.js";
import type { EmbeddableStore } from "../../../packages/store/src/embeddings/contract.js";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";

const root = mkdtempSync(join(tmpdir(), "stemma-copy-"));
const newPath = (name: string) => join(mkdtempSync(join(root, "case-")), name);

afterAll(() => rmSync(root, { recursive: true, force: true }));

/** An embedder that counts the texts that it is given, without those of queries. */
function counting(id = "hashing-64") {
  const hashing = hashingEmbedder({ dimensions: 64 });
  const texts: string[] = [];
  const embed = async (given: string[], options: { signal: AbortSignal }) => {
    texts.push(...given.filter((text) => text !== "restaurnat"));
    // Below 0, and no number that 32 bits hold as it is.
    return (await hashing.embed(given, options)).map((vector) =>
      vector.map((x, index) => (index % 3 === 0 ? -x : x) / 3),
    );
  };
  return { texts, embedder: { ...hashing, id, embed } };
}

async function fill(store: EmbeddableStore): Promise<string[]> {
  const { texts, embedder } = counting();
  const embedded = store.withEmbedder(embedder);
  for (const id of ["a", "b"]) {
    const words = numbered("m", 150).map((name, index) => message(name, index % 9 === 0 ? "" : `restaurant ${index}`));
    await embedded.session(id).append(words);
  }
  await embedded
    .forUser("ada")
    .session("of ada")
    .append([message("a", "restaurante")]);
  await embedded.embeddings.flush();
  return texts;
}

async function find(store: EmbeddableStore) {
  const { texts, embedder } = counting();
  const embedded = store.withEmbedder(embedder);
  await embedded.embeddings.flush();
  const hits = await embedded.search("restaurnat", { limit: 20 });
  return { asked: texts.length, found: hits.map(({ sessionId, id, score }) => [sessionId, id, score?.toFixed(6)]) };
}

describe("a copy of vectors", () => {
  it("goes from kind to kind, and the embedder is asked for nothing again", async () => {
    const first = sqlite(newPath("first.db"));
    const texts = await fill(first);
    expect(texts.length).toBe(267);
    const before = await find(first);
    const database = await PGlite.create();
    const last = sqlite(newPath("last.db"));
    const ways = [first, postgres(database), jsonlFiles(newPath("folder")), memory(), last];
    const digests: unknown[] = [];
    for (const [index, to] of ways.entries()) {
      const from = ways[index - 1];
      if (from === undefined) continue;
      const { ok, vectors, parts } = await copyStore(from, to);
      expect(parts.filter(({ problem }) => problem)).toEqual([]);
      expect([ok, vectors]).toEqual([true, 301]);
      digests.push(parts.filter(({ of }) => "vectors" in of).map(({ of, items, digest }) => [of, items, digest]));
      expect(new Set(parts.map(({ state }) => state))).toEqual(new Set(["copied"]));
      if ("withEmbedder" in to) expect((await find(to)).asked).toBe(0);
    }
    expect(digests[0]).toHaveLength(3);
    for (const other of digests) expect(other).toEqual(digests[0]);
    expect(await find(last)).toEqual(before);
    expect((await last.check?.())?.problems).toEqual([]);
    // A second time there is nothing to add.
    expect(new Set((await copyStore(first, last)).parts.map(({ state }) => state))).toEqual(new Set(["present"]));
    await database.close();
  });

  it("goes on where it was cut off", async () => {
    const store = memory();
    await fill(store);
    const target = memory();
    const stop = new AbortController();
    const onProgress = (of: object, items: number) => {
      if ("vectors" in of && items === 100) stop.abort(new RangeError("stopped"));
    };
    await expect(copyStore(store, target, { onProgress, signal: stop.signal })).rejects.toThrow("stopped");
    expect(await copyStore(store, target)).toMatchObject({ ok: true, vectors: 301 });
    expect((await find(target)).asked).toBe(0);
  });

  it("leaves alone what the target has of another embedder, and tells so", async () => {
    const store = memory();
    await fill(store);
    const target = memory();
    const other = counting("other");
    const embedded = target.withEmbedder(other.embedder);
    await embedded.session("before").append([message("x", "restaurant")]);
    await embedded.embeddings.flush();
    const { ok, sessions, vectors, parts } = await copyStore(store, target);
    expect([ok, sessions, vectors]).toEqual([false, 3, 0]);
    const failed = parts.filter(({ state }) => state === "failed");
    expect(failed.map(({ of, problem }) => [of, problem?.code])).toEqual(
      ["a", "b", "of ada"].map((vectorsOf) => [{ vectors: vectorsOf }, "COPY_CONFLICT"]),
    );
    expect(failed[0]?.problem?.message).toContain('"other"');
    expect(await embedded.embeddings.backlog()).toBe(301);
    // Whoever wants the other embedder leaves the vectors out.
    expect(await copyStore(store, target, { vectors: false })).toMatchObject({ ok: true, vectors: 0 });
  });

  it("keeps what the target has embedded since, and takes what waits along as waiting", async () => {
    const store = memory();
    await fill(store);
    await store.session("a").update(message("m000010", "umbrella"));
    await store.session("b").append([message("late", "umbrellas")]);
    const target = memory();
    expect((await copyStore(store, target)).ok).toBe(true);
    const { texts, embedder } = counting();
    const embedded = target.withEmbedder(embedder);
    await embedded.embeddings.flush();
    expect(texts.sort()).toEqual(["user: umbrella", "user: umbrellas"]);
    expect((await copyStore(store, target)).parts.filter(({ state }) => state !== "present")).toEqual([]);
    expect(await embedded.embeddings.backlog()).toBe(0);
  });

  it("as lines is what `stemma import` reads too, without the vectors", async () => {
    const store = memory();
    await fill(store);
    const path = newPath("all.jsonl");
    writeFileSync(path, (await collect(exportStore(store))).join(""));
    const imported: unknown[] = [];
    for await (const session of readSessionFile(path)) {
      imported.push([session.id, session.messages.length, session.skipped]);
    }
    expect(imported).toEqual([
      ["a", 150, []],
      ["b", 150, []],
      ["of ada", 1, []],
    ]);
  });

  it("refuses a line that is no vector", async () => {
    const store = memory();
    await fill(store);
    const text = (await collect(exportStore(store))).join("");
    const vector = /"vector":"[^"]+"/;
    for (const damaged of [
      text.replace(vector, '"vector":"AAAA"'),
      text.replace(vector, '"vector":"no base64"'),
      text.replace(vector, `"vector":"${toBase64(new Uint8Array(new Float32Array(64).fill(Number.NaN).buffer))}"`),
      text.replace(/"dimensions":64/, '"dimensions":0'),
    ]) {
      const path = newPath("all.jsonl");
      writeFileSync(path, damaged);
      const { ok, parts } = await copyStore(jsonlFiles(path), memory());
      expect([ok, parts.filter(({ problem }) => problem).map(({ of, problem }) => [of, problem?.code])]).toEqual([
        false,
        [[{ vectors: "a" }, "UNKNOWN_FORMAT"]],
      ]);
    }
  });

  it("of a store of one user is that user's, and is left out where a target keeps none", async () => {
    const store = memory();
    await fill(store);
    const copy = memory();
    expect(await copyStore(store.forUser("ada"), copy)).toMatchObject({ ok: true, vectors: 1 });
    const without = sqlite(":memory:", { search: false });
    expect(await copyStore(store, without)).toMatchObject({ ok: true, sessions: 3, vectors: 0 });
  });
});
