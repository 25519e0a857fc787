import { quote, StemmaError } from "../errors.js";
import { findJson, isJsonObject } from "../model/json-object.js";
import type { SessionMessage } from "../model/message.js";
import type { LearnEdit } from "./edits.js";

/**
 * The edits in what a model answered to `buildLearnPrompt`: its JSON array, whatever stands around it. An edit that is none, or
 * that names a message there is not, is left out. Errors: `LEARNING_FAILED` where there is no array.
 */
export function parseEdits(answer: string, messages: readonly SessionMessage[]): LearnEdit[] {
  return arrayIn(answer).flatMap((item) => editOf(item, messages) ?? []);
}

const ACTIONS: readonly unknown[] = ["add", "replace", "remove"] satisfies LearnEdit["action"][];

function editOf(item: unknown, messages: readonly SessionMessage[]): LearnEdit | null {
  if (!isJsonObject(item)) return null;
  const { action, label, key, old, content } = item;
  if (!ACTIONS.includes(action) || typeof label !== "string" || !isText(key) || !isText(old)) return null;
  if (!isText(content) && !isJsonObject(content)) return null;
  const ids = [item.messages].flat().map((number) => messages[Number(number) - 1]?.id);
  if (ids.some((id) => id === undefined)) return null;
  return {
    action: action as LearnEdit["action"],
    label,
    ...(key != null && { key }),
    ...(old != null && { old }),
    ...(content != null && { content }),
    messageIds: ids as string[],
  };
}

/** True for a text, and for none. */
function isText(value: unknown): value is string | null | undefined {
  return value == null || typeof value === "string";
}

// Models put it between fences, or words.
function arrayIn(answer: string): unknown[] {
  const end = answer.lastIndexOf("]");
  let tries = 0;
  for (let start = answer.indexOf("["); start >= 0 && start < end; start = answer.indexOf("[", start + 1)) {
    const value = findJson(answer.slice(start, end + 1));
    // Otherwise it may begin further on.
    if (Array.isArray(value)) return value;
    tries += 1;
    if (tries === MAX_TRIES) break;
  }
  throw new StemmaError("LEARNING_FAILED", {}, `The answer has no JSON array of edits: ${quote(answer)}.`);
}

/** How many brackets may stand before the array: from each the rest of the answer is read. */
const MAX_TRIES = 50;
