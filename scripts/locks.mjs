// Brings every lock file up to date with its package.json, and with the package's own, from which the examples are installed. In CI
// nothing may change: an install would change it too.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { run } from "./shell.mjs";

const files = execFileSync("git", ["ls-files", "*package-lock.json"], { encoding: "utf8" }).trim().split("\n");
const stale = files.filter((file) => {
  const before = readFileSync(file, "utf8");
  const options = ["--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
  run("npm", ["install", ...options], { cwd: file.replace(/package-lock\.json$/, "") || "." });
  return readFileSync(file, "utf8") !== before;
});
if (stale.length > 0) console.log(`${process.env.CI ? "Stale" : "Brought up to date"}: ${stale.join(", ")}`);
if (stale.length > 0 && process.env.CI) {
  console.error("Run `node scripts/locks.mjs`, and commit what it changes.");
  process.exitCode = 1;
}
