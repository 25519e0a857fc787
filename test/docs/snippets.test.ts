import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { format } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { ROOT } from "../package/manifest.js";
import { pages, snippetsOf } from "./snippets.js";

// Inside the project, where imports of packages are found.
const FOLDER = mkdtempSync(join(ROOT, "test/docs/.generated-"));
/** What a program names, and what it gets: a model that needs no network. */
const SCRIPTED = [
  ['from "@ai-sdk/anthropic"', 'from "../scripted-model.js"'],
  ['from "@anthropic-ai/sdk"', 'from "../scripted-anthropic.js"'],
  // It has a server of its own, in the process.
  ['from "stemma/client"', 'from "../scripted-client.js"'],
  ['from "stemma/remote"', 'from "../scripted-client.js"'],
] as const;

// That all of it compiles is tested in test/platforms/package/compiled.test.ts.
const programs = pages()
  .flatMap(snippetsOf)
  .filter(({ runs }) => runs)
  .map((snippet) => ({ ...snippet, path: join(FOLDER, `${snippet.name.replace(/\W+/g, "-")}.ts`) }));

beforeAll(() => {
  for (const { code, path } of programs) {
    const scripted = SCRIPTED.reduce((text, [named, given]) => text.replace(named, given), code);
    writeFileSync(path, `${scripted}\nexport {};\n`);
  }
});

afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

describe("the code in the docs prints what the page says", () => {
  const start = process.cwd();
  const work = mkdtempSync(join(tmpdir(), "stemma-docs-"));
  let printed: string[] = [];

  beforeEach(() => {
    printed = [];
    vi.spyOn(console, "log").mockImplementation((...values) => void printed.push(`${format(...values)}\n`));
    process.chdir(mkdtempSync(join(work, "page-")));
  });
  afterEach(() => {
    vi.restoreAllMocks();
    process.chdir(start);
  });
  afterAll(() => rmSync(work, { recursive: true, force: true }));

  it.each(programs)("$name", async ({ path, output }) => {
    await import(path);
    expect(printed.join("")).toBe(output);
  });
});
