// Builds the package after an install. npm 10 also runs this for an example that links to this folder, which may have no
// libraries yet: the example then builds it when it starts.
import { execSync } from "node:child_process";
import { existsSync } from "node:fs";

if (existsSync("node_modules/tsdown")) {
  execSync("npm run --silent build", { stdio: "inherit" });
  await import("./hooks.mjs");
}
