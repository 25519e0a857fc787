import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { localModel } from "stemma/local";
import { Session } from "stemma/session";
import { sqlite } from "stemma/sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { commandLine } from "../../cli/run.js";
import { findModels } from "../../local/models.js";

const models = findModels();
const folder = mkdtempSync(join(tmpdir(), "stemma-local-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(models === null)("the command", () => {
  const stemma = commandLine(folder);
  const minilm = join(models ?? "", "all-MiniLM-L6-v2");
  const counter = join(models ?? "", "token-counter");

  it("searches with the model of a folder that --local names", async () => {
    const model = await localModel({ model: minilm });
    const store = sqlite(stemma.db).withEmbedder(model.embedder());
    const session = Session.create(store).forSession("s");
    await session.appendMessage({ id: "m", role: "user", parts: [{ type: "text", text: "The feline is poorly." }] });
    await store.embeddings.flush();
    await store.close();
    await model.close();
    expect(await stemma.ok("search", "sick", "cat")).toContain("No message matches.");
    expect(await stemma.ok("search", "sick", "cat", "--local", minilm)).toContain("The feline is poorly.");
  });

  it("searches with a cross-encoder, which makes no vectors", async () => {
    const store = sqlite(join(folder, "counted.db"));
    const session = Session.create(store).forSession("s");
    const said = (id: string, text: string) => ({
      id,
      role: "user" as const,
      parts: [{ type: "text" as const, text }],
    });
    await session.appendAll([
      said("1", "A cat, my cat."),
      said("2", "The cat went to Rome with us, and all the way back."),
    ]);
    await store.close();
    const found = await stemma.ok("--db", join(folder, "counted.db"), "search", "cat", "--local", counter);
    // It counts the tokens.
    expect(found.indexOf("Rome")).toBeLessThan(found.indexOf("my cat"));
  });

  it("evaluates with a reranker, says how often it was asked, and stores nothing for your own questions", async () => {
    const db = join(folder, "own.db");
    const store = sqlite(db);
    await Session.create(store)
      .forSession("s")
      .appendMessage({ id: "m", role: "user", parts: [{ type: "text", text: "My cat is ill." }] });
    await store.close();
    const questions = join(folder, "questions.jsonl");
    writeFileSync(questions, JSON.stringify({ question: "How is the cat?", ids: ["m"] }));
    const report = join(folder, "report.json");
    const asked = ["--db", db, "eval", "recall", "own", questions];
    const { out, code } = await stemma.run(...asked, "--reranker", minilm, "--output", report);
    expect(code).toBe(0);
    expect(out).toMatch(/Reranked: 1 search\. Of 0 only the first results were scored, of 0 none\.\n$/);
    expect(JSON.parse(readFileSync(report, "utf8"))).toMatchObject({
      reranking: { asked: 1, shortened: 0, failed: 0 },
    });
    const before = readFileSync(db);
    const { err, code: refused } = await stemma.run(...asked, "--embedder", minilm);
    expect(refused).toBe(2);
    expect(err).toContain("--embedder stores vectors, and your own database is only read");
    expect(readFileSync(db).equals(before)).toBe(true);
  });

  it("says what a folder lacks", async () => {
    const { code, err } = await stemma.run("search", "cat", "--local", folder);
    expect(code).toBe(1);
    expect(err).toMatch(/config.json.* is missing/);
  });
});
