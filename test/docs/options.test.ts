import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ROOT } from "../package/manifest.js";
import { OPTION_CALLS, optionsOf } from "../package/option-calls.js";
import { pages } from "./snippets.js";

/** Whose options the tables of a page are, in their order. */
const TABLES: Record<string, readonly string[]> = {
  "docs/ai-sdk.md": ["chatHandler"],
  "docs/ai-sdk-middleware.md": ["stemmaMiddleware"],
  "docs/langgraph.md": ["new StemmaSaver"],
  "docs/search-models.md": ["EmbeddableStore.withEmbedder", "RerankableStore.withReranker"],
  "docs/local-models.md": ["localModel"],
  "docs/recall.md": ["SessionManager.recall"],
  "docs/search.md": ["SessionManager.search"],
  "docs/stores/postgres.md": ["postgres"],
  "docs/stores/sqlite.md": ["sqlite"],
  "docs/studio.md": ["createStudio", "instrument"],
  "docs/worker.md": ["userMemory"],
};

/** Whose options a page names without a table. */
const SENTENCES: Record<string, string> = {
  "docs/adapters.md": "memoryTool",
  "docs/command-line.md": "createMcpServer",
  "docs/privacy.md": "SessionManager.retain",
  "docs/stores/cloudflare.md": "durableObject",
};

const read = (page: string) => readFileSync(ROOT + page, "utf8");

/** The names in the first column of each table of options of a page. */
function tablesOf(page: string): string[][] {
  const tables = read(page).matchAll(/^\| Option \|.*\n\| --- .*\n((?:\|.*\n)+)/gm);
  return [...tables].map(([, rows = ""]) =>
    rows
      .trim()
      .split("\n")
      .flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, name = ""]) => name)),
  );
}

/** The names that stand in the code of a text. */
function codeOf(text: string): Set<string> {
  const code = [...text.matchAll(/```[\s\S]*?```|`[^`\n]+`/g)].map(([found]) => found).join(" ");
  return new Set(code.match(/\w+/g));
}

const all = codeOf(pages().map(read).join("\n"));

describe("the docs", () => {
  it("list options in tables that this test knows", () => {
    const found = pages().map((page) => [page, tablesOf(page).length] as const);
    const known = Object.entries(TABLES).map(([page, tables]) => [page, tables.length] as const);
    expect(Object.fromEntries(found.filter(([, count]) => count > 0))).toEqual(Object.fromEntries(known));
  });

  it.each(Object.entries(TABLES))("list in the tables of %s options that there are", async (page, owners) => {
    for (const [index, owner] of owners.entries()) {
      const options = await optionsOf(owner);
      expect(
        tablesOf(page)[index]?.filter((name) => !options.includes(name)),
        owner,
      ).toEqual([]);
    }
  });

  it.each(Object.entries({ ...TABLES, ...SENTENCES }))("name on %s all options of %s", async (page, owners) => {
    const named = codeOf(read(page));
    for (const owner of [owners].flat()) {
      expect(
        (await optionsOf(owner)).filter((name) => !named.has(name)),
        owner,
      ).toEqual([]);
    }
  });

  it.each(Object.keys(OPTION_CALLS).filter((name) => name !== "findTailStart"))(
    "name every option of %s",
    async (owner) => {
      expect((await optionsOf(owner)).filter((name) => !all.has(name))).toEqual([]);
    },
  );
});
