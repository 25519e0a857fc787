// Fails if a file of a wing was reached by no test of the coverage run before; files of nothing but types have no statements.
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";

/** What runs a model is reached where there is one: see local-model.mjs. */
const isSkipped = (file) => !existsSync("test/.cache/models") && file.includes("packages/local/src/thread/");

const { total: _total, ...files } = JSON.parse(readFileSync("coverage/coverage-summary.json", "utf8"));
const unreached = Object.entries(files)
  .filter(([file, { statements }]) => statements.total > 0 && statements.covered === 0 && !isSkipped(file))
  .map(([file]) => relative(process.cwd(), file));
if (unreached.length > 0) {
  console.error(`The tests do not reach:\n${unreached.map((file) => `  ${file}`).join("\n")}`);
  process.exitCode = 1;
}
