import { StemmaError } from "../../errors.js";
import type { SessionMessage } from "../../model/message.js";
import { noMessage } from "../../model/tree-errors.js";
import type { SessionStore } from "../../storage/contract.js";
import { type StudioCall, sessionOf, write } from "../route.js";

const NODES_AT_ONCE = 1000;

/** What is written to a session: its name, its branches, its messages, its summaries. */
export const sessionWriteRoutes = [
  write("rename", async (call) => {
    const { manager, fields } = call;
    await manager.rename((await sessionOf(call)).id, fields.text("name"));
    return {};
  }),
  write("select", async (call) => {
    const { manager, fields } = call;
    await manager.selectBranch((await sessionOf(call)).id, fields.text("messageId"));
    return {};
  }),
  write("fork", async (call) => {
    const { manager, fields } = call;
    const { id } = await sessionOf(call);
    const fork = await manager.fork(id, fields.text("messageId"), fields.text("name"));
    return { id: fork.id };
  }),
  write("compact", compact),
  write("uncompact", async (call) => {
    const { manager, fields } = call;
    await manager.removeCompaction((await sessionOf(call)).id, fields.text("compactionId"));
    return {};
  }),
  write("edit", edit),
  write("delete-messages", async (call) => {
    const { manager, fields } = call;
    await manager.deleteMessages((await sessionOf(call)).id, fields.texts("messageIds"));
    return {};
  }),
  write("delete-branch", deleteBranch),
  write("delete-session", async (call) => {
    await call.manager.delete((await sessionOf(call)).id);
    return {};
  }),
];

async function compact(call: StudioCall): Promise<{ compacted: boolean }> {
  const { id } = await sessionOf(call);
  if (call.hasManager) return { compacted: (await call.manager.getSession(id).compact()) !== null };
  const message = "This studio cannot compact: it was opened on a store, without the program's manager.";
  throw new StemmaError("COMPACTION_NOT_CONFIGURED", { id }, message);
}

async function edit(call: StudioCall): Promise<{ id: string }> {
  const { store, manager, fields } = call;
  const session = store.session((await sessionOf(call)).id);
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

async function deleteBranch(call: StudioCall): Promise<{ deleted: number }> {
  const { store, manager, fields } = call;
  const { id } = await sessionOf(call);
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
