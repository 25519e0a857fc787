import type { Ask } from "./ask.js";

/** What a write route is posted, and a look at what it changed: `seen` is what the look gives afterwards. */
export interface WriteCase {
  readonly body: unknown;
  readonly answer?: unknown;
  look(ask: Ask): Promise<unknown>;
  readonly seen: unknown;
}

const get = async (ask: Ask, path: string) => (await ask({ path: `/api/${path}` })).json;
const idsOf = (messages: { message: { id: string } }[]) => messages.map(({ message }) => message.id);
const session = (ask: Ask) => get(ask, "session?id=trip");
const path = async (ask: Ask) => idsOf((await get(ask, "messages?id=trip&originals=1")).messages);
const stored = async (ask: Ask) => (await get(ask, "tree?id=trip")).nodes.map(({ id }: { id: string }) => id).sort();
const block = async (ask: Ask) => (await get(ask, "memory?session=trip")).blocks[0].content;

/** A case for each route that writes, by its name. A test holds it against the list of routes. */
export const WRITE_CASES: Readonly<Record<string, WriteCase>> = {
  rename: {
    body: { id: "trip", name: "Another name" },
    look: async (ask) => (await session(ask)).session.name,
    seen: "Another name",
  },
  select: { body: { id: "trip", messageId: "side" }, look: path, seen: ["m1", "m2", "side"] },
  fork: {
    body: { id: "trip", messageId: "m2", name: "The fork" },
    answer: { id: "any" },
    look: async (ask) => (await session(ask)).children.map(({ name }: { name: string }) => name),
    seen: ["The fork"],
  },
  compact: {
    body: { id: "trip" },
    answer: { compacted: true },
    look: async (ask) => (await session(ask)).compactions.map(({ summary }: { summary: string }) => summary),
    seen: ["A trip was booked.", "In short."],
  },
  uncompact: {
    body: { id: "trip", compactionId: "THE COMPACTION" },
    look: async (ask) => (await session(ask)).compactions,
    seen: [],
  },
  edit: {
    body: { id: "trip", messageId: "m3", text: "Thank you" },
    answer: { id: "any" },
    look: async (ask) =>
      (await get(ask, "messages?id=trip")).messages
        .at(-1)
        .message.parts.map(({ type, text }: { type: string; text?: string }) => text ?? type),
    seen: ["file", "Thank you"],
  },
  "delete-messages": { body: { id: "trip", messageIds: ["m4"] }, look: path, seen: ["m1", "m2", "m3"] },
  "delete-branch": {
    body: { id: "trip", messageId: "m3" },
    answer: { deleted: 2 },
    look: stored,
    seen: ["m1", "m2", "side"],
  },
  "delete-session": {
    body: { id: "trip" },
    look: async (ask) => (await ask({ path: "/api/session?id=trip" })).status,
    seen: 404,
  },
  "edit-block": {
    body: { owner: { session: "trip" }, label: "memory", content: "Likes trains.", expectedVersion: 2 },
    look: block,
    seen: "Likes trains.",
  },
  "edit-entry": {
    body: {
      owner: { user: "ada" },
      label: "facts",
      key: "home",
      content: "Rome",
      expectedContent: "Lima",
    },
    look: async (ask) => (await get(ask, "entry?user=ada&label=facts&entry=home")).entry.content,
    seen: "Rome",
  },
  "forget-entry": {
    body: { owner: { user: "ada" }, label: "facts", key: "home" },
    look: async (ask) => (await get(ask, "entry?user=ada&label=facts&entry=home")).entry,
    seen: null,
  },
  "restore-version": {
    body: { owner: { session: "trip" }, label: "memory", key: null, version: 1 },
    look: block,
    seen: "Likes zebras.",
  },
};

/** The body of a case, with the id of the compaction in its place. */
export async function bodyOf(ask: Ask, { body }: WriteCase): Promise<unknown> {
  const { compactions } = await session(ask);
  return JSON.parse(JSON.stringify(body).replace("THE COMPACTION", compactions[0].id));
}
