import type { SessionMessagePart } from "@stemma/model";
import { isJsonObject, type JsonObject, nameOf } from "@stemma/model";
import { without } from "../../origin.js";
import type { Place, SessionBuilder } from "../../session-builder.js";
import { findTime } from "../../stemma/session-file.js";
import { type ExportedEntry, exportFormat, messagesOf } from "../exported-tree.js";
import { countUnknown, partsOfBlocks, rawPart, withCallId } from "./claude-content.js";

/** The export of Claude's apps: a list of conversations. Where messages name their parents, edits are branches. */
export const claude = exportFormat({
  name: "claude",
  about: "the data export of Claude's apps: its zip file, or conversations.json",
  recognises: (first) => {
    const conversation: unknown = Array.isArray(first) ? first[0] : first;
    return isJsonObject(conversation) && Array.isArray(conversation.chat_messages);
  },
  open(conversation) {
    const { uuid, chat_messages: messages, name, model, project, current_leaf_message_uuid: leaf } = conversation;
    if (!Array.isArray(messages)) return null;
    const projectName = isJsonObject(project) ? nameOf(project.name) : undefined;
    return {
      id: nameOf(uuid),
      title: name,
      model,
      metadata: projectName === undefined ? null : { project: projectName },
      rest: without(conversation, "chat_messages"),
      messages: messagesOf<unknown>(messages, (source, index) => {
        const { uuid: id, parent_message_uuid: parent }: JsonObject = isJsonObject(source) ? source : {};
        return { id, parent, source, path: `.chat_messages[${index}]` };
      }),
      leaf: (ids) => (typeof leaf === "string" && ids.includes(leaf) ? leaf : ids.at(-1)),
    };
  },
  noMessage: "not a message: no uuid",
  add: addMessage,
});

function addMessage(builder: SessionBuilder, { id, source, at }: ExportedEntry, above: Place, length: number): Place {
  const parts = partsOf(source);
  const role = source.sender === "human" ? "user" : "assistant";
  const place = builder.addMessage({ id, role, parts, createdAt: findTime(source.created_at) }, above, at, length);
  const kind = countUnknown(parts) > 0 ? "content block" : null;
  builder.keep(id, without(source, "content", "text"), at, id, kind);
  return place;
}

function partsOf(message: JsonObject): SessionMessagePart[] {
  const { uuid, text, attachments } = message;
  const content = Array.isArray(message.content)
    ? message.content.map((block, index) => withCallId(block, `${uuid}-${index}`))
    : message.content;
  if (content === undefined && text === undefined && attachments === undefined) return [rawPart(message)];
  const parts: SessionMessagePart[] = partsOfBlocks(content);
  if (parts.length === 0) parts.push(...partsOfBlocks(text));
  for (const attachment of Array.isArray(attachments) ? attachments : []) {
    if (!isJsonObject(attachment) || typeof attachment.extracted_content !== "string") {
      parts.push(rawPart(attachment));
      continue;
    }
    const { file_name: name, extracted_content: extracted } = attachment;
    parts.push({ type: "text", text: `${typeof name === "string" && name !== "" ? `${name}:\n` : ""}${extracted}` });
  }
  return parts;
}
