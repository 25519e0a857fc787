// Counts the files and functions of the wings that run for one call on a SQLite file, by the coverage that V8 counts around it.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { FROM_SOURCES } from "./entry-points.mjs";

const PROGRAM = `
  import { Session } from "stemma";
  import { sqlite } from "stemma/sqlite";
  let count = 0;
  const message = () => ({ id: "m" + (count += 1), role: "user", parts: [{ type: "text", text: "I drink tea." }] });
  export async function open(path) {
    const session = Session.create(sqlite(path)).forSession("one").withContext("memory");
    return {
      appendMessage: () => session.appendMessage(message()),
      getHistory: () => session.getHistory(),
      search: () => session.search("tea"),
      prepareTurn: () => session.prepareTurn(),
    };
  }`;

/**
 * What runs in the second call of each method, once everything has been opened and prepared.
 * @returns {Promise<Record<string, { files: number, functions: number }>>}
 */
export async function waysDown() {
  mkdirSync("node_modules/.cache", { recursive: true });
  // The bundle finds the driver from there.
  const folder = mkdtempSync(join(process.cwd(), "node_modules/.cache/way-"));
  const outfile = join(folder, "program.mjs");
  const inspector = new Session();
  try {
    await build({
      ...FROM_SOURCES,
      stdin: { contents: PROGRAM, resolveDir: process.cwd(), loader: "ts" },
      outfile,
    });
    inspector.connect();
    await inspector.post("Profiler.enable");
    const calls = await (await import(pathToFileURL(outfile).href)).open(join(folder, "way.db"));
    /** @type {Record<string, { files: number, functions: number }>} */
    const ways = {};
    for (const [name, call] of Object.entries(calls)) {
      await call();
      // A call after much work would let the event loop run.
      await new Promise((resolve) => setImmediate(resolve));
      await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
      await call();
      const { result } = await inspector.post("Profiler.takePreciseCoverage");
      await inspector.post("Profiler.stopPreciseCoverage");
      const script = result.find(({ url }) => url.endsWith("/program.mjs"));
      ways[name] = sizeOf(outfile, script?.functions ?? []);
    }
    return ways;
  } finally {
    inspector.disconnect();
    rmSync(folder, { recursive: true, force: true });
  }
}

// Each module of the bundle begins with its path in a comment, the program above with <stdin>.
function sizeOf(outfile, functions) {
  const text = readFileSync(outfile, "utf8");
  const starts = Array.from(text.matchAll(/^\/\/ (packages\/\S+|<stdin>)$/gm), ({ index, 1: path }) => ({
    index,
    path,
  }));
  const ran = functions.filter(({ functionName, ranges: [range] }) => functionName !== "" || range.startOffset > 0);
  const paths = ran
    .filter(({ ranges: [range] }) => range.count > 0)
    .map(({ ranges: [range] }) => starts.findLast(({ index }) => index < range.startOffset)?.path)
    .filter((path) => path !== undefined && path !== "<stdin>");
  return { files: new Set(paths).size, functions: paths.length };
}
