import { fromBase64, toBase64 } from "../model/base64.js";
import { isJsonObject, type JsonObject } from "../model/json-object.js";
import type { MemoryScope, Store } from "../storage/contract.js";
import { type KeptItem, readKept } from "../storage/kept-items.js";

/** What is kept beside the messages, as the values of lines: `{ kept }`, the bytes of a record as base64. Errors: `USER_REQUIRED`. */
export async function* keptLines(store: Store, scope: MemoryScope): AsyncGenerator<JsonObject> {
  for await (const item of readKept(store, scope)) {
    if (item.kind !== "record") yield { kept: item };
    else yield { kept: { ...item, record: { ...item.record, value: toBase64(item.record.value) } } };
  }
}

/** The item that a line holds; null for what is none. */
export function readKeptLine(given: unknown): KeptItem | null {
  if (!isJsonObject(given)) return null;
  const { kind, label, key, block, entry, record, versions } = given;
  const isNamed = typeof label === "string";
  const isVersioned = Array.isArray(versions) && versions.every(isVersion);
  if (kind === "prompt") return isBlock(block) ? (given as KeptItem) : null;
  if (kind === "block") return isBlock(block) && isText(block.label) && isVersioned ? (given as KeptItem) : null;
  if (kind === "entry") return isNamed && isEntry(entry) && isVersioned ? (given as KeptItem) : null;
  if (kind === "removed") return isNamed && isText(key) && isVersioned ? (given as KeptItem) : null;
  if (kind !== "record" || !isNamed || !isJsonObject(record) || !isText(record.key) || !isText(record.value))
    return null;
  const bytes = attempt(() => fromBase64(record.value as string));
  return bytes === null || !isVersionNumber(record.version)
    ? null
    : ({ kind, label, record: { ...record, value: bytes } } as KeptItem);
}

const isText = (value: unknown): value is string => typeof value === "string";
const isVersionNumber = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) > 0;

function isBlock(value: unknown): value is JsonObject {
  return isJsonObject(value) && isText(value.content) && isVersionNumber(value.version);
}

function isEntry(value: unknown): boolean {
  return isJsonObject(value) && isText(value.key) && isText(value.content);
}

function isVersion(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { version, content, writtenAt, messageIds } = value;
  const isContent = content === null || isText(content);
  return (
    isVersionNumber(version) && isContent && isText(writtenAt) && Array.isArray(messageIds) && messageIds.every(isText)
  );
}

function attempt<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
