import type { MemoryOwner, Store } from "@stemma/store";
import { allSessions } from "@stemma/store";
import { memoryHeader, memoryLines, ownersOf, sessionHeader, sessionLines } from "../stemma/store-lines.js";
import type { CopySource, Part } from "./contract.js";
import { vectorHeader, vectorLine } from "./jsonl-parts.js";

/** All that a store holds: sessions as they were registered, what no session has, then what is remembered of users and under keys. */
export function storeSource(store: Store): CopySource {
  return {
    async *parts() {
      for (const id of await sessionIds(store)) {
        const part = await askFor(store, id);
        if (part === null) continue;
        yield part;
        const vectors = await vectorsPart(store, id);
        if (vectors !== null) yield vectors;
      }
      // Behind the sessions: what an upgrade brought along, those have by now in which it shows.
      for await (const owner of ownersOf(store)) yield memoryPart(store, owner);
    },
  };
}

// One that cannot be asked for, as one whose id is reserved by now, is a part that fails: others are copied all the same.
async function askFor(store: Store, id: string): Promise<Part | null> {
  try {
    return await sessionPart(store, id);
  } catch (error) {
    const lines = () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) });
    return { of: { session: id }, header: { session: { id } }, lines };
  }
}

/** A session of a store; null where it is not registered. */
async function sessionPart(store: Store, id: string): Promise<Part | null> {
  const session = store.session(id);
  const change = await session.change();
  const info = await store.sessions.get(id);
  if (info === null) return null;
  return {
    of: { session: id },
    header: await sessionHeader(store, info),
    lines: () => sessionLines(store, id),
    isChanged: async () => (await session.change()) !== change,
    again: () => sessionPart(store, id),
  };
}

/** Vectors of a session; null where nothing was embedded. */
async function vectorsPart(store: Store, id: string): Promise<Part | null> {
  const { vectors } = store;
  const model = (await vectors?.model()) ?? null;
  if (vectors === undefined || model === null) return null;
  for await (const _first of vectors.list(id, model)) {
    return {
      of: { vectors: id },
      header: vectorHeader(id, model),
      async *lines() {
        for await (const vector of vectors.list(id, model)) yield vectorLine(vector);
      },
      again: () => vectorsPart(store, id),
    };
  }
  return null;
}

function memoryPart(store: Store, of: MemoryOwner): Part {
  return {
    of,
    header: memoryHeader(of),
    lines: () => memoryLines(store, of),
    again: async () => memoryPart(store, of),
  };
}

// Only ids are held, so that no session is passed over that changes its place meanwhile.
async function sessionIds(store: Store): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of allSessions(store, { orderBy: "registered" })) ids.push(id);
  return ids.reverse();
}
