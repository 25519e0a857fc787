import type { SessionMessage } from "@stemma/model";
import type { Session } from "@stemma/session";
import { AgentSearchProvider, SessionManager } from "@stemma/session";
import type { ImportedTree, Store } from "@stemma/store";
import { MAIN, type Workspace } from "./workspace.js";

/** A message with one text part. Without a text it says its own id. */
export function message(id: string, text = `text of ${id}`, role = "user"): SessionMessage {
  return { id, role, parts: [{ type: "text", text }] };
}

/** Appends messages one by one, each below the one before. */
export async function chain(session: Session, ids: readonly string[]): Promise<void> {
  for (const id of ids) await session.appendMessage(message(id));
}

export function idsOf(messages: readonly { id: string }[]): string[] {
  return messages.map(({ id }) => id);
}

/** The ids of the visible history. */
export async function historyIds(session: Session, leafId?: string): Promise<string[]> {
  return idsOf(await session.getHistory(leafId));
}

/** The texts of the visible history: those of summaries stand out among `text of …`. */
export async function historyTexts(session: Session, leafId?: string): Promise<string[]> {
  return (await session.getHistory(leafId)).map(textOf);
}

/** The text parts of a message, joined. */
export function textOf(given: SessionMessage): string {
  return given.parts.map(({ text }) => text ?? "").join("");
}

/** Everything a stream gives. */
export async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

/** `count` ids that sort as they count. */
export function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${String(index).padStart(6, "0")}`);
}

/**
 * A tree with a fork, below `root`:
 *
 *     root ─ a ─ b ─ c        (c is the active leaf's sibling path)
 *            └── d ─ e        (e is the active leaf)
 */
export async function forkedTree(session: Session): Promise<void> {
  await chain(session, ["root", "a", "b", "c"]);
  await session.appendMessage(message("d"), "a");
  await session.appendMessage(message("e"));
}

/** All that the contract shows of the sessions of a store, and of the blocks and entries that cases write. */
export async function snapshot({ store }: Workspace, sessionIds: readonly string[] = [MAIN]): Promise<unknown> {
  const { sessions } = await store.sessions.list({});
  const shown = [];
  for (const id of new Set([...sessions.map((each) => each.id), ...sessionIds, ""])) {
    const known = sessions.some((each) => each.id === id);
    const tree = known ? await store.session(id).tree() : [];
    const messages = [];
    for (const node of tree) messages.push(await store.session(id).message(node.id));
    shown.push({
      id,
      tree,
      messages,
      leaf: known ? await store.session(id).leaf() : null,
      path: known ? (await store.session(id).path()).messages : [],
      compactions: await store.session(id).compactions(),
      skills: await store.session(id).skills(),
      memory: await store.blocks.get({ sessionId: id, kind: "block", label: "memory" }),
      versions: await store.blocks.versions({ sessionId: id, kind: "block", label: "memory" }),
      prompt: await store.blocks.get({ sessionId: id, kind: "prompt", label: "" }),
      facts: await factsOf(store, id),
      records: await store.records.list({ sessionId: id, label: "runs" }),
    });
  }
  const ada = store.forUser("ada");
  const scope = { sessionId: "", scope: "user" } as const;
  const ofAda = {
    memory: await ada.blocks.get({ ...scope, kind: "block", label: "memory" }),
    sky: await ada.entries.get({ ...scope, label: "facts" }, "sky"),
    versions: await ada.blocks.versions({ ...scope, kind: "block", label: "memory" }),
  };
  return { sessions, due: await store.sessions.due(), shown, ofAda };
}

async function factsOf({ entries }: Store, sessionId: string): Promise<unknown> {
  const scope = { sessionId, label: "facts" };
  const known = [];
  for (const key of ["sky", "grass"]) known.push([await entries.get(scope, key), await entries.versions(scope, key)]);
  const all = await entries.list(scope, { includeEnded: true, includeExpired: true });
  return { count: await entries.count(scope), known, all };
}

/** A message of an imported tree. */
export function encoded(id: string, parentId: string | null): ImportedTree["messages"][number] {
  return { message: message(id), parentId };
}

/** A session as an import would bring it. */
export async function importedTree(session: Session, activeLeafId: string): Promise<ImportedTree> {
  const messages = [];
  for (const { id, parentId } of await session.getTree()) {
    messages.push({ message: (await session.getMessage(id)) as SessionMessage, parentId });
  }
  return { messages, compactions: await session.getCompactions(), activeLeafId };
}

/** A manager whose sessions have blocks and entries of each scope. */
export function managerOfScopes({ store }: Workspace): SessionManager {
  return SessionManager.create(store)
    .withContext("memory", { maxTokens: 100 })
    .withContext("mine", { scope: "user" })
    .withContext("facts", { provider: new AgentSearchProvider(store) })
    .withContext("my facts", { provider: new AgentSearchProvider(store, { scope: "user" }) })
    .withCachedPrompt();
}
