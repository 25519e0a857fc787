import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { format } from "node:util";
import ts from "typescript";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { ENTRY_POINTS, ROOT } from "../package/manifest.js";
import { pages, snippetsOf } from "./snippets.js";

// Inside the project, where imports of packages are found.
const FOLDER = mkdtempSync(join(ROOT, "test/docs/.generated-"));
const MODEL = 'from "@ai-sdk/anthropic"';

const snippets = pages()
  .flatMap(snippetsOf)
  .map((snippet) => {
    const file = join(FOLDER, snippet.name.replace(/\W+/g, "-"));
    // What is compiled names the real package, what is run a model that needs no network.
    return { ...snippet, compiled: `${file}.ts`, run: `${file}.run.ts` };
  });

beforeAll(() => {
  for (const { code, compiled, run } of snippets) {
    writeFileSync(compiled, `${code}\nexport {};\n`);
    writeFileSync(run, `${code.replace(MODEL, 'from "../scripted-model.js"')}\nexport {};\n`);
  }
});

afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

describe("the code in the docs", () => {
  it("compiles", () => {
    const { options } = ts.parseJsonConfigFileContent(
      ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile).config,
      ts.sys,
      ROOT,
    );
    const paths = Object.fromEntries(ENTRY_POINTS.map(({ specifier, source }) => [specifier, [ROOT + source]]));
    const program = ts.createProgram(
      snippets.map(({ compiled }) => compiled),
      { ...options, paths, noUnusedLocals: false, noUnusedParameters: false },
    );
    const problems = snippets.flatMap(({ name, compiled }) =>
      ts.getPreEmitDiagnostics(program, program.getSourceFile(compiled)).map(({ messageText, file, start }) => {
        const { line } = file?.getLineAndCharacterOfPosition(start ?? 0) ?? { line: 0 };
        return `${name}, line ${line + 1} of the program: ${ts.flattenDiagnosticMessageText(messageText, " ")}`;
      }),
    );
    expect(problems).toEqual([]);
  }, 120_000);

  describe("prints what the page says", () => {
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

    it.each(snippets.filter(({ runs }) => runs))("$name", async ({ run, output }) => {
      await import(run);
      expect(printed.join("")).toBe(output);
    });
  });
});
