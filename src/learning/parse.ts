import { z } from "zod";
import { quote, StemmaError } from "../errors.js";
import { findJson } from "../model/json-object.js";
import type { SessionMessage } from "../model/message.js";
import type { LearnEdit } from "./edits.js";

const EDIT = z.object({
  action: z.enum(["add", "replace", "remove"]),
  label: z.string(),
  key: z.string().nullish(),
  old: z.string().nullish(),
  content: z.union([z.string(), z.record(z.string(), z.unknown())]).nullish(),
  messages: z.union([z.array(z.coerce.number()), z.coerce.number()]),
});

/**
 * The edits in what a model answered to `buildLearnPrompt`: its JSON array, whatever stands around it. An edit that is none, or
 * that names a message there is not, is left out. Errors: `LEARNING_FAILED` where there is no array.
 */
export function parseEdits(answer: string, messages: readonly SessionMessage[]): LearnEdit[] {
  return arrayIn(answer).flatMap((item): LearnEdit[] => {
    const { success, data } = EDIT.safeParse(item);
    if (!success) return [];
    const ids = [data.messages].flat().map((number) => messages[number - 1]?.id);
    if (ids.some((id) => id === undefined)) return [];
    const { action, label } = data;
    return [
      {
        action,
        label,
        ...(data.key != null && { key: data.key }),
        ...(data.old != null && { old: data.old }),
        ...(data.content != null && { content: data.content }),
        messageIds: ids as string[],
      },
    ];
  });
}

// Models put it between fences, or words.
function arrayIn(answer: string): unknown[] {
  const end = answer.lastIndexOf("]");
  for (let start = answer.indexOf("["); start >= 0 && start < end; start = answer.indexOf("[", start + 1)) {
    const value = findJson(answer.slice(start, end + 1));
    // Otherwise it may begin further on.
    if (Array.isArray(value)) return value;
    if (start > MAX_PREAMBLE) break;
  }
  throw new StemmaError("LEARNING_FAILED", {}, `The answer has no JSON array of edits: ${quote(answer)}.`);
}

/** How many characters may stand before the array. */
const MAX_PREAMBLE = 10_000;
