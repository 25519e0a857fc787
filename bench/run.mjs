// `npm run bench` measures the speed beside hand-written SQL and other packages. `npm run bench -- <name> …` measures something else.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const NAMES = {
  speed: "main.mjs",
  profile: "profile.mjs",
  turns: "turns/main.mjs",
  defaults: "defaults/main.mjs",
  clients: "clients/main.mjs",
  scale: "scale/main.mjs",
  "postgres-size": "postgres-size/main.mjs",
  citus: "citus/main.mjs",
  checkpoints: "checkpoints/main.mjs",
  mastra: "mastra/main.mjs",
  redact: "redact/main.mjs",
  telemetry: "telemetry/main.mjs",
  recall: "recall/recall.mjs",
  meaning: "recall/meaning.mjs",
  "meaning-size": "meaning-size/main.mjs",
  reliability: "../reliability/main.mjs",
  pauses: "../reliability/pauses.mjs",
};

/** They measure what is published; the others bundle the sources themselves. */
const ON_THE_BUILD = [
  ...["clients", "scale", "postgres-size", "citus", "checkpoints", "redact", "telemetry", "recall", "meaning"],
  ...["meaning-size", "pauses"],
];

const [first = "", ...rest] = process.argv.slice(2);
const isNamed = first !== "" && !first.startsWith("-");
const name = isNamed ? first : "speed";
if (!(name in NAMES)) throw new TypeError(`There is no benchmark "${name}", but ${Object.keys(NAMES).join(", ")}.`);
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
if (ON_THE_BUILD.includes(name)) run(here("../scripts/build.mjs"));
run(here(NAMES[name]), ...(isNamed ? rest : process.argv.slice(2)));

function run(...args) {
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
