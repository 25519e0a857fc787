import { mkdtempSync, rmSync } from "node:fs";
import Module from "node:module";
import { join } from "node:path";
import { sqlite } from "../../packages/store/src/sqlite.js";
import { CALLS, type Call } from "./calls.js";
import { type Measured, measure, medianOf } from "./measure.js";
import { fill, openWorld } from "./world.js";

export interface Measuring {
  readonly folder: string;
  readonly size: number;
  readonly runs: number;
  /** Which calls; all by default. */
  readonly only?: ((name: string) => boolean) | undefined;
  readonly onCall?: ((call: MeasuredCall) => void) | undefined;
}

export interface MeasuredCall extends Measured {
  readonly name: string;
  /** Why it failed; null where it did not. */
  readonly failure: string | null;
}

/** From here on, paths are opened with Node's own engine: the other one is not found. */
export function leaveOutBetterSqlite3(): void {
  const loader = Module as unknown as { _load(request: string, ...rest: unknown[]): unknown };
  const load = loader._load;
  loader._load = (request, ...rest) => {
    if (request === "better-sqlite3") throw new RangeError("It is left out here.");
    return load(request, ...rest);
  };
}

const open = (path: string) => sqlite(path, { synchronous: "normal" });

/** Measures each call, on a copy of its own of a filled file: the medians of some runs. */
export async function measureCalls({ folder, size, runs, only, onCall }: Measuring): Promise<MeasuredCall[]> {
  const filled = join(folder, `filled-${size}.db`);
  const store = open(filled);
  await fill(store, size);
  await store.close();
  const measured: MeasuredCall[] = [];
  for (const [name, call] of Object.entries(CALLS)) {
    if (only?.(name) === false) continue;
    const one = await measureCall(filled, { folder, size, runs }, call);
    measured.push({ name, ...one });
    onCall?.({ name, ...one });
  }
  return measured;
}

async function measureCall(
  filled: string,
  { folder, size, runs }: Measuring,
  call: Call,
): Promise<Measured & { failure: string | null }> {
  const found: Measured[] = [];
  for (let run = 0; run < runs; run += 1) {
    const place = mkdtempSync(join(folder, "run-"));
    const world = openWorld(filled, join(place, "store.db"), size, open);
    try {
      await world.store.migrate();
      const work = await call(world);
      found.push(await measure(work));
    } catch (error) {
      return { time: 0, pause: 0, pauseWithCollector: 0, failure: String((error as Error)?.stack ?? error) };
    } finally {
      await world.store.close().catch(() => {});
      rmSync(place, { recursive: true, force: true });
    }
  }
  return { ...medianOf(found), failure: null };
}
