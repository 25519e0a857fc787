import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { message } from "../../packages/conformance/src/samples.js";
import { chatHandler } from "../../packages/stemma/src/ai-sdk.js";
import { AgentSearchProvider, Session, SessionManager } from "../../packages/stemma/src/session.js";
import { createStudio } from "../../packages/stemma/src/studio.js";
import type { Store } from "../../packages/store/src/contract/store.js";
import { scriptedModel } from "../../test/ai-sdk/scripted-model.js";

/** The long session, and who it belongs to. */
export const LONG = "long";
export const USER = "ann";

/** What a call is made on: a store of its own that holds the long session. */
export interface World {
  /** How many messages the long session has. */
  readonly size: number;
  /** A folder for files that a call writes. */
  readonly folder: string;
  readonly store: Store;
  readonly manager: SessionManager;
  /** The long session as the manager gives it. */
  readonly session: Session;
  /** An id of the long session, by its place in it; from the end where it is negative. */
  id(index: number): string;
  /** All of them. */
  ids(): string[];
  /** As many messages that are not stored. */
  news(): ReturnType<typeof message>[];
  /** A session that is not started yet. */
  fresh(): Session;
  chat(method: string, path?: string, body?: object): Promise<Response>;
  studio(method: string, path: string, body?: object): Promise<Response>;
}

const BATCH = 2_500;
const text = (index: number) =>
  `Message ${index} says that part ${index % 97} of the order is due on day ${index % 31}.`;
const said = (prefix: string, index: number) =>
  message(`${prefix}${index}`, text(index), index % 2 === 0 ? "user" : "assistant");
const some = (prefix: string, size: number) => Array.from({ length: size }, (_, index) => said(prefix, index));

/** Writes what every call finds: the long session with its blocks, entries and records, and a hundredth as many short sessions. */
export async function fill(store: Store, size: number): Promise<void> {
  const manager = SessionManager.create(store);
  await manager.create("The long one", { id: LONG, userId: USER });
  const session = store.session(LONG);
  const messages = some("m", size);
  for (let start = 0; start < size; start += BATCH) await session.append(messages.slice(start, start + BATCH));
  for (let index = 0; index < 3; index += 1) {
    await store.blocks.set({ sessionId: LONG, kind: "block", label: "notes" }, `note ${index}`);
  }
  for (let index = 0; index < size / 10; index += 100) {
    const keys = Array.from({ length: Math.min(100, size / 10 - index) }, (_, at) => `k${index + at}`);
    await store.writeTogether(
      keys.flatMap((key) => [
        { entries: { sessionId: LONG, label: "facts" }, key, content: `Fact ${key} is known.` },
        { records: { sessionId: LONG, label: "runs" }, key, value: new TextEncoder().encode(key) },
      ]),
    );
  }
  for (let index = 0; index < size / 100; index += 1) {
    await manager.create(`Short ${index}`, { id: `short${index}`, userId: USER });
    await store.session(`short${index}`).append([said("s", index)]);
    await manager.addUsage(`short${index}`, 10, 5, 0.01, "some-model");
  }
  // So that the first search of a copy does not index what was noted.
  await store.search("order", { limit: 1 });
}

/** A copy of a filled file, and what calls are made on. */
export function openWorld(filled: string, path: string, size: number, open: (path: string) => Store): World {
  copyFileSync(filled, path);
  const store = open(path);
  const manager = SessionManager.create(store).withContext("notes").onCompaction(summarise);
  const { model } = scriptedModel(() => "Done.");
  const facts = { provider: new AgentSearchProvider(store, { scope: "user" }) };
  const sessions = SessionManager.create(store).withContext("notes").withContext("facts", facts);
  const chats = chatHandler({ sessions, model, authenticate: () => ({ userId: USER }) });
  const studio = createStudio(manager, { basePath: "/studio", write: true, authorize: () => true });
  const request = (method: string, path: string, body?: object) =>
    new Request(`http://localhost:4984${path}`, {
      method,
      headers: body === undefined ? {} : { "content-type": "application/json", "x-stemma-studio": "1" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return {
    size,
    folder: join(path, ".."),
    store,
    manager,
    session: manager.getSession(LONG),
    id: (index) => `m${index < 0 ? size + index : index}`,
    ids: () => Array.from({ length: size }, (_, index) => `m${index}`),
    news: () => some("new", size),
    fresh: () => Session.create(store).forSession(LONG),
    chat: (method, path = "", body) => chats(request(method, `/api/chat${path}`, body)),
    studio: (method, path, body) => studio(request(method, `/studio${path}`, body)),
  };
}

// The model's work is not measured.
const summarise = async (messages: readonly { id: string }[]) => ({
  fromMessageId: messages[0]?.id ?? "",
  toMessageId: messages.at(-3)?.id ?? "",
  summary: "Orders were discussed.",
});
