import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { StemmaSaver } from "../../../packages/stemma/src/langgraph.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { pathOf } from "../../langgraph/graphs.js";
import { expectWhole } from "../../langgraph/two-writers.js";
import type { Acknowledged } from "../../langgraph/write-checkpoints.js";
import { describeServer } from "../../postgres/server.js";
import { bundle } from "../../runner/bundle.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-langgraph-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("loses nothing that was acknowledged when the process is killed", async () => {
  const program = join(await bundle("langgraph", ["test/langgraph/writer-process.ts"]), "writer-process.mjs");
  const path = join(folder, "chat.db");
  let stored = 0;
  for (let kill = 1; kill <= 4; kill += 1) {
    const acknowledged = await runUntil(program, path, stored + 5 * kill);
    expect(acknowledged).toBeGreaterThan(stored);
    const store = sqlite(path);
    const tuple = await new StemmaSaver(store).getTuple({ configurable: { thread_id: "t" } });
    const messages = (tuple?.checkpoint.channel_values.messages ?? []) as { id: string }[];
    stored = messages.length;
    // The last put may have been stored without an answer.
    expect([acknowledged, acknowledged + 1]).toContain(stored);
    expect(await pathOf(store, "t")).toEqual(messages.map((_, index) => `message ${index + 1}`));
    if (stored === acknowledged) expect(tuple?.pendingWrites).toEqual([["task", "messages", [`write ${stored}`]]]);
    expect((await store.check?.())?.problems).toEqual([]);
    await store.close();
  }
});

it("keeps what two processes write to one thread of a SQLite file at the same time", async () => {
  await writeFromTwo(join(folder, "two.db"));
});

describeServer("on Postgres", (server) => {
  it("keeps what two processes write to one thread at the same time", () => writeFromTwo(server.url));
});

async function writeFromTwo(place: string): Promise<void> {
  const program = join(
    await bundle("langgraph-two", ["test/langgraph/two-writers-process.ts"]),
    "two-writers-process.mjs",
  );
  const store = place.startsWith("postgres:") ? postgres(place) : sqlite(place);
  await store.migrate();
  const run = promisify(execFile);
  const outputs = await Promise.all(
    ["anna", "ben"].map((name) => run(process.execPath, [program, place, name], { maxBuffer: 2 ** 28 })),
  );
  const lines = outputs.flatMap(({ stdout }) => stdout.trim().split("\n"));
  expect(lines).toHaveLength(120);
  await expectWhole(
    store,
    lines.map((line) => JSON.parse(line) as Acknowledged),
  );
  await store.close();
}

/** Kills the process once it has acknowledged a number; resolves to the last one. */
function runUntil(program: string, path: string, number: number): Promise<number> {
  const child = spawn(process.execPath, [program, path], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.on("data", (chunk) => {
    text += chunk;
    if (last() >= number) child.kill("SIGKILL");
  });
  const last = () => Number(text.slice(0, text.lastIndexOf("\n")).split("\n").at(-1));
  return new Promise((resolve) => child.once("close", () => resolve(last())));
}
