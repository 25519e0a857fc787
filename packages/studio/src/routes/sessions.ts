import { findExportFormat } from "@stemma/formats";
import { noMessage, packageVersion, type SessionMessage, StemmaError } from "@stemma/model";
import type { SessionInfo, SessionStore, Store } from "@stemma/store";
import type { ChangeView, SessionList, SessionRow, SessionView, StudioInfo, StudioWrites } from "../api.js";
import { respond } from "../http/failure.js";
import { read, type StudioCall, type StudioRoute, sessionOf, write } from "../route.js";

const USUAL_SESSIONS = 50;
const MOST_SESSIONS = 200;
const MOST_CHILDREN = 100;

export const sessionRoutes = [
  read("info", info),
  read("sessions", sessions),
  read("session", session),
  read("change", async (call): Promise<ChangeView> => {
    const { id } = await sessionOf(call);
    return { change: await call.store.session(id).change() };
  }),
];

async function info({ store, canWrite, hasManager }: StudioCall): Promise<StudioInfo> {
  return {
    store: store.name,
    sessions: await store.sessions.count(),
    canWrite,
    canSearch: store.capabilities.search,
    hasManager,
    version: packageVersion,
  };
}

async function sessions({ store, fields }: StudioCall): Promise<SessionList> {
  const order = fields.oneOf("order", ["change", "tokens", "cost", "messages"]);
  const page = await store.sessions.list({
    userId: fields.optionalText("user"),
    idPrefix: fields.optionalText("prefix"),
    nameContains: fields.optionalText("name"),
    orderBy: order,
    cursor: fields.optionalText("cursor"),
    limit: fields.limit(USUAL_SESSIONS, MOST_SESSIONS),
  });
  return {
    sessions: await Promise.all(page.sessions.map((each) => rowOf(store, each, order === "messages"))),
    nextCursor: page.nextCursor,
  };
}

async function session(call: StudioCall): Promise<SessionView> {
  const { store } = call;
  const info = await sessionOf(call);
  const stored = store.session(info.id);
  const [row, leaf, count, compactions, children, skills, change] = await Promise.all([
    rowOf(store, info),
    stored.leaf(),
    stored.count(),
    stored.compactions(),
    store.sessions.list({ parentSessionId: info.id, limit: MOST_CHILDREN }),
    stored.skills(),
    stored.change(),
  ]);
  return {
    session: row,
    leafId: leaf?.id ?? null,
    stored: count,
    compactions,
    children: children.sessions.map(({ id, name }) => ({ id, name })),
    skills: { loaded: skills.loaded.map(nameOf), unloaded: skills.unloaded.map(nameOf) },
    change,
  };
}

async function rowOf(store: Store, info: SessionInfo, onAllBranches = false): Promise<SessionRow> {
  const stored = store.session(info.id);
  const [messages, tokens] = await Promise.all([onAllBranches ? stored.count() : stored.length(), stored.tokens()]);
  return { ...info, messages, tokens };
}

const nameOf = ({ label, key }: { label: string; key: string }) => ({ label, key });

const NODES_AT_ONCE = 1000;

export const sessionWriteRoutes = [
  onSession("rename", ({ manager, fields }, id) => done(manager.rename(id, fields.text("name")))),
  onSession("select", ({ manager, fields }, id) => done(manager.selectBranch(id, fields.text("messageId")))),
  onSession("fork", async ({ manager, fields }, id) => {
    const fork = await manager.fork(id, fields.text("messageId"), fields.text("name"));
    return { id: fork.id };
  }),
  onSession("compact", compact),
  onSession("uncompact", ({ manager, fields }, id) => done(manager.removeCompaction(id, fields.text("compactionId")))),
  onSession("edit", edit),
  onSession("delete-messages", ({ manager, fields }, id) =>
    done(manager.deleteMessages(id, fields.texts("messageIds"))),
  ),
  onSession("delete-branch", deleteBranch),
  onSession("delete-session", ({ manager }, id) => done(manager.delete(id))),
];

/** A route that writes to the registered session that the field `id` names. */
function onSession(name: keyof StudioWrites, answer: (call: StudioCall, id: string) => Promise<object>): StudioRoute {
  return write(name, async (call) => answer(call, (await sessionOf(call)).id));
}

async function done(work: Promise<unknown>): Promise<object> {
  await work;
  return {};
}

async function compact({ hasManager, manager }: StudioCall, id: string): Promise<{ compacted: boolean }> {
  if (hasManager) return { compacted: (await manager.getSession(id).compact()) !== null };
  const message = "This studio cannot compact: it was opened on a store, without the program's manager.";
  throw new StemmaError("COMPACTION_NOT_CONFIGURED", { id }, message);
}

async function edit({ store, manager, fields }: StudioCall, id: string): Promise<{ id: string }> {
  const session = store.session(id);
  const messageId = fields.text("messageId");
  const message = await session.message(messageId);
  if (message === null) throw noMessage(session.id, messageId);
  const edited = withText(message, fields.text("text"));
  await manager.editMessage(session.id, messageId, edited);
  return { id: edited.id };
}

// Files stay with the text; what the model thought and which tools it called belong to the text that was there.
function withText({ role, parts, metadata }: SessionMessage, text: string): SessionMessage {
  const files = parts.filter(({ type }) => type === "file");
  return {
    id: crypto.randomUUID(),
    role,
    parts: [...files, { type: "text", text }],
    ...(metadata === undefined ? {} : { metadata }),
  };
}

async function deleteBranch({ store, manager, fields }: StudioCall, id: string): Promise<{ deleted: number }> {
  const ids = await branchFrom(store.session(id), fields.text("messageId"));
  await manager.deleteMessages(id, ids);
  return { deleted: ids.length };
}

// Whatever lies below a message was written behind it: nothing older is read.
async function branchFrom(session: SessionStore, messageId: string): Promise<string[]> {
  const newer: { id: string; parentId: string | null }[] = [];
  let after: string | undefined;
  do {
    const page = await session.treePage({ after, limit: NODES_AT_ONCE });
    const end = page.nodes.findIndex((node) => node.id === messageId);
    newer.push(...(end === -1 ? page.nodes : page.nodes.slice(0, end)));
    if (end !== -1) return descendants(messageId, newer.reverse());
    after = page.next ?? undefined;
  } while (after !== undefined);
  throw noMessage(session.id, messageId);
}

function descendants(root: string, oldestFirst: readonly { id: string; parentId: string | null }[]): string[] {
  const found = new Set([root]);
  for (const { id, parentId } of oldestFirst) if (parentId !== null && found.has(parentId)) found.add(id);
  return [...found];
}

/** Formats by name, with the ending of the file and its content type. */
const FILES = {
  jsonl: { ending: "jsonl", type: "application/jsonl; charset=utf-8" },
  markdown: { ending: "md", type: "text/markdown; charset=utf-8" },
  html: { ending: "html", type: "text/html; charset=utf-8" },
} as const;

export const exportRoutes = [read("export", exportSession)];

async function exportSession(call: StudioCall): Promise<Response> {
  const info = await sessionOf(call);
  const format = call.fields.oneOf("format", ["jsonl", "markdown", "html"]);
  const { ending, type } = FILES[format];
  const name =
    info.id
      .replace(/[^\w.-]+/g, "-")
      .replace(/^\.+/, "")
      .slice(0, 80) || "session";
  return respond(textStream(findExportFormat(format).write(call.store, info)), {
    headers: {
      "content-type": type,
      "content-disposition": `attachment; filename="${name}.${ending}"`,
      "x-accel-buffering": "no",
    },
  });
}

/** Reads on as the receiver takes more, and stops where it leaves. */
function textStream(pieces: AsyncIterable<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const iterator = pieces[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
