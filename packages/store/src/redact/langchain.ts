import { isJsonObject, type JsonObject } from "@stemma/model";
import type { RedactWhere } from "../contract/store.js";
import { type IsIdentifier, type RedactText, redactJson } from "./json.js";

const NAMES: ReadonlySet<string | number | undefined> = new Set([
  "id",
  "ts",
  "channel_versions",
  "versions_seen",
  "source",
  "parents",
  "thread_id",
  "run_id",
  "checkpoint_id",
  "checkpoint_ns",
]);
const MESSAGE: ReadonlySet<string | number | undefined> = new Set(["id", "type", "tool_call_id", "status"]);
const CALL: ReadonlySet<string | number | undefined> = new Set(["id", "type", "name"]);
const CALLS: ReadonlySet<string> = new Set(["tool_calls", "invalid_tool_calls", "tool_call_chunks"]);

/**
 * A value as LangChain's serializer writes it, with its strings redacted but for the names of classes and the ids of
 * messages and calls; the value itself where nothing changed. `isCheckpoint`: it is a checkpoint without its channels, or its
 * metadata.
 */
export function redactLangChain<T>(value: T, where: RedactWhere, text: RedactText, isCheckpoint = false): T {
  return redactAt(value, where, text, isCheckpoint ? ([field]) => NAMES.has(field) : none) as T;
}

function redactAt(value: unknown, where: RedactWhere, text: RedactText, isIdentifier: IsIdentifier): unknown {
  if (!mayHoldObjects(value)) return redactJson(value, where, text, isIdentifier);
  if (Array.isArray(value)) return changed(value, (item, index) => redactAt(item, below(where, index), text, none));
  const { kwargs } = value;
  if (value.lc === 1 && value.type === "constructor" && isJsonObject(kwargs)) {
    const made = changed(kwargs, (item, key) => {
      if (MESSAGE.has(key)) return item;
      const isOfCall: IsIdentifier = CALLS.has(key) ? ([, field]) => CALL.has(field) : none;
      return isOfCall === none
        ? redactAt(item, below(where, "kwargs", key), text, none)
        : redactJson(item, below(where, "kwargs", key), text, isOfCall);
    });
    return made === kwargs ? value : { ...value, kwargs: made };
  }
  // A value of a class, as a Set, with the arguments that make it again.
  if (value.lc === 2 && value.type === "constructor") {
    return changed(value, (item, key) => (key === "args" ? redactAt(item, below(where, key), text, none) : item));
  }
  return changed(value, (item, key) =>
    isIdentifier([key], "") ? item : redactAt(item, below(where, key), text, none),
  );
}

const none: IsIdentifier = () => false;

function mayHoldObjects(value: unknown): value is JsonObject | unknown[] {
  return typeof value === "object" && value !== null;
}

function below(where: RedactWhere, ...keys: (string | number)[]): RedactWhere {
  return { ...where, path: [...(where.path ?? []), ...keys] };
}

// The same object where no field changed.
function changed<T extends JsonObject | unknown[]>(value: T, change: (item: unknown, key: never) => unknown): T {
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  const made = entries.map(([key, item]) => [key, change(item, key as never)] as const);
  if (made.every(([, item], index) => item === entries[index]?.[1])) return value;
  return (Array.isArray(value) ? made.map(([, item]) => item) : Object.fromEntries(made)) as T;
}
