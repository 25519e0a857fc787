import ts from "typescript";
import { expect, it } from "vitest";
import { ENTRY_POINTS, ROOT } from "./manifest.js";

it("exports what exports.txt lists, and nothing else", async () => {
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(`${ROOT}tsconfig.json`, ts.sys.readFile).config,
    ts.sys,
    ROOT,
  );
  const program = ts.createProgram(
    ENTRY_POINTS.map(({ source }) => ROOT + source),
    options,
  );
  const checker = program.getTypeChecker();
  const detailed = new Set<ts.Symbol>();
  const listing = ENTRY_POINTS.map(({ specifier, source }) => {
    const file = program.getSourceFile(ROOT + source) as ts.SourceFile;
    const symbols = checker.getExportsOfModule(checker.getSymbolAtLocation(file) as ts.Symbol);
    return [specifier, ...symbols.map((symbol) => `  ${describe(symbol, checker, detailed)}`).sort()].join("\n");
  });
  // A change here is a change of the public API: it needs a changeset. `npx vitest run test/package -u` writes the list.
  await expect(`${listing.join("\n\n")}\n`).toMatchFileSnapshot("./exports.txt");
});

// One export; a class with its members, where it is met first.
function describe(symbol: ts.Symbol, checker: ts.TypeChecker, detailed: Set<ts.Symbol>): string {
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const line = `${kindOf(target)} ${symbol.name}`;
  if (!(target.flags & ts.SymbolFlags.Class) || detailed.has(target)) return line;
  detailed.add(target);
  const statics = [...(target.exports?.values() ?? [])].filter(({ name }) => name !== "prototype");
  // Inherited ones too, but for those of the language's own classes.
  const own = checker
    .getPropertiesOfType(checker.getDeclaredTypeOfSymbol(target))
    .filter(({ declarations = [] }) =>
      declarations.some((each) => each.getSourceFile().fileName.startsWith(`${ROOT}src/`)),
    );
  const members = [...own, ...statics].filter(isPublic).map(({ name }) => name);
  return members.length === 0 ? line : `${line} { ${members.sort().join(", ")} }`;
}

function kindOf({ flags }: ts.Symbol): string {
  if (flags & ts.SymbolFlags.Class) return "class";
  if (flags & ts.SymbolFlags.Function) return "function";
  if (flags & ts.SymbolFlags.Variable) return "const";
  return flags & ts.SymbolFlags.Type ? "type" : "unresolved";
}

function isPublic(member: ts.Symbol): boolean {
  if (/^__(#|@|constructor)/.test(member.name) || member.name.startsWith("#")) return false;
  return (member.declarations ?? []).every(
    (declaration) => !(ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.NonPublicAccessibilityModifier),
  );
}
