// The example uses the package of this repository, which a fresh clone has not built yet.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));
if (!existsSync(`${root}/packages/stemma/dist/ai-sdk.js`)) {
  console.log("Building stemma once …");
  execFileSync("npm", ["ci"], { cwd: root, stdio: "inherit", shell: process.platform === "win32" });
  if (!existsSync(`${root}/packages/stemma/dist/ai-sdk.js`))
    execFileSync("node", ["scripts/build.mjs"], { cwd: root, stdio: "inherit" });
}
