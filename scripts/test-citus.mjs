// Runs the tests that need a cluster of Citus on the one that a URL of its coordinator names, a superuser's:
// `node scripts/test-citus.mjs postgres://postgres@localhost/stemma`. Whatever follows goes to vitest; a name of a test file there chooses
// one. With STEMMA_CITUS_STOP and STEMMA_CITUS_START, commands of a shell, a worker is stopped and started again.
import { spawnSync } from "node:child_process";

const [url = "", ...toVitest] = process.argv.slice(2);
if (!/^postgres(?:ql)?:\/\//.test(url)) {
  console.error("node scripts/test-citus.mjs <url of a cluster's coordinator> [what goes to vitest]");
  process.exit(2);
}
const namesFile = (arg) => !arg.startsWith("-") && arg.includes("citus");
const files = toVitest.some(namesFile) ? [] : ["engines/postgres/citus"];
// Each statement is a round trip to the coordinator, and one or more of the coordinator's to workers.
const slow = ["--testTimeout", "600000"];
// One file after the other: one of them stops a worker.
const args = ["vitest", "run", "--project", "engines", "--no-file-parallelism", ...slow, ...files, ...toVitest];
const { status } = spawnSync("npx", args, { stdio: "inherit", env: { ...process.env, STEMMA_CITUS: url } });
process.exit(status ?? 1);
