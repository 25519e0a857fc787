import { expect } from "vitest";
import type { Scenario } from "../../packages/conformance/src/faults/fault-scenarios.js";
import { Workspace } from "../../packages/conformance/src/workspace.js";
import { StemmaError } from "../../packages/model/src/index.js";
import type { Store } from "../../packages/store/src/index.js";
import type { Place, Places } from "./crash-places.js";
import type { Fetch } from "./remote-target.js";

/** `STEMMA_CRASHES=all npx vitest run server/crashes server/killed` ends servers at each statement of each call. */
export const ALL: boolean = process.env.STEMMA_CRASHES === "all";

/** Servers of one place. One has all requests until it ends without an answer; then another one has them. */
export interface Crashing {
  readonly fetch: Fetch;
  /** Calls them by `stemma/remote`. */
  readonly store: Store;
  /** Has the one that serves end after so many statements from now on: 0 is before the first. */
  planCrash(statements: number): void;
  readonly hasCrashed: boolean;
  close(): Promise<void>;
}

/** A call that a server is asked for. */
export interface Asked {
  readonly title: string;
  prepare(store: Store): Promise<void>;
  /** Makes it ready. What it gives asks again by itself. */
  call(servers: Crashing): Promise<() => Promise<unknown>>;
  /** It is made of other calls, so its answer tells what was left to do, or that it is to be made again. */
  readonly isComposed: boolean;
}

/** A call of a store, by `stemma/remote`. */
export function byRemote({ title, prepare, call }: Scenario): Asked {
  return {
    title,
    isComposed: title.includes("consolidation"),
    prepare: async (store) => prepare(await workspaceOf(store)),
    call: async ({ store }) => {
      const made = await call(await workspaceOf(store));
      return async () => {
        try {
          return await made();
        } catch (error) {
          if (!title.includes("consolidation") || !StemmaError.isInstance(error, "CONNECTION_LOST")) throw error;
          return made();
        }
      };
    },
  };
}

/** Has a server end at every `step`th statement of a call, the first being `first`. What comes of it must be what comes of the call alone. */
export async function crashAtStatements(
  asked: Asked,
  places: Places,
  open: (place: Place) => Crashing,
  { first, step }: { readonly first: number; readonly step: number },
): Promise<number> {
  await places.prepare(asked.prepare);
  const make = async (crash?: number) => {
    const place = await places.copy();
    try {
      return await makeCall(asked, place, open(place), crash);
    } finally {
      await place.remove();
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
    if (!asked.isComposed) expect(crashed.made, `after statement ${at}`).toEqual(made);
  }
}

async function makeCall(asked: Asked, place: Place, servers: Crashing, crash?: number) {
  const call = await asked.call(servers);
  if (crash !== undefined) servers.planCrash(crash);
  const result = await call();
  const { hasCrashed } = servers;
  await servers.close();
  const store = place.open();
  const report = await store.check?.();
  await store.close();
  const made = {
    result: withoutChance(result ?? null),
    problems: report?.problems,
    state: stateOf(await place.dump()),
  };
  return { hasCrashed, made };
}

function workspaceOf(store: Store): Promise<Workspace> {
  return Workspace.open({ name: "crashing", open: () => store }, store);
}

function stateOf(dump: Readonly<Record<string, readonly unknown[]>>): string[] {
  return Object.entries(dump).flatMap(([table, rows]) => rows.map((row) => `${table}: ${withoutChance(row)}`).sort());
}

/** A value as text, of which nothing is left to chance or to the time. */
function withoutChance(value: unknown): string {
  return (
    JSON.stringify(value, (_, part) => (part?.type === "Buffer" ? Buffer.from(part).toString() : part))
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<id>")
      .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?/g, "<time>")
      .replace(/\b\d{11,16}\b/g, "<number>")
      .replace(/\b[0-9a-f]{64}\b/g, "<hash>")
      // Until when a session was appended to stands only where it differs.
      .replace(/"<time>","<time>",(null|"<time>")/g, '"<time>","<time>","<time>"')
      // On Postgres a session's number is one of time.
      .replace(/(\bno\W+)\d{7,}/g, "$1<number>")
      .replace(/(appended_until\W+)(null|<time>)\W*/g, "$1")
  );
}
