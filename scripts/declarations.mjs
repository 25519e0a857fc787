// Writes the declarations of the package: one for each source file that an entry point reaches, so that "go to definition" leads to
// one that is named for what it holds. A wing is a folder of them, and none of them names a wing as a package.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { entryPoints, PACKAGE, wingDoors } from "./entry-points.mjs";

const PACKAGES = fileURLToPath(new URL("../packages/", import.meta.url));
const DIST = `${PACKAGE}dist/`;

/** The names by which wings are imported, and the source file behind each. */
const SOURCES = new Map(wingDoors());

/** Writes them beside the code that was built. Throws if TypeScript finds a fault in what it declares. */
export function writeDeclarations() {
  const { config } = ts.readConfigFile(`${PACKAGES}../tsconfig.json`, ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, PACKAGES);
  const sources = entryPoints().flatMap(({ specifier, source }) => (specifier ? [`${PACKAGES}../${source}`] : []));
  const program = ts.createProgram(sources, {
    ...options,
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    // Found by their names, they would count as libraries, whose declarations are not written.
    paths: Object.fromEntries(wingDoors().map(([name, file]) => [name, [file]])),
  });
  const { diagnostics } = program.emit(undefined, (path, text) => write(path.replaceAll("\\", "/"), text));
  const faults = diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
  if (faults.length > 0) throw new Error(faults.join("\n"));
}

/** @param {string} path beside the source @param {string} text */
function write(path, text) {
  const file = DIST + placeOf(relative(PACKAGES, path));
  mkdirSync(dirname(file), { recursive: true });
  // A wing's name, and what its package.json says is behind it.
  const own = text.replace(/"(@stemma\/[a-z/-]+)"/g, (_, name) => {
    const source = relative(PACKAGES, SOURCES.get(name) ?? "");
    const target = relative(dirname(file), DIST + placeOf(source))
      .replaceAll("\\", "/")
      .replace(/ts$/, "js");
    return `"${target.startsWith(".") ? target : `./${target}`}"`;
  });
  writeFileSync(file, own);
}

/** @param {string} path `store/src/contract/store.d.ts`, or `stemma/src/index.d.ts` for an entry point */
function placeOf(path) {
  return path.replace(/^stemma\/src\//, "").replace(/^([a-z]+)\/src\//, "$1/");
}
