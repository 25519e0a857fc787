import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ROOT } from "../package/manifest.js";
import { OPTION_CALLS, optionsOf } from "../package/option-calls.js";
import { pages } from "./snippets.js";

/** Whose options the tables of a page are, in their order; null for those of a command or of React. */
const TABLES: Record<string, readonly (string | null)[]> = {
  "docs/ai-sdk.md": ["chatHandler"],
  "docs/claude.md": ["memoryTool"],
  "docs/erasing.md": ["SessionManager.retain"],
  "docs/langgraph.md": ["new StemmaSaver"],
  "docs/mcp.md": [null, "createMcpServer"],
  "docs/react.md": [null],
  "docs/search.md": ["SessionManager.search", "EmbeddableStore.withEmbedder"],
  "docs/stores/durable-object.md": ["durableObject"],
  "docs/stores/postgres.md": ["postgres"],
  "docs/stores/sqlite.md": ["sqlite"],
  "docs/studio.md": [null, "createStudio"],
  "docs/telemetry.md": ["instrument"],
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

  it.each(Object.keys(TABLES))(
    "list in the tables of %s options that there are, and no fewer on the page",
    async (page) => {
      for (const [index, owner] of (TABLES[page] ?? []).entries()) {
        if (owner === null) continue;
        const options = await optionsOf(owner);
        expect(
          tablesOf(page)[index]?.filter((name) => !options.includes(name)),
          owner,
        ).toEqual([]);
        expect(
          options.filter((name) => !codeOf(read(page)).has(name)),
          owner,
        ).toEqual([]);
      }
    },
  );

  it.each(Object.keys(OPTION_CALLS).filter((name) => name !== "findTailStart"))(
    "name every option of %s",
    async (owner) => {
      expect((await optionsOf(owner)).filter((name) => !all.has(name))).toEqual([]);
    },
  );
});
