// Packs the built package, installs it in an empty folder, and uses it there as a stranger would: from ESM, from CommonJS
// on Node 22, with the samples of the documents, from two versions of TypeScript under three resolutions, and from the command line.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { entryPoints, PACKAGE } from "./entry-points.mjs";
import { writeDocuments } from "./packed-documents.mjs";
import { installNode, run } from "./shell.mjs";

const specifiers = entryPoints().flatMap(({ specifier }) => specifier ?? []);
const [newest, building] = ["compat/node_modules/typescript-7", "node_modules/typescript"].map((path) =>
  resolve(path, "bin/tsc"),
);
const folder = mkdtempSync(join(tmpdir(), "stemma-package-"));
const file = (name, text) => writeFileSync(join(folder, name), text);

try {
  const [{ filename, files, size }] = JSON.parse(
    run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], { cwd: PACKAGE }),
  );
  console.log(`${filename}: ${files.length} files, ${(size / 1000).toFixed(0)} kB`);
  const stray = files.filter(
    ({ path }) =>
      !/^(dist\/|docs\/(stores\/)?[\w-]+\.md$|(package\.json|README\.md|LICENSE|CHANGELOG\.md)$)/.test(path),
  );
  if (stray.length > 0) throw new Error(`Packed, but not meant to be: ${stray.map(({ path }) => path).join(", ")}`);

  file("package.json", JSON.stringify({ name: "stranger", private: true, type: "module" }));
  // With what its optional entry points are for.
  const peers = [
    ...["react@19", "@ai-sdk/react@3", "@modelcontextprotocol/server@2", "@opentelemetry/api@1"],
    ...["@langchain/core@1", "@langchain/langgraph-checkpoint@1"],
  ];
  run("npm", ["install", "--ignore-scripts", "--no-package-lock", `./${filename}`, ...peers], { cwd: folder });
  installSqlite();

  const session = `
    const session = Session.create(sqlite(path)).forSession("one").withContext("memory").withCachedPrompt();
    await session.appendMessage({ id: "m" + (await session.getPathLength()), role: "user", parts: [{ type: "text", text: "hello" }] });
    await session.freezeSystemPrompt();
    const tools = Object.keys(await session.tools());
    const found = await session.search("hello");
    console.log(JSON.stringify({ messages: (await session.getHistory()).length, found: found.length, tools }));
  `;
  file(
    "esm.js",
    `${specifiers.map((specifier) => `import "${specifier}";`).join("\n")}
    import { Session } from "stemma";
    import { sqlite } from "stemma/sqlite";
    const path = "chat.db";
    ${session}`,
  );
  expect("ESM", run("node", ["esm.js"], { cwd: folder }), '{"messages":1,"found":1,"tools":["set_context"]}\n');

  file(
    "cjs.cjs",
    `${specifiers.map((specifier) => `require("${specifier}");`).join("\n")}
    const { Session } = require("stemma/session");
    const { sqlite } = require("stemma/sqlite");
    const path = "chat.db";
    (async () => { ${session} })();`,
  );
  const node22 = installNode(22, join(folder, "node22"));
  expect(
    `CommonJS on ${run(node22, ["--version"]).trim()}`,
    run(node22, ["--no-warnings", "cjs.cjs"], { cwd: folder }),
    '{"messages":2,"found":2,"tools":["set_context"]}\n',
  );

  await writeDocuments(join(folder, "documents.mjs"));
  for (const store of ["agent", "sqlite", "memory"]) {
    const printed = run("node", ["documents.mjs", store], { cwd: folder }).trim();
    console.log(`The documents on ${store}: ${printed} do what they say`);
  }

  const sample = (entries) => `
    import { Session, type SessionMessage, StemmaError } from "stemma";
    import { sqlite } from "stemma/sqlite";
    ${entries.map((specifier, index) => `import type * as entry${index} from "${specifier}";`).join("\n")}
    export type Entries = [${entries.map((_, index) => `typeof entry${index}`).join(", ")}];
    export async function sample(): Promise<SessionMessage[]> {
      const session: Session = Session.create(sqlite("chat.db")).withContext("memory", { maxTokens: 100 });
      // @ts-expect-error a limit is a number
      session.compactAfter("many");
      if (StemmaError.isInstance(null, "STORE_CLOSED")) return [];
      return session.getHistory();
    }`;
  // The types of these are made of a framework's, which do not pass without skipLibCheck themselves.
  const others = ["agent", "ai-sdk", "react", "langchain", "langgraph", "mcp"];
  const own = specifiers.filter((specifier) => !others.includes(specifier.slice("stemma/".length)));
  // TypeScript lets CommonJS require a module only where it knows that Node can: nodenext.
  for (const [compiler, module, moduleResolution, ...names] of [
    [newest, "node16", "node16", "sample.mts"],
    [newest, "nodenext", "nodenext", "sample.mts", "sample.cts"],
    [newest, "esnext", "bundler", "sample.mts"],
    [building, "nodenext", "nodenext", "sample.mts", "sample.cts"],
  ]) {
    for (const [entries, skipLibCheck] of [
      [own, false],
      [specifiers, true],
    ]) {
      const compilerOptions = {
        module,
        moduleResolution,
        skipLibCheck,
        strict: true,
        noEmit: true,
        types: [],
        target: "es2022",
      };
      for (const name of names) file(name, sample(entries));
      file("tsconfig.json", JSON.stringify({ compilerOptions, files: names }));
      run(process.execPath, [compiler, "--project", "tsconfig.json"], { cwd: folder });
    }
    const version = run(process.execPath, [compiler, "--version"]).trim();
    console.log(`Types of ${names.join(" and ")} under ${moduleResolution}, ${version}: as they should be`);
  }

  const stemma = (args, input) => run("npx", ["--no", "--", "stemma", ...args], { cwd: folder, input });
  if (!stemma(["--help"]).includes("chat")) throw new Error("stemma --help does not name the chat.");
  stemma(["chat", "--db", "cli.db"], "remember that my cat is called Ada\n");
  const answer = stemma(["chat", "--db", "cli.db"], "what do you remember about my cat?\n");
  if (!answer.includes("Ada")) throw new Error(`The second chat does not remember the first:\n${answer}`);
  console.log("stemma chat, twice: it remembers");
} finally {
  rmSync(folder, { recursive: true, force: true });
}

// Compiling it takes two minutes, and `npm ci` has done it.
function installSqlite() {
  const [installed, compiled] = [folder, "."].map((place) => join(place, "node_modules/better-sqlite3"));
  const [version, known] = [installed, compiled].map((place) => readFileSync(join(place, "package.json"), "utf8"));
  if (version === known) cpSync(join(compiled, "build"), join(installed, "build"), { recursive: true });
  else run("npm", ["rebuild", "better-sqlite3"], { cwd: folder });
}

function expect(what, printed, expected) {
  if (printed !== expected) throw new Error(`${what} printed ${printed}instead of ${expected}`);
  console.log(`${what}: as it should be`);
}
