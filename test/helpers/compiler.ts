import ts from "typescript";
import { sourceFiles } from "../../scripts/entry-points.mjs";
import { ROOT } from "../package/manifest.js";

const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, ts.sys.readFile);

/** The project's options; the package goes by its own name, and is read from its sources. */
const options: ts.CompilerOptions = {
  ...ts.parseJsonConfigFileContent(config, ts.sys, ROOT).options,
  paths: Object.fromEntries(Object.entries(sourceFiles()).map(([name, file]) => [name, [file]])),
  noUnusedLocals: false,
  noUnusedParameters: false,
  noEmit: false,
  declaration: true,
  emitDeclarationOnly: true,
};

/** What was parsed from the disk: programs share it. */
const parsed = new Map<string, ts.SourceFile | undefined>();

/** A program of these files. Those of `texts` need not be on the disk; `isHidden` says which files there are not seen. */
export function createProgram(
  roots: readonly string[],
  texts: ReadonlyMap<string, string>,
  isHidden: (path: string) => boolean = () => false,
): ts.Program {
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => texts.has(path) || (!isHidden(path) && fileExists(path));
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  host.getSourceFile = (path, version, ...rest) => {
    const text = texts.get(path);
    if (text !== undefined) return ts.createSourceFile(path, text, version, true);
    if (!parsed.has(path)) parsed.set(path, getSourceFile(path, version, ...rest));
    return parsed.get(path);
  };
  return ts.createProgram(roots, options, host);
}

/** What is wrong with a file of a program, a line each. */
export function problemsOf(program: ts.Program, path: string, name = path.replace(ROOT, "")): string[] {
  const file = program.getSourceFile(path);
  const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
  return found.map(({ messageText, file, start }) => {
    const { line } = file?.getLineAndCharacterOfPosition(start ?? 0) ?? { line: 0 };
    return `${name}, line ${line + 1}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`;
  });
}

/** The declarations that TypeScript makes of the sources in a program, by their paths. */
export function declarationsOf(program: ts.Program, isSource: (path: string) => boolean): Map<string, string> {
  const emitted = new Map<string, string>();
  for (const file of program.getSourceFiles()) {
    if (isSource(file.fileName)) program.emit(file, (path, text) => emitted.set(path, text));
  }
  return emitted;
}
