import { mkdtempSync, rmSync } from "node:fs";
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

  it("says what a folder lacks", async () => {
    const { code, err } = await stemma.run("search", "cat", "--local", folder);
    expect(code).toBe(1);
    expect(err).toMatch(/config.json.* is missing/);
  });
});
