import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Scenario } from "../../packages/conformance/src/faults/fault-scenarios.js";
import { Workspace } from "../../packages/conformance/src/workspace.js";
import { StemmaError } from "../../packages/model/src/index.js";
import type { Store } from "../../packages/store/src/index.js";
import { sqlite } from "../../packages/store/src/sqlite.js";
import { openDatabase } from "../store/databases.js";
import { dumpTables } from "../store/file-target.js";

/** `STEMMA_CRASHES=all npx vitest run server/crash server/killed` ends servers at each statement of each call. */
export const ALL: boolean = process.env.STEMMA_CRASHES === "all";

/** Servers of one SQLite file. One has all requests until it ends without an answer; then another one has them. */
export interface Crashing {
  /** Calls them. */
  readonly store: Store;
  /** Has the one that serves end after so many statements from now on: 0 is before the first. */
  planCrash(statements: number): void;
  readonly hasCrashed: boolean;
  close(): Promise<void>;
}

let rounds = 0;

/** Has a server end at every `step`th statement of a call, the first being `first`. What comes of it must be what comes of the call alone. */
export async function crashAtStatements(
  scenario: Scenario,
  folder: string,
  open: (path: string) => Crashing,
  { first, step }: { readonly first: number; readonly step: number },
): Promise<number> {
  const prepared = join(folder, "prepared.db");
  removeDatabase(prepared);
  const store = sqlite(prepared);
  await scenario.prepare(await workspaceOf(store));
  await store.close();
  const make = async (crash?: number) => {
    // A server may have the one before open still.
    const path = join(folder, `called-${rounds++}.db`);
    copyFileSync(prepared, path);
    try {
      return await makeCall(scenario, path, open(path), crash);
    } finally {
      removeDatabase(path);
    }
  };
  const { made } = await make();
  let crashes = 0;
  // How many statements there are differs: now and then one removes what is old.
  for (let at = first; ; at += step) {
    const crashed = await make(at);
    if (!crashed.hasCrashed) return crashes;
    crashes += 1;
    expect(crashed.made.state, `after statement ${at}`).toEqual(made.state);
    if (!crashed.isRepeated) expect(crashed.made, `after statement ${at}`).toEqual(made);
  }
}

async function makeCall(scenario: Scenario, path: string, servers: Crashing, crash?: number) {
  let isRepeated = false;
  const call = await scenario.call(await workspaceOf(servers.store));
  if (crash !== undefined) servers.planCrash(crash);
  const result = await call().catch((error: unknown) => {
    // It is made of other calls, so the server does not repeat it. Repeated by a program, it goes on.
    isRepeated = scenario.title.includes("consolidation") && StemmaError.isInstance(error, "CONNECTION_LOST");
    if (!isRepeated) throw error;
    return call();
  });
  const { hasCrashed } = servers;
  await servers.close();
  const store = sqlite(path);
  const report = await store.check?.();
  await store.close();
  const made = { result: withoutChance(result ?? null), problems: report?.problems, state: stateOf(path) };
  return { hasCrashed, isRepeated, made };
}

function workspaceOf(store: Store): Promise<Workspace> {
  return Workspace.open({ name: "crashing", open: () => store }, store);
}

function removeDatabase(path: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
}

function stateOf(path: string): string[] {
  const client = openDatabase(path);
  try {
    return Object.entries(dumpTables(client)).flatMap(([table, rows]) =>
      rows.map((row) => `${table}: ${withoutChance(row)}`).sort(),
    );
  } finally {
    client.close();
  }
}

/** A value as text, of which nothing is left to chance or to the time. */
function withoutChance(value: unknown): string {
  return (
    JSON.stringify(value, (_, part) => (part?.type === "Buffer" ? Buffer.from(part).toString() : part))
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<id>")
      .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?/g, "<time>")
      .replace(/\b\d{11,16}\b/g, "<number>")
      .replace(/\b[0-9a-f]{64}\b/g, "<hash>")
      // Until when a session was appended to stands only where it differs.
      .replace(/"<time>","<time>",(null|"<time>")/g, '"<time>","<time>","<time>"')
  );
}
