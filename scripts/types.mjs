// Checks the types: of everything where the packages of compat/ are installed, else of what needs none of them.
import { spawnSync } from "node:child_process";
import { isInstalled } from "../compat/install.mjs";

const all = isInstalled();
if (!all) console.log("The tests are left out, for the packages of compat/ are not installed: node compat/install.mjs");
const project = all ? "tsconfig.json" : "tsconfig.sources.json";
const { status } = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", "--noEmit", "--project", project], {
  stdio: "inherit",
});
process.exitCode = status ?? 1;
