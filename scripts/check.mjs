// What must hold before a change lands, without the tests: `npm run check`, or some of it by name: `npm run check -- lint size`.
import { spawnSync } from "node:child_process";

const node = (...args) => [process.execPath, ...args];

/** Each check, and how it is made. The first ones are made if none is named; the others take long, or need the network. */
const CHECKS = {
  lint: node("node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings", "."),
  types: node("scripts/types.mjs"),
  unused: node("node_modules/knip/bin/knip.js"),
  size: node("scripts/size.mjs"),
  counts: node("scripts/counts.mjs"),
};
const MORE = {
  locks: node("scripts/locks.mjs"),
  publint: node("node_modules/publint/src/cli.js", "--strict", "packages/stemma"),
  attw: node(
    "compat/node_modules/@arethetypeswrong/cli/dist/index.js",
    ...["--pack", "packages/stemma", "--profile", "esm-only"],
  ),
  package: node("scripts/check-package.mjs"),
  examples: node("scripts/build-examples.mjs"),
  // --force: between two releases the version is one that is published already.
  publish: ["npm", "publish", "--workspace", "stemma", "--dry-run", "--ignore-scripts", "--force"],
};

const all = { ...CHECKS, ...MORE };
const named = process.argv.slice(2);
const unknown = named.find((name) => !(name in all));
if (unknown !== undefined) throw new TypeError(`There is no check "${unknown}", but ${Object.keys(all).join(", ")}.`);
for (const name of named.length > 0 ? named : Object.keys(CHECKS)) {
  if (named.length !== 1) console.log(`\n── ${name}`);
  const [command, ...args] = all[name];
  const { status } = spawnSync(command, args, { stdio: "inherit" });
  if (status !== 0) process.exitCode = status ?? 1;
}
