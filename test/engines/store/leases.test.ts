import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { encodeJson } from "../../../packages/model/src/lib/json.js";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { Waiters } from "../../../packages/session/src/session/compaction/time-limit.js";
import { isLeaseOver, leaseEnd, takeLease } from "../../../packages/session/src/session/run-record.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { openPool } from "../../postgres/databases.js";
import { describeServer } from "../../postgres/server.js";

const DAY = 24 * 60 * 60 * 1000;
const JUMPS = [11_000, -11_000, DAY, -DAY];

const folder = mkdtempSync(join(tmpdir(), "stemma-leases-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => {
  vi.useRealTimers();
});

describe("a lease on a SQLite file", () => {
  describeLeases(() => {
    const store = sqlite(join(folder, "leases.db"));
    return { store, close: () => store.close() };
  });
});

describeServer("a lease on Postgres", (server) => {
  describeLeases(() => {
    const { source, close } = openPool(server.url);
    return { store: postgres(source), close };
  });
});

function describeLeases(open: () => { store: Store; close(): Promise<void> }): void {
  const take = (store: Store, scope: { sessionId: string; label: string }) => takeLease(store, scope, new Waiters());
  const newScope = () => ({ sessionId: crypto.randomUUID(), label: "leases" });

  it("is one process's, whatever the wall clocks say, until it is given back", async () => {
    const [one, two] = [open(), open()];
    vi.useFakeTimers({ toFake: ["Date"] });
    const scope = newScope();
    const held = await take(one.store, scope);
    // Each waits until the owner has said that it lives.
    const tries = JUMPS.map(async (jump) => {
      vi.setSystemTime(vi.getRealSystemTime() + jump);
      return take(two.store, scope);
    });
    expect(await Promise.all(tries)).toEqual([null, null, null, null]);
    await held?.write([{ records: scope, key: "done", value: Uint8Array.of(1) }]);
    await held?.release();
    const next = await take(two.store, scope);
    expect(next).not.toBe(null);
    await next?.release();
    await Promise.all([one.close(), two.close()]);
  });

  it("of a process that died is another one's after its time, whatever the wall clocks say", async () => {
    const { store, close } = open();
    vi.useFakeTimers({ toFake: ["Date"] });
    for (const jump of JUMPS) {
      const scope = newScope();
      const lease = 1000;
      const died = performance.now();
      const state = { owner: crypto.randomUUID(), lease, leaseUntil: await leaseEnd(store.records, lease) };
      await store.records.set(scope, "lease", encodeJson(state));
      vi.setSystemTime(vi.getRealSystemTime() + jump);
      const held = await take(store, scope);
      expect(held).not.toBe(null);
      expect(performance.now() - died).toBeGreaterThan(lease);
      await held?.release();
    }
    await close();
  });

  it("that another process took lets nothing more be written", async () => {
    const { store, close } = open();
    const scope = newScope();
    const held = await take(store, scope);
    await store.records.delete(scope, "lease");
    const other = await take(store, scope);
    const write = { records: scope, key: "done", value: Uint8Array.of(1) };
    await expect(held?.write([write])).rejects.toThrow(expect.objectContaining({ code: "RECORD_CONFLICT" }));
    await held?.release();
    await other?.write([write]);
    await other?.release();
    await close();
  });
}

describe("where no clock tells it, a lease is over", () => {
  const state = (lease: number) => ({ owner: crypto.randomUUID(), lease, leaseUntil: null });

  it("once its version did not change for that time, counted while the observer did not stand still", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const [known, records] = [state(1000), {}];
    const looks: boolean[] = [];
    // The third look comes after ten minutes, of which half a lease counts.
    for (const [version, pause] of [
      [1, 0],
      [1, 400],
      [1, 600_000],
      [1, 99],
      [1, 1],
      [2, 400],
      [2, 500],
      [2, 500],
    ] as const) {
      vi.advanceTimersByTime(pause);
      looks.push(await isLeaseOver(records, known, version));
    }
    expect(looks).toEqual([false, false, false, false, true, false, false, true]);
  });
});
