// Builds the package after an install. npm 10 also runs this for an example that links to this folder, which may have no
// libraries yet: the example then builds it when it starts.
import { existsSync } from "node:fs";

if (existsSync("node_modules/tsdown")) {
  await import("./build.mjs");
  await import("./hooks.mjs");
}
