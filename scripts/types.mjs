// Checks the types: of everything where the packages of compat/ are installed, else of what needs none of them. TypeScript 7, which is
// one of them, takes a third of the time of the version that builds.
import { spawnSync } from "node:child_process";
import { isInstalled } from "../compat/install.mjs";

const all = isInstalled();
if (!all) console.log("The tests are left out, for the packages of compat/ are not installed: node compat/install.mjs");
const [compiler, project] = all
  ? ["compat/node_modules/typescript-7", "tsconfig.json"]
  : ["node_modules/typescript", "tsconfig.sources.json"];
const { status } = spawnSync(process.execPath, [`${compiler}/bin/tsc`, "--noEmit", "--project", project], {
  stdio: "inherit",
});
process.exitCode = status ?? 1;
