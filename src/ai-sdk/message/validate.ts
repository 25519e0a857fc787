import { safeValidateUIMessages, type UIMessage } from "ai";
import { isJsonObject } from "../../model/json-object.js";

/** The message as the AI SDK takes it, without the parts that it does not know; null when nothing is left of it. */
export async function validMessage(message: unknown): Promise<UIMessage | null> {
  const given = message as UIMessage;
  if (!isJsonObject(given) || !Array.isArray(given.parts)) return null;
  if (await isValid(given)) return given;
  const parts: UIMessage["parts"] = [];
  for (const part of given.parts) if (await isValid({ ...given, parts: [part] })) parts.push(part);
  const mended = { ...given, parts };
  return parts.length > 0 && (await isValid(mended)) ? mended : null;
}

/** The messages that a model can be shown: of a broken one the parts that are whole, or nothing. */
export async function validMessages(messages: readonly unknown[]): Promise<UIMessage[]> {
  const valid: UIMessage[] = [];
  for (const message of messages) {
    const whole = await validMessage(message);
    if (whole !== null) valid.push(whole);
  }
  return valid;
}

async function isValid(message: UIMessage): Promise<boolean> {
  // Checking gives defaults to the parts in place.
  return (await safeValidateUIMessages({ messages: [{ ...message, parts: [...message.parts] }] })).success;
}
