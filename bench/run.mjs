// `npm run bench` measures the speed beside hand-written SQL and other packages. `npm run bench -- <name> …` measures something else.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** They bundle the sources themselves. */
const ON_SOURCES = {
  speed: "main.mjs",
  profile: "profile.mjs",
  turns: "turns/main.mjs",
  defaults: "defaults/main.mjs",
  mastra: "mastra/main.mjs",
  reliability: "../reliability/main.mjs",
};
/** They measure what is published, which is built first. */
const ON_THE_BUILD = {
  server: "server/main.mjs",
  clients: "clients/main.mjs",
  scale: "scale/main.mjs",
  "postgres-size": "postgres-size/main.mjs",
  citus: "citus/main.mjs",
  checkpoints: "checkpoints/main.mjs",
  redact: "redact/main.mjs",
  telemetry: "telemetry/main.mjs",
  recall: "recall/recall.mjs",
  meaning: "recall/meaning.mjs",
  "meaning-size": "meaning-size/main.mjs",
  "one-user": "recall/one-user.mjs",
  pauses: "../reliability/pauses.mjs",
};
const FILES = { ...ON_SOURCES, ...ON_THE_BUILD };

const given = process.argv.slice(2);
const isNamed = given.length > 0 && !given[0].startsWith("-");
const [name, ...options] = isNamed ? given : ["speed", ...given];
if (!(name in FILES)) throw new TypeError(`There is no benchmark "${name}", but ${Object.keys(FILES).join(", ")}.`);
if (name in ON_THE_BUILD) run("../scripts/build.mjs");
run(FILES[name], ...options);

function run(file, ...args) {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const { status } = spawnSync(process.execPath, [path, ...args], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
