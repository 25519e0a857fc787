import { readFileSync } from "node:fs";
import { FEWEST, MARK, RAREST } from "@stemma/model";
import { MAX_NUMBER, SPAN } from "@stemma/store";
import { describe, expect, it } from "vitest";
import { functionsOfPostgres, moduleOfFunctions } from "../../../../../scripts/sql.mjs";
import { APPENDS_UNDATED } from "../../../../store/src/operations/registry/session-head.js";
import { UPGRADED_ROWS } from "../../../../store/src/sql/session-id.js";
import { PARENT_NOT_FOUND, SESSION_LIMIT, SESSION_OWNED } from "../../../src/error.js";
import { MANY, PHRASES } from "../../../src/search/matches.js";
import { TABLES } from "../../../src/tables/names.js";

const functions: Record<string, string> = functionsOfPostgres();
const all = Object.values(functions).join("\n");
/** What a pattern captures in the functions, each once. */
const found = (pattern: RegExp, text = all) => [...new Set(Array.from(text.matchAll(pattern), ([, value]) => value))];

it("the module holds the functions of the files beside it: node scripts/sql.mjs", () => {
  const module = new URL("../../../src/sql/functions.ts", import.meta.url);
  expect(readFileSync(module, "utf8")).toBe(moduleOfFunctions());
});

it("each file is one function, named after the file", () => {
  for (const [file, definition] of Object.entries(functions)) {
    expect(found(/FUNCTION (\w+)\(/g, definition)).toEqual([`assistant_${file.replaceAll("-", "_")}`]);
  }
});

describe("what stands in the functions as a literal is what it is elsewhere:", () => {
  it("the rows of a session, and the highest number of one", () => {
    expect(
      found(/\b(26843\d+)\b/g)
        .map(Number)
        .sort(),
    ).toEqual([SPAN - 1, SPAN]);
    expect(found(/BIGINT, 1\), (\d+)\)/g, functions.number)).toEqual([String(MAX_NUMBER)]);
  });

  it("the codes of errors", () => {
    expect(found(/ERRCODE = '(\w+)'/g).sort()).toEqual([PARENT_NOT_FOUND, SESSION_LIMIT, SESSION_OWNED]);
  });

  it("how long an append leaves its session undated, and the mark of media", () => {
    expect(found(/interval '(.*?)'/g)).toEqual([`${APPENDS_UNDATED} second`]);
    expect(found(/strpos\(content, '(.*?)'\)/g)).toEqual([MARK]);
  });

  it("the measures of a search", () => {
    const constants = Object.fromEntries(
      Array.from((functions.matches ?? "").matchAll(/(\w+) CONSTANT BIGINT := (\d+);/g), ([, name, value]) => [
        name,
        Number(value),
      ]),
    );
    expect(constants).toMatchObject({ many: MANY, phrases: PHRASES, rarest: RAREST, fewest: FEWEST });
  });

  it("the tables that are spread over servers, and the rows that cannot be", () => {
    const tables = found(/'((?:assistant|cf)_\w+)'/g, functions.spread).sort();
    expect(tables).toEqual([...TABLES, "assistant_embedder", "assistant_entry_vectors", "assistant_vectors"].sort());
    expect(found(/session_id = '(\w+)'/g, functions.spread)).toEqual([UPGRADED_ROWS]);
  });
});
