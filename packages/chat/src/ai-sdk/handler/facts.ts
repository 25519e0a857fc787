import { assertBudget, assertStorableText, invalid, StemmaError } from "@stemma/model";
import { type SessionManager, type UserEntries, userEntriesOf } from "@stemma/session";
import {
  type EntryFact,
  type EntryFields,
  EVERY,
  fieldsOf,
  holdsAt,
  type ListedEntry,
  type StoredVersion,
} from "@stemma/store";
import { type ChatBlockVersion, limitOf, withMessages } from "./chats.js";

/** A fact that is remembered of the user, or of a scope that a block of the user's also has. Times are ISO text. */
export interface ChatFact extends EntryFact {
  /** The block's label. */
  readonly label: string;
  /** The name of the scope that it is in: `user`, or of a block with several scopes one of theirs. */
  readonly scope: string;
  /** False for a fact that the user may only read. */
  readonly writable: boolean;
  readonly key: string;
  readonly content: string;
  /** False for a fact that has ended, or only begins. */
  readonly holds: boolean;
  /** Keys of the facts that took its place. */
  readonly supersededBy: readonly string[];
  readonly createdAt: string;
  readonly updatedAt: string;
  /** The user's message that it was last learned or noted from; null where there is none, or it is gone. */
  readonly message: ChatBlockVersion["message"];
}

/** The answer to `GET /memory`: by label in the order of the blocks, then by scope in theirs, then by key. */
export interface ChatFacts {
  /** Ended facts are among them, expired ones are not. */
  readonly facts: ChatFact[];
  /** Pass it as `cursor` to get the next page; null after the last. */
  readonly nextCursor: string | null;
}

/** A fact as it was after one write. */
export interface ChatFactVersion extends Omit<ChatBlockVersion, "content">, EntryFact {
  /** Null where the write forgot it. */
  readonly content: string | null;
}

/** The answer to `GET /memory/fact` and `PATCH /memory/fact`. */
export interface ChatFactHistory {
  /** Null for one that was forgotten. */
  readonly fact: ChatFact | null;
  /** Those that are kept, the newest first, the present one among them. */
  readonly versions: ChatFactVersion[];
}

/** The answer to `GET /memory/export`: all facts of the user's own, expired ones too, without their messages. */
export interface ChatFactExport {
  readonly facts: (Omit<ChatFact, "message"> & { readonly versions: StoredVersion[] })[];
}

/** The most facts of a page: each is looked up in its history. */
const MAX_PAGE = 100;

/** Errors: `INVALID_ARGUMENT`. */
export async function listFacts(manager: SessionManager, url: URL): Promise<ChatFacts> {
  const limit = Math.min(limitOf(url.searchParams), MAX_PAGE);
  const blocks = blocksOf(manager);
  const [label, name, key] = cursorOf(url.searchParams.get("cursor"));
  const start = label === undefined ? 0 : blocks.findIndex((block) => block.label === label && block.name === name);
  if (start < 0) throw invalid("cursor is the nextCursor of a page.");
  const found: { block: UserEntries; entry: ListedEntry }[] = [];
  for (const [index, block] of blocks.slice(start).entries()) {
    const page = { includeEnded: true, after: index === 0 ? key : undefined, limit: limit + 1 - found.length };
    for (const entry of await block.store.entries.list(block.scope, page)) found.push({ block, entry });
    if (found.length > limit) break;
  }
  const shown = found.slice(0, limit);
  const last = found.length > limit ? shown.at(-1) : undefined;
  return {
    facts: await Promise.all(shown.map(({ block, entry }) => withMessage(manager, block, entry))),
    nextCursor: last === undefined ? null : JSON.stringify([last.block.label, last.block.name, last.entry.key]),
  };
}

/** A fact with its versions; null for one that is not there and never was. Errors: `INVALID_ARGUMENT`. */
export async function readFact(manager: SessionManager, url: URL): Promise<ChatFactHistory | null> {
  const place = placeOf(manager, url);
  return place && historyOf(manager, place);
}

/**
 * Changes what a fact says, or writes an earlier version anew (`version`); null where there is no such fact or version.
 * Errors: `ENTRY_CONFLICT`, `BLOCK_READONLY`, `BLOCK_OVER_BUDGET`, `INVALID_ARGUMENT`, `INVALID_TEXT`.
 */
export async function changeFact(
  manager: SessionManager,
  url: URL,
  body: Readonly<Record<string, unknown>>,
): Promise<ChatFactHistory | null> {
  const change = readChange(body);
  const place = placeOf(manager, url);
  if (place === null) return null;
  const { block, key } = place;
  assertWritable(block);
  const { entries } = block.store;
  const { expectedContent, version, content: given, ...fields } = change;
  const before = await entries.get(block.scope, key);
  let written: EntryFields & { content: string };
  if (version !== undefined) {
    const kept = (await entries.versions(block.scope, key)).find((each) => each.version === version);
    if (kept === undefined || kept.content === null) return null;
    written = { ...fieldsOf(kept), content: kept.content };
  } else {
    if (before === null) return null;
    written = { ...fields, content: given ?? before.content, origin: "user" };
  }
  assertStorableText(written.content, "content");
  assertBudget(block.label, written.content, block.maxTokens);
  await entries.set(
    block.scope,
    { ...written, key },
    // Whoever changes a fact changes the one that was just read: it may have been forgotten since.
    { ...noted(block), expectedContent: expectedContent ?? before?.content ?? null },
  );
  return historyOf(manager, place);
}

/** Removes a fact, of which versions stay. False where there is none. Errors: `BLOCK_READONLY`, `INVALID_ARGUMENT`. */
export async function forgetFact(manager: SessionManager, url: URL): Promise<boolean> {
  const place = placeOf(manager, url);
  if (place === null) return false;
  const { block, key } = place;
  assertWritable(block);
  if ((await block.store.entries.get(block.scope, key)) === null) return false;
  await block.store.entries.delete(block.scope, key, noted(block));
  return true;
}

/** Reads all facts of the user with their versions. */
export async function exportFacts(manager: SessionManager): Promise<ChatFactExport> {
  const facts: ChatFactExport["facts"] = [];
  for (const block of blocksOf(manager)) {
    if (block.scope.scope !== "user") continue;
    const { entries } = block.store;
    for (let after: string | undefined; ; ) {
      const page = await entries.list(block.scope, { ...EVERY, after, limit: MAX_PAGE });
      const versions = await Promise.all(page.map(({ key }) => entries.versions(block.scope, key)));
      facts.push(...page.map((entry, index) => ({ ...told(block, entry), versions: versions[index] ?? [] })));
      if (page.length < MAX_PAGE) break;
      after = page.at(-1)?.key;
    }
  }
  return { facts };
}

interface Place {
  readonly block: UserEntries;
  readonly key: string;
}

// Facts are the user's in every chat, so any session tells where they are; this one is not registered.
function blocksOf(manager: SessionManager): UserEntries[] {
  const blocks = userEntriesOf(manager.getSession(crypto.randomUUID()));
  return blocks.map((block) => ({ ...block, scope: { ...block.scope, sessionId: "" } }));
}

function placeOf(manager: SessionManager, { searchParams }: URL): Place | null {
  const [label, key, name] = ["label", "key", "scope"].map((field) => searchParams.get(field));
  if (!label || !key) throw invalid("The address names a fact: ?label=…&key=….");
  const block = blocksOf(manager).find(
    (each) => each.label === label && (name == null ? each.scope.scope === "user" : each.name === name),
  );
  return block === undefined ? null : { block, key };
}

// Errors: `BLOCK_READONLY`.
function assertWritable({ label, name, writable }: UserEntries): void {
  if (writable) return;
  const message = `The scope "${name}" of "${label}" is read-only for you: nothing was changed.`;
  throw new StemmaError("BLOCK_READONLY", { label, scope: name }, message);
}

function cursorOf(cursor: string | null): [label?: string, scope?: string, key?: string] {
  if (cursor === null) return [];
  try {
    const given = JSON.parse(cursor);
    if (Array.isArray(given) && given.length === 3 && given.every((each) => typeof each === "string")) {
      return given as [string, string, string];
    }
  } catch {
    // Told below.
  }
  throw invalid("cursor is the nextCursor of a page.");
}

async function historyOf(manager: SessionManager, { block, key }: Place): Promise<ChatFactHistory | null> {
  const { entries } = block.store;
  const [entry, versions] = await Promise.all([entries.get(block.scope, key), entries.versions(block.scope, key)]);
  if (entry === null && versions.length === 0) return null;
  const shown = await withMessages(manager, versions);
  const message = shown.find((each) => each.message !== null)?.message ?? null;
  return {
    fact: entry && { ...told(block, entry), message },
    versions: shown.map((version, index) => {
      const kept = versions[index] as StoredVersion;
      return { ...version, ...(fieldsOf(kept) as EntryFact), content: kept.content };
    }),
  };
}

async function withMessage(manager: SessionManager, block: UserEntries, entry: ListedEntry): Promise<ChatFact> {
  const versions = await block.store.entries.versions(block.scope, entry.key);
  const said = versions.find(({ messageIds }) => messageIds.length > 0);
  const [shown] = said === undefined ? [] : await withMessages(manager, [said]);
  return { ...told(block, entry), message: shown?.message ?? null };
}

// The value is the program's own.
function told(block: UserEntries, entry: ListedEntry): Omit<ChatFact, "message"> {
  const { key, content, validFrom, validTo, expiresAt, supersedes, supersededBy, tags, origin } = entry;
  const { createdAt, updatedAt } = entry;
  const times = { validFrom, validTo, expiresAt, createdAt, updatedAt };
  const { label, name: scope, writable } = block;
  return {
    label,
    scope,
    writable,
    key,
    content,
    holds: holdsAt(entry),
    ...times,
    supersedes,
    supersededBy,
    tags,
    origin,
  };
}

function noted({ keepVersions }: UserEntries) {
  const origin = { author: "program" } as const;
  return keepVersions === undefined ? { origin } : { origin, keepVersions };
}

interface Change extends Pick<EntryFields, "validFrom" | "validTo" | "tags"> {
  readonly content?: string;
  readonly expectedContent?: string;
  readonly version?: number;
}

const isText = (value: unknown) => typeof value === "string";
const isTime = (value: unknown) => value === null || isText(value);

const FIELDS: Readonly<Record<keyof Change, (value: unknown) => boolean>> = {
  content: (value) => isText(value) && (value as string).trim() !== "",
  validFrom: isTime,
  validTo: isTime,
  tags: (value) => Array.isArray(value) && value.every(isText),
  expectedContent: isText,
  version: (value) => Number.isSafeInteger(value) && (value as number) > 0,
};

function readChange(body: Readonly<Record<string, unknown>>): Change {
  const names = Object.keys(body);
  const wrong = names.find((name) => !Object.hasOwn(FIELDS, name) || !FIELDS[name as keyof Change](body[name]));
  if (wrong !== undefined) throw invalid(`${JSON.stringify(wrong)} is no field of a fact, or not of its type.`);
  const changed = names.filter((name) => name !== "expectedContent");
  if (changed.length === 0 || (changed.length > 1 && "version" in body)) {
    throw invalid("The body says what to change: { content, validFrom, validTo, tags }, or { version } alone.");
  }
  return body as Change;
}
