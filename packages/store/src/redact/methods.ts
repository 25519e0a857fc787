import { findJson, jsonCopy } from "@stemma/model";
import type {
  BlockKey,
  BlockStore,
  EntryScope,
  EntryStore,
  ImportedTree,
  KeptWrite,
  NewSession,
  RecordStore,
  Redaction,
  RedactWhere,
  SessionChange,
  SessionRegistry,
  SessionStore,
  Store,
  StoredEntry,
  StoredVersion,
  VectorStore,
  WriteEntryOptions,
} from "../contract/store.js";
import { redactRecord } from "./redact-records.js";

type Method = (...values: never[]) => unknown;

/**
 * Of each method of a part of the contract: its arguments with their texts redacted, or null where it takes no text that is
 * stored. `id` is that of the session. A method that is left out is an error of the compiler.
 */
type Rules<Part> = {
  readonly [Name in keyof Part as Part[Name] extends Method | undefined ? Name : never]-?: null | Rule<
    Extract<Part[Name], Method>
  >;
};
type Rule<M extends Method> = (redaction: Redaction, id: string, ...values: Parameters<M>) => Parameters<M>;

export const SESSION: Rules<SessionStore> = {
  append: (redaction, id, messages, ...rest) => [messages.map((each) => redaction.message(each, id)), ...rest],
  appendSibling: (redaction, id, of, message) => [of, redaction.message(message, id)],
  update: (redaction, id, message) => [redaction.message(message, id)],
  upsert: (redaction, id, message, ...rest) => [redaction.message(message, id), ...rest],
  delete: null,
  clear: null,
  importTree: (redaction, id, tree) => [treeIn(redaction, id, tree)],
  setActiveLeaf: null,
  rewindTo: null,
  selectBranch: null,
  message: null,
  leaf: null,
  branches: null,
  branchIds: null,
  parent: null,
  siblings: null,
  siblingIds: null,
  path: null,
  stream: null,
  lines: null,
  recent: null,
  rowStats: null,
  length: null,
  count: null,
  tokens: null,
  tree: null,
  treePage: null,
  messages: null,
  search: (redaction, id, query, request) => [queryIn(redaction, id, query), request],
  compactions: null,
  addCompaction: (redaction, id, compaction, ...rest) => [summaryIn(redaction, id, compaction), ...rest],
  removeCompaction: null,
  originals: null,
  skills: null,
  // Labels and keys.
  changeSkills: null,
  change: null,
  writes: null,
};

export const SESSIONS: Rules<SessionRegistry> = {
  create: (redaction, _id, session) => [entryIn(redaction, session)],
  get: null,
  // Names, ids and fields are compared as they are given.
  list: null,
  count: null,
  unregistered: null,
  due: null,
  markLearned: null,
  update: (redaction, _id, id, change) => [id, changeIn(redaction, id, change)],
  restore: null,
  delete: null,
  prune: null,
  addUsage: null,
  usageRows: null,
  importUsage: null,
  usage: null,
  compactionSums: null,
  fork: (redaction, _id, id, at, fork) => [id, at, entryIn(redaction, fork)],
  split: (redaction, _id, id, first, continuation) => [
    id,
    redaction.message(first, continuation.id),
    entryIn(redaction, continuation),
  ],
  claim: null,
};

export const BLOCKS: Rules<BlockStore> = {
  get: null,
  getMany: null,
  set: (redaction, _id, key, content, ...rest) => [key, blockIn(redaction, key, content), ...rest],
  append: (redaction, _id, key, text, ...rest) => [key, blockIn(redaction, key, text), ...rest],
  delete: null,
  list: null,
  owners: null,
  versions: null,
  importVersions: (redaction, _id, key, versions) => [
    key,
    versionsIn(versions, (content) => blockIn(redaction, key, content)),
  ],
};

export const ENTRIES: Rules<EntryStore> = {
  labels: null,
  list: null,
  count: null,
  get: null,
  set: (redaction, _id, scope, entry, ...rest) => {
    const [options] = rest;
    const wanted = options === undefined ? rest : [optionsIn(redaction, scope, entry.key, options)];
    return [scope, valueIn(redaction, scope, entry), ...wanted] as Parameters<EntryStore["set"]>;
  },
  append: (redaction, _id, scope, entry, ...rest) => [scope, valueIn(redaction, scope, entry), ...rest],
  delete: (redaction, _id, scope, key, options) => [scope, key, options && optionsIn(redaction, scope, key, options)],
  removed: null,
  versions: null,
  importVersions: (redaction, _id, scope, key, versions) => [
    scope,
    key,
    versionsIn(versions, (content) => textIn(redaction, scope, key, content)),
  ],
  search: (redaction, _id, scope, query, ...rest) => [scope, queryIn(redaction, scope.sessionId, query), ...rest],
};

export const RECORDS: Rules<RecordStore> = {
  get: null,
  set: (redaction, _id, scope, key, value, ...rest) => [
    scope,
    key,
    redactRecord(scope, key, value, redaction.text),
    ...rest,
  ],
  delete: null,
  list: null,
  labels: null,
  expire: null,
  now: null,
};

export const VECTORS: Rules<VectorStore> = {
  model: null,
  list: null,
  // The digest of each text must be that of the stored one.
  import: null,
};

export const STORE: Rules<
  Omit<Store, "session" | "consolidate" | "forUser" | "once" | "observer" | "observeStatements" | "observeReranker">
> = {
  writeTogether: (redaction, _id, writes) => [writes.map((write) => writeIn(redaction, write))],
  deleteMemory: null,
  pruneVersions: null,
  pruneExpired: null,
  scrub: null,
  search: (redaction, _id, query, request) => [queryIn(redaction, request.sessionId ?? null, query), request],
  check: null,
  backup: null,
  migrate: null,
  close: null,
};

function treeIn(redaction: Redaction, id: string, tree: ImportedTree): ImportedTree {
  const { messages, compactions, session } = tree;
  return {
    ...tree,
    messages: messages.map((each) => ({ ...each, message: redaction.message(each.message, id) })),
    ...(compactions && { compactions: compactions.map((each) => summaryIn(redaction, id, each)) }),
    ...(session && { session: entryIn(redaction, { ...session, id }) }),
  };
}

function summaryIn<T extends { readonly summary: string }>(redaction: Redaction, sessionId: string, compaction: T): T {
  return {
    ...compaction,
    summary: textOr(compaction.summary, (text) => redaction.text(text, { kind: "summary", sessionId })),
  };
}

function entryIn<T extends Omit<NewSession, "name"> & { readonly name?: string | undefined }>(
  redaction: Redaction,
  session: T,
): T {
  return { ...session, ...changeIn(redaction, session.id, session) };
}

function changeIn(redaction: Redaction, sessionId: string, change: SessionChange): SessionChange {
  const { name, expectedName, metadata } = change;
  const title = (text: string) => redaction.text(text, { kind: "title", sessionId });
  return {
    ...change,
    ...(name !== undefined && { name: textOr(name, title) }),
    ...(expectedName !== undefined && { expectedName: textOr(expectedName, title) }),
    ...(metadata !== undefined && { metadata: jsonIn(redaction, metadata, { kind: "metadata", sessionId }) }),
  };
}

// Of one that is JSON first the strings, as they are without escapes.
function blockIn(redaction: Redaction, { kind, sessionId, label }: BlockKey, content: string): string {
  const where = { kind, sessionId, label } as const;
  const json = typeof content === "string" && /^\s*[{[]/.test(content) ? findJson(content) : undefined;
  if (json === undefined) return textOr(content, (text) => redaction.text(text, where));
  const redacted = redaction.json(json, where);
  const written = redacted === json ? content : JSON.stringify(redacted);
  // Beside the frozen prompt stands JSON of Stemma's own.
  return kind === "prompt" ? written : redaction.text(written, where);
}

// Read once, as JSON writes it, so that what is redacted is what is stored. The store refuses what is no JSON.
function jsonIn<T>(redaction: Redaction, value: T, where: RedactWhere): T {
  let copy: T;
  try {
    copy = jsonCopy(value, "") as T;
  } catch {
    return value;
  }
  return redaction.json(copy, where);
}

function versionsIn(versions: readonly StoredVersion[], redact: (text: string) => string): StoredVersion[] {
  return versions.map((each) => ({
    ...each,
    content: textOr(each.content, redact),
    ...(each.fact && { fact: { ...each.fact, tags: tagsIn(each.fact.tags, redact) } }),
  }));
}

function textIn<T extends string | null | undefined>(
  redaction: Redaction,
  { sessionId, label }: EntryScope,
  key: string,
  content: T,
): T {
  return textOr(content, (text) => redaction.text(text, { kind: "entry", sessionId, label, key }));
}

function valueIn(redaction: Redaction, scope: EntryScope, entry: StoredEntry): StoredEntry {
  const { sessionId, label } = scope;
  const { key, content } = entry;
  const where = { kind: "entry", sessionId, label, key, path: ["value"] } as const;
  return {
    ...entry,
    content: textIn(redaction, scope, key, content),
    ...(entry.tags && { tags: tagsIn(entry.tags, (tag) => textIn(redaction, scope, key, tag)) }),
    ...(entry.value !== undefined && { value: jsonIn(redaction, entry.value, where) }),
  };
}

function optionsIn(
  redaction: Redaction,
  scope: EntryScope,
  key: string,
  options: WriteEntryOptions,
): WriteEntryOptions {
  const { expectedContent } = options;
  if (expectedContent === undefined) return options;
  return { ...options, expectedContent: textIn(redaction, scope, key, expectedContent) };
}

function queryIn(redaction: Redaction, sessionId: string | null, query: string): string {
  return textOr(query, (text) => redaction.text(text, { kind: "query", sessionId }));
}

function writeIn(redaction: Redaction, write: KeptWrite): KeptWrite {
  if ("block" in write) return { ...write, content: blockIn(redaction, write.block, write.content) };
  if ("asRead" in write) return write;
  if ("entries" in write) {
    const { entries: scope, key, content, options } = write;
    return {
      ...write,
      ...valueIn(redaction, scope, { ...write, content: "" }),
      content: textIn(redaction, scope, key, content),
      ...(options && { options: optionsIn(redaction, scope, key, options) }),
    };
  }
  if ("records" in write) {
    if ("atVersion" in write || write.value === null) return write;
    return { ...write, value: redactRecord(write.records, write.key, write.value, redaction.text) };
  }
  if ("registered" in write) {
    return "change" in write ? { ...write, change: changeIn(redaction, write.registered, write.change) } : write;
  }
  const { session: id } = write;
  if ("append" in write) return { ...write, append: write.append.map((each) => redaction.message(each, id)) };
  if ("appendSibling" in write) return { ...write, appendSibling: redaction.message(write.appendSibling, id) };
  if ("upsert" in write) return { ...write, upsert: redaction.message(write.upsert, id) };
  if ("update" in write) {
    const { update, expected } = write;
    return {
      ...write,
      update: redaction.message(update, id),
      ...(expected && { expected: redaction.message(expected, id) }),
    };
  }
  return write;
}

// What is no list the store refuses.
function tagsIn(tags: readonly string[], redact: (text: string) => string): readonly string[] {
  return Array.isArray(tags) ? tags.map((tag: string) => textOr(tag, redact)) : tags;
}

// What is no text the store refuses.
function textOr<T>(value: T, redact: (text: string) => string): T {
  return typeof value === "string" ? (redact(value) as T) : value;
}
