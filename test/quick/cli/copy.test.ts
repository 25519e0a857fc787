import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hashingEmbedder } from "../../../packages/conformance/src/search/hashing-embedder.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { linesOf, run, temporaryFolder } from "../../cli/run.js";

const folder = temporaryFolder();
const at = (name: string) => join(folder, name);
const ok = async (...args: string[]) => {
  const { code, out, err } = await run(args);
  if (code !== 0) throw new RangeError(`stemma ${args.join(" ")} ended with ${code}: ${err}`);
  return out;
};

const message = (id: string, parentId: string | null) => ({
  message: { id, role: "user", parts: [{ type: "text", text: `text of ${id}` }] },
  parentId,
});
const lines = [{ stemma: 1, session: { id: "s", name: "The session" } }, message("a", null), message("b", "a")];

describe("stemma copy", () => {
  it("copies a file to a folder and from there to another file, and the second time nothing", async () => {
    writeFileSync(at("s.jsonl"), lines.map((line) => JSON.stringify(line)).join("\n"));
    await ok("--db", at("one.db"), "import", at("s.jsonl"));
    expect(await ok("copy", at("one.db"), at("lines/"))).toBe("1 session with 2 messages are equal on both sides\n");
    expect(await ok("copy", at("lines"), at("two.db"))).toBe("1 session with 2 messages are equal on both sides\n");
    expect(await ok("--db", at("two.db"), "show", "s")).toContain("text of b");
    expect(await ok("copy", at("one.db"), at("two.db"))).toContain(", 1 of 1 parts were there\n");
    await ok("--db", at("one.db"), "export", "--all", "--output", at("all.jsonl"));
    expect(await ok("copy", at("all.jsonl"), at("two.db"))).toContain(", 1 of 1 parts were there\n");
    const told = linesOf(await ok("--json", "copy", at("one.db"), at("three.db")));
    expect(told).toEqual([
      { of: { session: "s" }, state: "copied", messages: 2, items: 2, digest: expect.stringMatching(/^[0-9a-f]{64}$/) },
      { ok: true, sessions: 1, messages: 2, vectors: 0 },
    ]);
  });

  it("takes vectors along, unless it is told not to, and tells once that those of another embedder stay", async () => {
    for (const [name, id] of [
      ["embedded.db", "one"],
      ["other.db", "other"],
    ] as const) {
      const store = sqlite(at(name)).withEmbedder({ ...hashingEmbedder(), id });
      for (const session of id === "one" ? ["a", "b"] : ["c"]) {
        await store.session(session).append([{ id: "m", role: "user", parts: [{ type: "text", text: "tea" }] }]);
      }
      await store.embeddings.flush();
      await store.close();
    }
    const told = "2 sessions with 2 messages and 2 vectors are equal on both sides\n";
    expect(await ok("copy", at("embedded.db"), at("target.db"))).toBe(told);
    const { code, err } = await run(["copy", at("embedded.db"), at("other.db")]);
    expect([code, err.split("\n").length - 1, err]).toEqual([
      1,
      1,
      expect.stringContaining('vectors of session "a" and 1 more: The target has vectors of the embedder "other"'),
    ]);
    expect(await ok("copy", "--no-vectors", at("embedded.db"), at("other.db"))).toContain("2 messages are equal");
  });

  it("ends with 1 where the target has something else, and where there is nothing to copy", async () => {
    writeFileSync(at("t.jsonl"), lines.map((line) => JSON.stringify(line)).join("\n"));
    await ok("--db", at("from.db"), "import", at("t.jsonl"));
    writeFileSync(at("u.jsonl"), `${JSON.stringify(lines[0])}\n${JSON.stringify(message("x", null))}`);
    await ok("--db", at("to.db"), "import", at("u.jsonl"));
    const { code, err } = await run(["copy", at("from.db"), at("to.db")]);
    expect([code, err]).toEqual([1, expect.stringContaining("session s: The target holds other data")]);
    expect(await run(["copy", at("none.db"), at("to.db")])).toMatchObject({
      code: 1,
      err: expect.stringContaining("There is no database or file"),
    });
    mkdirSync(at("plain"));
    writeFileSync(at("plain/x.jsonl"), "{}\n");
    expect((await run(["copy", at("plain"), at("to.db")])).err).toContain("stemma import");
  });
});
