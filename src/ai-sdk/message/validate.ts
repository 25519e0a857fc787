import type { UIMessage } from "ai";
import { inTurns, mapped } from "../../event-loop.js";
import { isJsonObject } from "../../model/json-object.js";
import { isPart } from "./part-shapes.js";

/** The roles that the AI SDK knows. */
const ROLES: readonly unknown[] = ["system", "user", "assistant"];

/** The message as the AI SDK takes it, without the parts that it does not know; null when nothing is left of it. */
export function validMessage(message: unknown): UIMessage | null {
  if (!isJsonObject(message) || typeof message.id !== "string" || !ROLES.includes(message.role)) return null;
  if (!Array.isArray(message.parts)) return null;
  const parts = message.parts.filter(isPart);
  const isWhole = parts.length === message.parts.length;
  // An answer may be empty.
  if (parts.length === 0 && !(isWhole && message.role === "assistant")) return null;
  return (isWhole ? message : { ...message, parts }) as unknown as UIMessage;
}

/** The messages that a model can be shown: of a broken one the parts that are whole, or nothing. Lets the event loop turn meanwhile. */
export async function validMessages(messages: readonly unknown[]): Promise<UIMessage[]> {
  const read = await inTurns(mapped(messages, validMessage));
  return read.filter((message) => message !== null);
}
