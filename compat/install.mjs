// Installs what compat/package-lock.json names, where that is not done, and lets the tests find it. Run by the tests that need it.
import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { dirname, relative } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL(".", import.meta.url));
/** npm writes it when it is done. */
const DONE = `${HERE}node_modules/.package-lock.json`;
/** Where Node, bundlers and TypeScript look for what a test imports. */
const SEEN = fileURLToPath(new URL("../test/node_modules/", import.meta.url));
/** What a wing looks for itself while it runs, and where from. */
const WINGS = { "../packages/local/node_modules/": "@huggingface/transformers" };

/** Whether all of it is there, as the lock file has it now. */
export function isInstalled() {
  return existsSync(DONE) && statSync(DONE).mtimeMs >= statSync(`${HERE}package-lock.json`).mtimeMs;
}

/** Installs it. Throws if that fails. */
export function install() {
  if (!isInstalled()) {
    console.log("Installing what these tests need into compat/node_modules (once, 1 GB) …");
    const options = ["--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"];
    const { status, stderr } = spawnSync("npm", ["ci", ...options], {
      cwd: HERE,
      encoding: "utf8",
      stdio: ["ignore", "ignore", "pipe"],
      shell: process.platform === "win32",
    });
    if (status !== 0) throw new Error(`"npm ci" in compat/ failed: ${stderr.trim().split("\n")[0]}`);
    // The only one whose native part is not in its package. Where it can be neither fetched nor compiled, its tests are skipped. These
    // need not be fast, and it is compiled in a third of the time.
    spawnSync("npm", ["rebuild", "better-sqlite3-multiple-ciphers"], {
      cwd: HERE,
      stdio: "ignore",
      env: { ...process.env, CFLAGS: "-O0", CXXFLAGS: "-O0" },
      shell: process.platform === "win32",
    });
  }
  // No more than what is named: of what these bring along, some is another version of a package of the project.
  for (const [name, version] of Object.entries(readJson("package.json").dependencies)) {
    if (!version.startsWith("file:")) link(SEEN, name);
  }
  for (const [folder, name] of Object.entries(WINGS)) link(fileURLToPath(new URL(folder, import.meta.url)), name);
}

function link(folder, name) {
  const place = folder + name;
  if (lstatSync(place, { throwIfNoEntry: false })) return;
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(relative(dirname(place), `${HERE}node_modules/${name}`), place, "junction");
}

function readJson(name) {
  return JSON.parse(readFileSync(HERE + name, "utf8"));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) install();
