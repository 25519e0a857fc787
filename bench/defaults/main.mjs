// npm run bench -- defaults [--quick] [--publish]
//
// Milliseconds of a session's calls as users have them by default, where each write is on the disk when it resolves, and beside
// that without; each next to hand-written SQL at the same setting. And what share of a whole turn stemma's calls are: a message
// appended, the turn prepared, a model asked, its answer appended.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createDatasets } from "../datasets.mjs";
import { buildStemma, installPeers } from "../prepare.mjs";

const { values } = parseArgs({
  options: { quick: { type: "boolean", default: false }, publish: { type: "boolean", default: false } },
});
const count = values.quick ? 1_000 : 10_000;

installPeers();
await buildStemma();
// Loaded late: they need what was installed and built.
const { openSettings } = await import("./settings.mjs");
const { callsOf, timesInPieces } = await import("./calls.mjs");
const { startServer } = await import("../postgres-server.mjs");
const { startModel, measureTurns } = await import("./turn.mjs");
const { reportTable } = await import("./table.mjs");

const folder = mkdtempSync(join(tmpdir(), "stemma-bench-defaults-"));
const datasets = createDatasets(folder);
const model = await startModel();
const servers = {
  "Postgres, `fsync`": await startServer(["-c", "fsync=on"]),
  "Postgres, no `fsync`": await startServer(),
};
try {
  const settings = await openSettings(folder, servers, datasets.conversation(count));
  const found = [];
  for (const call of callsOf(datasets, count)) {
    const turns = values.quick ? Math.ceil(call.turns / 10) : call.turns;
    found.push({ ...call, times: await timesInPieces(settings, call, turns) });
  }
  const turns = await measureTurns(settings, datasets, model, values.quick ? 3 : 20);
  reportTable({ settings, found, turns, count, publish: values.publish });
  for (const { stemma, bare } of settings) for (const side of [stemma, bare]) await side.close();
} finally {
  for (const server of Object.values(servers)) await server.stop();
  await model.stop();
  rmSync(folder, { recursive: true, force: true });
}
