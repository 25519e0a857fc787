// Part of `npm install` in a clone: git runs the hooks of `.githooks`. Where this is no clone, nothing happens.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

if (existsSync(".git") && !process.env.CI)
  spawnSync("git", ["config", "core.hooksPath", ".githooks"], { stdio: "ignore" });
