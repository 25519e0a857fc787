import { findOwner } from "../formats/stemma-header.js";
import { memoryHeader, memoryLines, scopeOf, sessionHeader, sessionLines } from "../formats/store-lines.js";
import type { Store } from "../storage/contract.js";
import type { CopyTarget } from "./contract.js";
import { KeptWriter } from "./kept-writer.js";
import { SessionWriter } from "./session-writer.js";
import { VectorWriter } from "./vector-writer.js";

/** A store that is copied to: what it lacks is written behind what it has. */
export function storeTarget(store: Store): CopyTarget {
  const { vectors } = store;
  let writer: VectorWriter | null = null;
  return {
    keepsVectors: vectors !== undefined,
    async write(of, header, lines) {
      if ("vectors" in of) {
        writer = vectors === undefined ? null : new VectorWriter(vectors, of.vectors, header);
        return (await writer?.write(lines)) ?? false;
      }
      const owner = findOwner(header.memory);
      if (owner === undefined) return (await SessionWriter.open(store, header)).write(lines);
      const [target, scope] = scopeOf(store, owner);
      const kept = new KeptWriter(target, scope, of);
      for await (const line of lines) await kept.write(line);
      return kept.finish();
    },
    async *read(of) {
      // As far as they were given before: a target may have more.
      if ("vectors" in of) {
        if (writer?.sessionId === of.vectors) yield* writer.read();
        return;
      }
      const session = "session" in of ? await store.sessions.get(of.session) : null;
      if (session === null) {
        yield memoryHeader(of);
        yield* memoryLines(store, of);
        return;
      }
      yield await sessionHeader(store, session);
      yield* sessionLines(store, session.id);
    },
  };
}
