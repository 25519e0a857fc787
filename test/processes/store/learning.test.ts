import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { describeServer } from "../../postgres/server.js";
import { bundle } from "../../runner/bundle.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-learners-"));
const started = new Set<ChildProcess>();
let program = "";

beforeAll(async () => {
  program = join(await bundle("learner", ["test/store/learner-process.ts"]), "learner-process.mjs");
});
afterEach(() => {
  for (const child of started) child.kill("SIGKILL");
  started.clear();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const IDS = Array.from({ length: 12 }, (_, index) => `s${index + 10}`);

const open = (path: string) => (path.startsWith("postgres") ? postgres(path) : sqlite(path));

async function fill(path: string): Promise<void> {
  const store = open(path);
  const manager = SessionManager.create(store).forUser("ada");
  for (const id of IDS) {
    await manager.append(id, { id: `${id}-u`, role: "user", parts: [{ type: "text", text: `Said in ${id}.` }] });
  }
  await store.close();
}

function learnIn(path: string, pause: number) {
  const child = spawn(process.execPath, [program, path, String(pause)], { stdio: ["ignore", "pipe", "inherit"] });
  started.add(child);
  const lines: string[] = [];
  child.stdout.on("data", (chunk) => lines.push(...String(chunk).split("\n").filter(Boolean)));
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  return { child, lines, ended };
}

/** What is remembered, and what it cost. */
async function learned(path: string) {
  const store = open(path);
  const ada = store.forUser("ada");
  const block = await ada.blocks.get({ sessionId: "", kind: "block", label: "memory", scope: "user" });
  const [usage] = await store.sessions.usage({ by: "model" });
  const due = await store.sessions.due();
  await store.close();
  return { lines: block?.content.split("\n").toSorted(), usage, due };
}

const FACTS = IDS.map((id) => `Said in ${id}.`);

describe("processes that learn from what is due in a SQLite file", () => {
  let files = 0;
  describeLearners(async () => {
    files += 1;
    return join(folder, `${files}.db`);
  });
});

describeServer("processes that learn from what is due on Postgres", (server) => {
  describeLearners(() => server.createDatabase());
});

function describeLearners(make: () => Promise<string>): void {
  it("learn each message once between them", async () => {
    const path = await make();
    await fill(path);
    const learners = [learnIn(path, 20), learnIn(path, 20), learnIn(path, 20)];
    await Promise.all(learners.map(({ ended }) => ended));
    const asked = learners.flatMap(({ lines }) => lines.filter((line) => line.startsWith("[")));
    expect(asked.map((line) => JSON.parse(line)[0]).toSorted()).toEqual(IDS.map((id) => `${id}-u`));
    const { lines, usage, due } = await learned(path);
    expect([lines, usage?.name, usage?.requests, due]).toEqual([FACTS, "learning", IDS.length, []]);
  });

  it("go on where one was killed, at whatever point", async () => {
    for (const calls of [1, 3]) {
      const path = await make();
      await fill(path);
      const first = learnIn(path, 200);
      await expect.poll(() => first.lines.length).toBeGreaterThanOrEqual(calls);
      first.child.kill("SIGKILL");
      await first.ended;
      const before = await learned(path);
      expect(before.due.length).toBeGreaterThanOrEqual(IDS.length - calls);
      // The lease of the one that died ends after ten seconds.
      const second = learnIn(path, 0);
      await second.ended;
      expect(JSON.parse(second.lines.at(-1) ?? "")).toMatchObject({ failed: [] });
      const { lines, due } = await learned(path);
      expect([lines, due]).toEqual([FACTS, []]);
    }
  });
}
