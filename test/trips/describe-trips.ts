import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { readEverything } from "../../packages/conformance/src/messages/exports.js";
import { readWhole } from "../../packages/conformance/src/sessions/whole-copies.js";
import { StemmaError } from "../../packages/model/src/errors.js";
import type { Store } from "../../packages/store/src/contract/store.js";
import { texts } from "./boundary-values.js";
import { backedUp, newFolder, TRIPS } from "./trips.js";
import { asStored, type Write, writes } from "./writes.js";

/** Opens an empty store of some kind. */
export type Engines = Readonly<Record<string, () => Store | PromiseLike<Store>>>;

export interface Runs {
  /** Values that are written to each engine by themselves. */
  readonly values: number;
  /** Stores that go on every trip between every two engines, and how many values each holds. */
  readonly stores: number;
  readonly each: number;
  /** Values that an engine is known to change; its page in the docs says so. */
  readonly without?: RegExp | undefined;
}

/** How a value that is refused is refused. */
const REFUSALS = ["INVALID_ARGUMENT", "INVALID_TEXT", "INVALID_MESSAGE", "BLOCK_OVER_BUDGET"];

/** Registers tests that write the boundary values of each type, and look for them behind every trip. */
export function describeTrips(engines: Engines, runs: Runs): void {
  const drawn = writes.filter(({ value }) => runs.without?.test(JSON.stringify(value) ?? "") !== true);
  const fill = async (store: Store, count: number): Promise<void> => {
    const some = fc.sample(drawn, { numRuns: count });
    for (const [index, write] of some.entries()) await outcomeOf(write, store, `place ${index}`);
  };
  describe.each(Object.keys(engines))("what is written to %s", (name) => {
    it("comes back as it was, or is refused as everywhere", async () => {
      const [store, first] = await Promise.all([engines[name]?.(), Object.values(engines)[0]?.()]);
      let count = 0;
      const property = fc.asyncProperty(drawn, async (write) => {
        const place = `place ${++count}`;
        const outcome = await outcomeOf(write, store as Store, place);
        expect(outcome).toEqual(await outcomeOf(write, first as Store, place));
        if (outcome !== "stored") expect(REFUSALS).toContain(outcome);
        else if (write.read) expect(shown(await write.read(store as Store, place))).toBe(shown(asStored(write.value)));
      });
      await fc.assert(property, { numRuns: runs.values });
      await Promise.all([store?.close(), first?.close()]);
    });

    it("is in a fork and in a session split off", async () => {
      const store = (await engines[name]?.()) as Store;
      await fill(store, runs.each);
      const { sessions } = await store.sessions.list({ orderBy: "registered" });
      for (const [index, { id }] of sessions.entries()) {
        const before = await readEverything(store, id);
        const [title] = fc.sample(texts.filter(isStorable), { numRuns: 1 });
        const inherited = fieldsOf(before.info);
        const leaf = before.leaf?.id;
        if (leaf !== undefined) {
          const fork = await store.sessions.fork(id, leaf, { id: `fork ${index}`, name: title as string });
          const after = await readEverything(store, fork.id);
          expect(shown(fieldsOf(after.info))).toBe(shown({ ...inherited, parent_session_id: id }));
          expect(after.info?.name).toBe(title);
          for (const part of ["path", "stored", "compactions", "sizes", "leaf"] as const)
            expect(shown(after[part])).toBe(shown(before[part]));
          expect(shown(keptOf(after.kept))).toBe(shown(keptOf(before.kept)));
        }
        const first = { id: "first", role: "assistant", parts: [{ type: "text", text: "" }] };
        const split = await store.sessions.split(id, first, { id: `split ${index}` });
        const after = await readEverything(store, split.id);
        expect(shown([after.info?.name, fieldsOf(after.info)])).toBe(
          shown([before.info?.name, { ...inherited, parent_session_id: id }]),
        );
        expect(shown(after.stored.messages)).toBe(shown([first]));
        expect(shown(keptOf(after.kept))).toBe(shown(keptOf(before.kept)));
      }
      await store.close();
    });
  });

  const names = Object.keys(engines);
  const pairs = names.flatMap((from) => names.map((to) => [from, to] as const));
  const folder = newFolder();
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  let trips = 0;
  const tripFolder = () => {
    const path = join(folder, String(++trips));
    mkdirSync(path);
    return path;
  };

  describe.each(pairs)("what goes from %s to %s", (from, to) => {
    it.each(Object.keys(TRIPS))("by %s is the same", async (trip) => {
      for (let round = 0; round < runs.stores; round += 1) {
        const [source, target] = [await engines[from]?.(), await engines[to]?.()] as Store[] as [Store, Store];
        await fill(source, runs.each);
        const before = await readWhole(source);
        await TRIPS[trip]?.(source, target, tripFolder());
        expect(shown(await readWhole(target))).toBe(shown(before));
        expect((await target.check?.())?.problems).toEqual([]);
        await Promise.all([source.close(), target.close()]);
      }
    });
  });

  it.runIf("SQLite" in engines)("is the same in a backup", async () => {
    const source = (await engines.SQLite?.()) as Store;
    await fill(source, runs.each);
    const copy = await backedUp(source, tripFolder());
    expect(shown(await readWhole(copy))).toBe(shown(await readWhole(source)));
    await Promise.all([source.close(), copy.close()]);
  });
}

const isStorable = (text: string) => text.isWellFormed() && !text.includes("\0");

async function outcomeOf(write: Write, store: Store, place: string): Promise<string> {
  try {
    await write.write(store, place);
    return "stored";
  } catch (error) {
    if (!StemmaError.isInstance(error)) throw error;
    return error.code;
  }
}

/** All of a value, also what JSON and `toEqual` take for the same. */
function shown(value: unknown): string {
  const all = { depth: Number.POSITIVE_INFINITY, maxArrayLength: null, maxStringLength: null, breakLength: 200 };
  return inspect(value, all).replaceAll("[Object: null prototype] ", "");
}

function fieldsOf(info: object | null): Record<string, unknown> {
  const { parent_session_id, model, source, user_id, metadata } = (info ?? {}) as Record<string, unknown>;
  return { parent_session_id, model, source, user_id, metadata };
}

// Records stay with their session.
const keptOf = (kept: Awaited<ReturnType<typeof readEverything>>["kept"]) =>
  kept.filter(({ kind }) => kind !== "record");
