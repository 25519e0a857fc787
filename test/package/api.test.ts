import ts from "typescript";
import { expect, it } from "vitest";
import { ENTRY_POINTS, ROOT } from "./manifest.js";

it("has the API that api.txt shows, and no other", async () => {
  const program = declarationsOf(ENTRY_POINTS.map(({ source }) => ROOT + source));
  const checker = program.getTypeChecker();
  const shown = new Set<ts.Symbol>();
  const report = ENTRY_POINTS.map(({ specifier, source }) => {
    const file = program.getSourceFile(declarationPath(ROOT + source)) as ts.SourceFile;
    const symbols = checker.getExportsOfModule(checker.getSymbolAtLocation(file) as ts.Symbol);
    const entries = symbols.sort((a, b) => (a.name < b.name ? -1 : 1)).map((symbol) => show(symbol, checker, shown));
    return [`# ${specifier}`, ...entries].join("\n\n");
  });
  // A change here is a change of the public API: it needs a changeset. `npx vitest run test/package -u` writes the report.
  await expect(`${report.join("\n\n")}\n`).toMatchFileSnapshot("./api.txt");
}, 120_000);

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

const declarationPath = (source: string) => source.replace(/\.ts$/, ".d.ts");

/** A program of the declarations that TypeScript makes of sources; they are kept in memory. */
function declarationsOf(sources: string[]): ts.Program {
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const emitted = new Map<string, string>();
  ts.createProgram(sources, { ...options, noEmit: false, declaration: true, emitDeclarationOnly: true }).emit(
    undefined,
    (path, text) => emitted.set(path, text),
  );
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => emitted.has(path) || (!isSource(path) && fileExists(path));
  host.readFile = (path) => emitted.get(path) ?? readFile(path);
  host.getSourceFile = (path, version, ...rest) => {
    const text = emitted.get(path);
    return text === undefined ? getSourceFile(path, version, ...rest) : ts.createSourceFile(path, text, version, true);
  };
  return ts.createProgram(sources.map(declarationPath), options, host);
}

// The sources stand beside the declarations, and would be taken before them.
const isSource = (path: string) => path.startsWith(`${ROOT}src/`) && !path.endsWith(".d.ts");
