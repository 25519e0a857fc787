// What TypeScript makes of the package: the code in the docs, the tests of types and the API, in one program.
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { examplesOf, pages, type Snippet, snippetsOf } from "../../docs/snippets.js";
import { createProgram, declarationsOf, problemsOf } from "../../helpers/compiler.js";
import { ENTRY_POINTS, ROOT } from "../../package/manifest.js";

const asFile = ({ name, code }: Snippet) => ({
  name: `${name}, the program`,
  path: `${ROOT}test/docs/compiled/${name.replace(/\W+/g, "-")}.ts`,
  code: `${code}\nexport {};\n`,
});
const snippets = pages().flatMap(snippetsOf).map(asFile);
const tracked = execFileSync("git", ["ls-files", "packages/*/src/*.ts"], { cwd: ROOT, encoding: "utf8" }).trim();
const examples = tracked.split("\n").flatMap(examplesOf).map(asFile);
const sources = ENTRY_POINTS.map(({ source }) => ROOT + source);
const types = readdirSync(`${ROOT}test/types`).map((name) => `${ROOT}test/types/${name}`);

const program = createProgram(
  [...sources, ...types, ...[...snippets, ...examples].map(({ path }) => path)],
  new Map([...snippets, ...examples].map(({ path, code }) => [path, code])),
);

describe("TypeScript", () => {
  it("compiles the code in the docs", () => {
    expect(program.getGlobalDiagnostics()).toEqual([]);
    expect(snippets.length).toBeGreaterThan(0);
    expect(snippets.flatMap(({ name, path }) => problemsOf(program, path, name))).toEqual([]);
  });

  it("compiles the examples in the docstrings of the methods that the docs call most", () => {
    expect(examples.length).toBeGreaterThanOrEqual(40);
    expect(examples.flatMap(({ name, path }) => problemsOf(program, path, name))).toEqual([]);
  });

  it("finds the public types to be what the tests of types say", () => {
    expect(types.length).toBeGreaterThan(0);
    expect(types.flatMap((path) => problemsOf(program, path))).toEqual([]);
  });

  it("sees the API that api.txt shows, and no other", async () => {
    const declared = createProgram(sources.map(declarationPath), declarationsOf(program, isSource), isSource);
    const checker = declared.getTypeChecker();
    const shown = new Set<ts.Symbol>();
    const report = ENTRY_POINTS.map(({ specifier, source }) => {
      const file = declared.getSourceFile(declarationPath(ROOT + source)) as ts.SourceFile;
      const symbols = checker.getExportsOfModule(checker.getSymbolAtLocation(file) as ts.Symbol);
      const entries = symbols.sort((a, b) => (a.name < b.name ? -1 : 1)).map((symbol) => show(symbol, checker, shown));
      return [`# ${specifier}`, ...entries].join("\n\n");
    });
    // A change here is a change of the public API: it needs a changeset. `npx vitest run test/package -u` writes the report.
    await expect(`${report.join("\n\n")}\n`).toMatchFileSnapshot("../../package/api.txt");
  });
});

const printer = ts.createPrinter({ removeComments: true });

/** The declarations of an export, where it is met first; after that its name. */
function show(symbol: ts.Symbol, checker: ts.TypeChecker, shown: Set<ts.Symbol>): string {
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  if (shown.has(target)) return `${symbol.name} (as above)`;
  shown.add(target);
  const texts = (target.declarations ?? []).map((declaration) => {
    // Of a variable, the whole statement.
    const node = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
    return printer.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile());
  });
  return [...new Set(texts)].join("\n");
}

function declarationPath(source: string): string {
  return source.replace(/\.ts$/, ".d.ts");
}

// The sources stand beside their declarations, and would be taken before them.
function isSource(path: string): boolean {
  return /\/packages\/[a-z]+\/src\//.test(path) && !path.endsWith(".d.ts");
}
