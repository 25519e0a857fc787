import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { bundleSession, SESSION_LIMIT } from "../../scripts/session-bundle.mjs";
import { ratios } from "../runner.mjs";

const FOLDER = fileURLToPath(new URL("..", import.meta.url));
const SESSION = "./node_modules/.stemma/session.js";

/** What a program on an agent or a store uses, as `scripts/size.mjs` measures it; and how long Node takes to import it. */
export async function measureBundle({ clock, report }) {
  report.row({
    work: "what `stemma/session` reaches, minified + gzip",
    target: { atMost: SESSION_LIMIT / 1000 },
    unit: " kB",
    values: [(await sessionBundle()).gzip / 1000],
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

/** What a program on an agent or a store reaches. */
export function sessionBundle() {
  return bundleSession({ resolveDir: FOLDER, path: "../packages/stemma/src/session.ts" });
}

function importTime(path) {
  const script = `const start = performance.now(); await import("${path}"); console.log(performance.now() - start);`;
  return Number(
    execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd: FOLDER, encoding: "utf8" }),
  );
}
