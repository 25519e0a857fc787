// Runs on Node 22; see main.mjs.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { show } from "../cells.mjs";
import { makeMessages } from "../messages.mjs";
import { ratios, runInPieces, spread } from "../runner.mjs";
import { verifyMessages } from "../verify.mjs";
import { onFile, onPostgres } from "./candidates.mjs";

const { values, positionals } = parseArgs({
  options: { quick: { type: "boolean", default: false } },
  allowPositionals: true,
});
const COUNT = values.quick ? 1_000 : 10_000;
const CLOCK = { rounds: values.quick ? 3 : 5 };
const MAIN = "main";
const messages = makeMessages(COUNT);

const folder = mkdtempSync(join(tmpdir(), "stemma-bench-mastra-"));
console.log(
  `| At ${COUNT.toLocaleString("en")} messages | Mastra's time | Rounds | against \`synchronous: "normal"\` |`,
);
console.log("| --- | --: | --: | --: |");
try {
  await compare("SQLite", onFile(folder));
  await compare("Postgres", onPostgres(positionals[0]));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function compare(engine, open) {
  const names = Object.keys(open);
  const stores = {};
  for (const name of names) {
    stores[name] = await open[name]();
    for (let start = 0; start < COUNT; start += 1_000) {
      await stores[name].appendAll(MAIN, messages.slice(start, start + 1_000));
    }
    verifyMessages(name, await stores[name].history(MAIN), messages);
    verifyMessages(name, await stores[name].last(MAIN, 50), messages.slice(-50));
  }
  const measure = async (work, turns, taskOf) => {
    const tasks = Object.fromEntries(names.map((name) => [name, taskOf(stores[name], name)]));
    const times = await runInPieces(tasks, { ...CLOCK, turns });
    const { median, min, max } = spread(ratios(times.mastra, times.stemma));
    const normal = times["stemma, normal"];
    const ofNormal = normal === undefined ? "–" : show(spread(ratios(times.mastra, normal)).median, "×");
    console.log(`| ${engine}: ${work} | ${show(median, "×")} | ${show(min, "")}–${show(max, "×")} | ${ofNormal} |`);
  };
  await measure("history", 4, (store) => ({ run: () => store.history(MAIN) }));
  await measure("the newest 50", 20, (store) => ({ run: () => store.last(MAIN, 50) }));
  await measure("cold open to the newest 50", 10, (_store, name) => ({
    run: async () => {
      const store = await open[name]();
      await store.last(MAIN, 50);
      await store.close();
    },
  }));
  const given = (size) => ({
    size,
    prepare: (number) => makeMessages(size, { seed: number + 2, prefix: `${size}-${number}-` }),
  });
  await measure("append", 40, (store) => ({ ...given(1), run: ([message]) => store.append(MAIN, message) }));
  await measure("batch of 100", 10, (store) => ({ ...given(100), run: (batch) => store.appendAll(MAIN, batch) }));
  for (const name of names) verifyMessages(name, (await stores[name].history(MAIN)).slice(0, COUNT), messages);
  await measure("fork of all", 1, (store) => ({
    run: async () => {
      const [leaf] = await store.last(MAIN, 1);
      await store.fork(MAIN, leaf.id);
    },
  }));
  for (const name of names) await stores[name].close();
}
