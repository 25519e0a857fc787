import type { SessionMessage, SessionMessagePart } from "@stemma/model";
import { isJsonObject, isTooDeep, type JsonObject, nameOf } from "@stemma/model";
import { type ExportedEntry, parentIdOf, piecesOfTree, readExport } from "../../export/exported-tree.js";
import { findTime } from "../../found.js";
import { without } from "../../origin.js";
import { type Place, SessionBuilder } from "../../session-builder.js";
import { type ImportFormat, type ParsedSession, type Position, TOO_DEEP } from "../../stemma/session-file.js";
import { countUnknown, keptPart, partsOfBlocks, withCallId } from "./claude-content.js";

/** The export of Claude's apps: a list of conversations. Where messages name their parents, edits are branches. */
export const claude: ImportFormat = {
  name: "claude",
  about: "the data export of Claude's apps: its zip file, or conversations.json",
  recognises: (first) => {
    const conversation: unknown = Array.isArray(first) ? first[0] : first;
    return isJsonObject(conversation) && Array.isArray(conversation.chat_messages);
  },
  read: (items, file) => readExport(items, file, "claude", readConversation),
};

function readConversation(conversation: JsonObject, at: Position): Iterable<ParsedSession> | null {
  const { chat_messages: messages, name, current_leaf_message_uuid: leaf } = conversation;
  const id = nameOf(conversation.uuid);
  if (!Array.isArray(messages) || id === undefined) return null;
  const builder = new SessionBuilder({ id, source: "claude" });
  builder.names.give(name);
  builder.model = nameOf(conversation.model);
  builder.describe(isJsonObject(conversation.project) ? projectOf(conversation.project) : null);
  builder.keep({
    key: "conversation",
    source: without(conversation, "chat_messages"),
    at,
    messageId: null,
    kind: null,
  });
  const nodes = nodesOf(messages, builder, at);
  const ids = new Set(nodes.map((node) => node.id));
  const last = nodes.at(-1)?.id;
  return piecesOfTree(builder, nodes, typeof leaf === "string" && ids.has(leaf) ? leaf : last, (node, above, length) =>
    addMessage(builder, node, above, length),
  );
}

function projectOf({ name }: JsonObject): JsonObject | null {
  const project = nameOf(name);
  return project === undefined ? null : { project };
}

function nodesOf(messages: readonly unknown[], builder: SessionBuilder, at: Position): ExportedEntry[] {
  const nodes: ExportedEntry[] = [];
  for (const [index, message] of messages.entries()) {
    const place = { ...at, path: `${at.path ?? "$"}.chat_messages[${index}]` };
    if (isTooDeep(message)) builder.skip(place, TOO_DEEP);
    else if (!isJsonObject(message) || typeof message.uuid !== "string") builder.skip(place, "not a message: no uuid");
    else {
      const { uuid: id, parent_message_uuid: parent } = message;
      const parentId = parent === undefined ? (nodes.at(-1)?.id ?? null) : parentIdOf(parent);
      nodes.push({ id, parentId, source: message, at: place });
    }
  }
  return nodes;
}

function addMessage(builder: SessionBuilder, { id, source, at }: ExportedEntry, above: Place, length: number): Place {
  const parts = partsOf(source);
  const createdAt = findTime(source.created_at);
  const role = source.sender === "human" ? "user" : "assistant";
  const read: SessionMessage = { id, role, parts, ...(createdAt === undefined ? {} : { createdAt }) };
  const place = builder.addMessage(read, above, at, length);
  const kind = countUnknown(parts) > 0 ? "content block" : null;
  builder.keep({ key: id, source: without(source, "content", "text"), at, messageId: place.id, kind });
  return place;
}

function partsOf(message: JsonObject): SessionMessagePart[] {
  const { uuid, text, attachments } = message;
  const content = Array.isArray(message.content)
    ? message.content.map((block, index) => withCallId(block, `${uuid}-${index}`))
    : message.content;
  if (content === undefined && text === undefined && attachments === undefined) return [keptPart(message)];
  const parts: SessionMessagePart[] = partsOfBlocks(content);
  if (parts.length === 0) parts.push(...partsOfBlocks(text));
  for (const attachment of Array.isArray(attachments) ? attachments : []) {
    if (!isJsonObject(attachment) || typeof attachment.extracted_content !== "string") {
      parts.push(keptPart(attachment));
      continue;
    }
    const { file_name: name, extracted_content: extracted } = attachment;
    parts.push({ type: "text", text: `${typeof name === "string" && name !== "" ? `${name}:\n` : ""}${extracted}` });
  }
  return parts;
}
