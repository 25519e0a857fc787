// Runs the tests on other versions of Node, the core, the chat handler and Bun.SQL on Bun, and the packed package on Deno, with version 7 of the
// AI SDK (chats on the sources) and with version 13 of better-sqlite3, each installed from npm into a temporary folder.
// `node scripts/runtimes.mjs 22 bun` runs some of them; whatever follows `--` goes to vitest.
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manifest } from "./entry-points.mjs";
import { installNode, run } from "./shell.mjs";

const given = process.argv.slice(2);
const end = given.includes("--") ? given.indexOf("--") : given.length;
const wanted = end > 0 ? given.slice(0, end) : ["22", "24", "26", "bun", "deno", "ai7", "chats7", "sqlite13"];
const toVitest = given.slice(end + 1);
const folder = mkdtempSync(join(tmpdir(), "stemma-runtimes-"));
const failed = [];
const skipped = [];
/** @type {Record<string, () => [program: string, args: string[], cwd?: string]>} */
const special = { bun, deno, ai7: aiSdk7, chats7, sqlite13 };

try {
  for (const runtime of wanted) {
    const [program, args, cwd] = (special[runtime] ?? (() => node(Number(runtime))))();
    if (program === "") {
      console.log(`\n── ${runtime}: skipped, because it cannot be installed`);
      skipped.push(runtime);
      continue;
    }
    console.log(`\n── ${runtime}: ${run(program, ["--version"]).trim()}`);
    // Where CI is set, better-sqlite3 must load; here node:sqlite is to stand in for it.
    const env = { ...process.env, CI: "" };
    const { status } = spawnSync(program, args, { stdio: ["ignore", "inherit", "inherit"], env, cwd });
    if (status !== 0) failed.push(runtime);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const passed = wanted.filter((runtime) => !skipped.includes(runtime));
console.log(failed.length === 0 ? `\nAll of them pass: ${passed.join(", ")}` : `\nFailed on ${failed.join(", ")}`);
if (skipped.length > 0) console.log(`Skipped: ${skipped.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** @param {number} major */
function node(major) {
  const program = installNode(major, join(folder, `node${major}`));
  return [program, ["node_modules/vitest/vitest.mjs", "run", ...toVitest]];
}

function bun() {
  const suites = ["bun.suite.mjs", "bun-chat.suite.mjs", "bun-postgres.suite.mjs"].map(
    (name) => `./test/runtimes/${name}`,
  );
  return [installRuntime("bun@1"), ["test", "--timeout=60000", ...suites]];
}

function deno() {
  const { devDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
  const { peerDependencies } = manifest;
  const peers = Object.keys(peerDependencies).map(
    (name) => `${name}@${devDependencies[name] ?? peerDependencies[name]}`,
  );
  const cwd = installPackage("deno", [...peers, "ai@6", "zod@4", "--omit=optional"]);
  for (const file of ["test/runtimes/deno.mjs", "test/store/file-target.ts"]) cpSync(file, join(cwd, file));
  return [installRuntime("deno@2"), ["test", "--allow-all", "--no-check", "test/runtimes/deno.mjs"], cwd];
}

/**
 * Installs a runtime other than Node from npm. Gives the path of its program; "" where it cannot be installed, which fails in CI.
 * @param {string} spec
 */
function installRuntime(spec) {
  const name = spec.slice(0, spec.indexOf("@"));
  const prefix = join(folder, `runtime-${name}`);
  try {
    run("npm", ["install", "--prefix", prefix, "--no-save", "--no-package-lock", spec]);
  } catch (error) {
    if (process.env.CI) throw error;
    return "";
  }
  return join(prefix, "node_modules/.bin", name);
}

function aiSdk7() {
  const cwd = installPackage("ai7", ["--omit=optional", "ai@7", "zod@4"]);
  for (const name of ["ai-sdk-7.mjs", "chat-ai-sdk-7.mjs", "runner-ai-sdk-7.mjs"])
    copyFileSync(`test/runtimes/${name}`, join(cwd, name));
  return [installNode(22, join(folder, "node22-ai7")), ["--no-warnings", "ai-sdk-7.mjs"], cwd];
}

/** The tests of chats and of repaired histories, on the sources, with version 7 and the packages that go with it. */
function chats7() {
  const cwd = join(folder, "chats7");
  mkdirSync(cwd);
  writeFileSync(join(cwd, "package.json"), JSON.stringify({ name: "chats7", type: "module", private: true }));
  const own = ["packages", "test", "scripts", "vitest.config.ts", "tsconfig.json"];
  const ofCompat = ["install.mjs", "setup.mjs", "package.json", "package-lock.json"].map((name) => `compat/${name}`);
  for (const file of [...own, ...ofCompat]) {
    cpSync(file, join(cwd, file), {
      recursive: true,
      filter: (path) => !/\/(node_modules|dist|\.cache)(\/|$)/.test(path),
    });
  }
  const providers = ["anthropic@4", "openai@4", "google@4", "openai-compatible@3", "provider@4", "react@4"];
  const others = ["ai@7", "react@19", "react-dom@19", "happy-dom@21", "fast-check@4", "zod@4", "vitest@4"];
  // The settings of vitest bundle the studio's page.
  const { devDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
  const { dependencies } = JSON.parse(readFileSync("packages/studio/package.json", "utf8"));
  const ofPage = [`esbuild@${devDependencies.esbuild}`, `preact@${dependencies.preact}`];
  run("npm", ["install", "--no-package-lock", ...others, ...ofPage, ...providers.map((each) => `@ai-sdk/${each}`)], {
    cwd,
  });
  mkdirSync(join(cwd, "node_modules/@stemma"));
  for (const wing of readdirSync("packages").filter((name) => name !== "stemma" && !name.endsWith(".md")))
    symlinkSync(join("../../packages", wing), join(cwd, "node_modules/@stemma", wing));
  const program = installNode(22, join(folder, "node22-chats7"));
  return [program, ["node_modules/vitest/vitest.mjs", "run", "/repair/", "/react/", ...toVitest], cwd];
}

function sqlite13() {
  const cwd = installPackage("sqlite13", ["better-sqlite3@13", "zod@4", "--omit=optional"]);
  // Of the sources they import types only, and those Node 22 leaves out.
  for (const file of ["test/runtimes/better-sqlite3-13.mjs", "test/store/file-target.ts"]) {
    cpSync(file, join(cwd, file));
  }
  const program = installNode(22, join(folder, "node22-sqlite13"));
  return [program, ["--no-warnings", "--test-reporter=dot", "test/runtimes/better-sqlite3-13.mjs"], cwd];
}

/**
 * Packs the package and installs it beside others. Gives the folder.
 * @param {string} name
 * @param {readonly string[]} others
 */
function installPackage(name, others) {
  const cwd = join(folder, name);
  mkdirSync(cwd);
  writeFileSync(join(cwd, "package.json"), '{ "private": true, "type": "module" }');
  const [{ filename }] = JSON.parse(run("npm", ["pack", "--workspace", "stemma", "--json", "--pack-destination", cwd]));
  run("npm", ["install", "--no-package-lock", ...others, `./${filename}`], { cwd });
  return cwd;
}
