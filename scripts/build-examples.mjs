// Builds the examples that are projects of their own, as their readers do, with the package as it is packed here.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PACKAGE } from "./entry-points.mjs";
import { run } from "./shell.mjs";

const EXAMPLES = ["worker", "memory-per-user", "nextjs"];
const folder = mkdtempSync(join(tmpdir(), "stemma-examples-"));

try {
  const [{ filename }] = JSON.parse(
    run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], { cwd: PACKAGE }),
  );
  for (const name of EXAMPLES) {
    const started = Date.now();
    const cwd = join(folder, name);
    cpSync(join("examples", name), cwd, {
      recursive: true,
      filter: (path) => !/node_modules|\.next|\/dist$/.test(path),
    });
    const manifest = JSON.parse(readFileSync(join(cwd, "package.json"), "utf8"));
    manifest.dependencies.stemma = `file:../${filename}`;
    writeFileSync(join(cwd, "package.json"), JSON.stringify(manifest));
    // Nothing is run, so native parts need not be built.
    run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"], { cwd });
    run("npm", ["run", "build"], { cwd, env: { NEXT_TELEMETRY_DISABLED: "1", WRANGLER_SEND_METRICS: "false" } });
    console.log(`${name}: built in ${Math.round((Date.now() - started) / 1000)} s`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
