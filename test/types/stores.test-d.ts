// Stores, their options, and a storage of one's own. Nothing here runs: TypeScript checks it.
import Database from "better-sqlite3";
import pg from "pg";
import { durableObject } from "stemma/durable-object";
import { memory } from "stemma/memory";
import { postgres } from "stemma/postgres";
import { Session, type SessionMessage, type SessionProvider, StemmaError, type StoredCompaction } from "stemma/session";
import { sqlite } from "stemma/sqlite";
import { expectTypeOf } from "vitest";

sqlite("chats.db", { synchronous: "normal", busyTimeout: 10_000, search: false });
sqlite(new Database(":memory:"), { search: false });
postgres("postgres://localhost/chats", { schema: "chats" });
postgres(new pg.Pool(), {});
durableObject({ storage: {} as never }, { search: false });
memory();
// @ts-expect-error no such way to write
sqlite("chats.db", { synchronous: "off" });
// @ts-expect-error a time is a number of milliseconds
sqlite("chats.db", { busyTimeout: "10s" });
// @ts-expect-error a schema is named
postgres("postgres://localhost/chats", { schema: 5 });
// @ts-expect-error nothing to connect to
postgres({});

const embedded = memory().withEmbedder({ id: "mine", dimensions: 2, embed: async (texts) => texts.map(() => [0, 1]) });
expectTypeOf(await embedded.embeddings.backlog()).toBeNumber();
// @ts-expect-error a function says how many numbers a vector has
memory().withEmbedder({ id: "mine", embed: async () => [[0, 1]] });

// The sketch of the documents: what a storage must do, with the types that it may have.
declare const sketch: {
  getMessage(id: string): Promise<SessionMessage | null>;
  getHistory(leafId?: string | null): Promise<SessionMessage[]>;
  getLatestLeaf(): Promise<SessionMessage | null>;
  getBranches(messageId: string): Promise<SessionMessage[]>;
  getPathLength(leafId?: string | null): Promise<number>;
  appendMessage(message: SessionMessage, parentId?: string | null): Promise<void>;
  updateMessage(message: SessionMessage): Promise<void>;
  deleteMessages(messageIds: string[]): Promise<void>;
  clearMessages(): Promise<void>;
  addCompaction(summary: string, fromMessageId: string, toMessageId: string): Promise<StoredCompaction>;
  getCompactions(): Promise<StoredCompaction[]>;
};
expectTypeOf(sketch).toExtend<SessionProvider>();
expectTypeOf(Session.create(sketch)).toEqualTypeOf<Session>();
expectTypeOf(new Session(sketch)).toEqualTypeOf<Session>();
const { addCompaction: _, ...incomplete } = sketch;
// @ts-expect-error a method is missing
new Session(incomplete);

declare const error: unknown;
if (StemmaError.isInstance(error, "STORE_LOCKED")) expectTypeOf(error).toEqualTypeOf<StemmaError>();
// @ts-expect-error no such code
StemmaError.isInstance(error, "STORE_ASLEEP");
