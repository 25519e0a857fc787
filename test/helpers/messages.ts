import type { SessionMessage, SessionMessagePart } from "../../packages/model/src/messages/message.js";

/** A message with one text part. Without a text it says its own id. */
export function textMessage<Role extends string = "user">(
  id: string,
  text = `text of ${id}`,
  role: Role | "user" = "user",
) {
  return { id, role, parts: [{ type: "text" as const, text }] };
}

/** A model's message of these parts. */
export function messageOf(...parts: SessionMessagePart[]): SessionMessage {
  return { id: "m", role: "assistant", parts };
}
