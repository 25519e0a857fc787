import type { Pieces, SessionMessagePart } from "@stemma/model";
import { isJsonObject, nameOf } from "@stemma/model";
import type { Conversation } from "../../conversations.js";
import { deriveId, deriveSessionId, findName } from "../../identity.js";
import { addSource, SessionBuilder } from "../../session-builder.js";
import type { FileInfo, ParsedSession } from "../../stemma/session-file.js";
import { rawPart } from "../../unread.js";
import { outputOfResponse, partList, partOfGemini, responseOf } from "./gemini.js";

const ROLES: Readonly<Record<string, string>> = {
  user: "user",
  model: "assistant",
  function: "assistant",
  system: "system",
};

/** Reads the contents of a request to Gemini's interface: `{ role, parts }`. A response goes into the part of its call. */
export function* readGeminiContents(conversation: Conversation, file: FileInfo, number: number): Pieces<ParsedSession> {
  const { messages, record, skipped } = conversation;
  const values = messages.map(({ value }) => value);
  const builder = new SessionBuilder({ id: deriveSessionId(record, file, number, values), source: "gemini" });
  for (const { why, ...at } of skipped) builder.skip(at, why);
  builder.names.give(findName(record));
  builder.model = nameOf(record?.model);
  /** Calls without a result, by name. */
  const waiting = new Map<string, string[]>();
  const instruction = record?.systemInstruction ?? record?.system_instruction;
  const system = { role: "system", parts: isJsonObject(instruction) ? instruction.parts : instruction };
  const [first] = messages;
  const all =
    instruction === undefined || first === undefined ? messages : [{ value: system, at: first.at }, ...messages];
  for (const [n, { value, at }] of all.entries()) {
    yield;
    const id = deriveId(builder.start.id, `${builder.last.id}/${n}`, value);
    const { length } = JSON.stringify(value);
    const parts: SessionMessagePart[] = value.parts === undefined ? [rawPart(value)] : [];
    let taken = 0;
    for (const [index, part] of partList(value.parts).entries()) {
      const response = responseOf(part);
      const callId = response === null ? null : (response.id ?? waiting.get(String(response.name))?.shift());
      const caller =
        response === null ? null : builder.messages.answer(callId, outputOfResponse(response.response), length);
      if (caller !== null) {
        addSource(caller, "imported", id);
        taken += 1;
        continue;
      }
      const read = response === null ? partOfGemini(part, `${id}-${index}`) : rawPart(part);
      parts.push(read);
      if (read.type !== "dynamic-tool") continue;
      const calls = waiting.get(String(read.toolName));
      if (calls === undefined) waiting.set(String(read.toolName), [String(read.toolCallId)]);
      else calls.push(String(read.toolCallId));
    }
    if (taken > 0 && parts.length === 0) continue;
    const role = ROLES[String(value.role)] ?? "assistant";
    builder.addMessage({ id, role, parts, metadata: { imported: { sources: [id] } } }, builder.last, at, length);
  }
  return builder.piece(true);
}
