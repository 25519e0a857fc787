import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { ratios } from "../runner.mjs";

const FOLDER = fileURLToPath(new URL("..", import.meta.url));
const SESSION = "./node_modules/.stemma/session.js";

/** What a program on an agent or a store uses, as `scripts/size.mjs` measures it; and how long Node takes to import it. */
export async function measureBundle({ clock, report }) {
  report.row({
    work: "what `stemma/session` loads to begin with, minified + gzip",
    target: { atMost: 30 },
    unit: " kB",
    values: [gzipSync(await bundleSession(), { level: 9 }).length / 1000],
  });
  const times = { stemma: [], ai: [] };
  for (let round = -1; round < clock.rounds; round += 1) {
    for (const [name, path] of Object.entries({ stemma: SESSION, ai: "ai" })) {
      const time = importTime(path);
      if (round >= 0) times[name].push(time);
    }
  }
  report.row({
    work: "import of `stemma/session` in Node: its time",
    against: "that of `ai`",
    values: ratios(times.stemma, times.ai),
  });
}

/** The text of what a program on an agent or a store loads to begin with, minified: without what `import()` loads later. */
export async function bundleSession() {
  const { outputFiles } = await build({
    stdin: {
      contents: `export { Session, SessionManager, AgentContextProvider, AgentSearchProvider, R2SkillProvider } from "../src/session.ts"`,
      resolveDir: FOLDER,
    },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "neutral",
    external: ["zod"],
    plugins: [{ name: "loaded-later", setup: leaveOutLater }],
  });
  return outputFiles[0].text;
}

function leaveOutLater({ onResolve }) {
  onResolve({ filter: /./ }, ({ kind, path }) => (kind === "dynamic-import" ? { path, external: true } : undefined));
}

function importTime(path) {
  const script = `const start = performance.now(); await import("${path}"); console.log(performance.now() - start);`;
  return Number(
    execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd: FOLDER, encoding: "utf8" }),
  );
}
