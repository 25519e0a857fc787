// What the methods on entries take: held against these tables before a store does anything, whatever stands around it.
import {
  assertArgument,
  assertOptions,
  type Check,
  check,
  defineFields,
  defineOptions,
  type OptionTable,
} from "@stemma/model";
import type {
  AppendEntryOptions,
  EntryFields,
  EntryScope,
  EntryStore,
  EntryView,
  EntryWrite,
  FoundEntry,
  ListEntriesOptions,
  MemoryScope,
  SearchEntriesOptions,
  StoredEntry,
  StoredVersion,
  VersionOptions,
  WriteEntryOptions,
  WriteOrigin,
} from "../contract/store.js";
import { assertScope } from "./session-id.js";

const name = check.required(check.storable);

const MEMORY = defineFields<MemoryScope>({ sessionId: name, scope: assertScope });
const SCOPE = defineFields<EntryScope>({ ...MEMORY.checks, label: name });

/** The names of the fields; what each says is read where it is stored. */
export const FACT_FIELDS = defineFields<EntryFields>({
  validFrom: check.anything,
  validTo: check.anything,
  expiresAt: check.anything,
  supersedes: check.anything,
  tags: check.anything,
  origin: check.anything,
});
const TEXT = defineFields<Pick<StoredEntry, "key" | "content">>({ key: name, content: name });
const ENTRY = defineFields<StoredEntry>({ ...TEXT.checks, value: check.anything, ...FACT_FIELDS.checks });

/** Fields that a read gives beside: an entry that was read may be changed and written. */
const READ: ReadonlySet<string> = new Set([
  "invalidatedAt",
  "supersededBy",
  "ends",
  "createdAt",
  "updatedAt",
  "score",
  "rerankScore",
] satisfies (keyof FoundEntry)[]);

const ORIGIN = defineFields<WriteOrigin>({
  author: check.required(check.oneOf("model", "program", "learning", "import")),
  sessionId: check.storable,
  messageIds: check.texts("ids of messages"),
  toolCallId: check.storable,
});

/** The options of a write of a block or an entry. */
export const NOTED = defineOptions<VersionOptions>({ origin: check.nested(ORIGIN), keepVersions: check.whole(0) });
const WRITE = defineOptions<WriteEntryOptions>({
  ...NOTED.checks,
  expectedContent: check.orNull(check.text),
  createdAt: check.text,
  updatedAt: check.text,
  holds: check.flag,
  merges: check.flag,
  supersededBy: check.texts("keys"),
  ends: check.anything,
});
const APPEND = defineOptions<AppendEntryOptions>({
  ...NOTED.checks,
  maxTokens: check.required(check.amount("tokens")),
  holds: check.flag,
});

/** The view of a read. Its times and its filter are read where they are compared. */
export const ENTRY_VIEW = defineOptions<EntryView>({
  includeEnded: check.flag,
  includeExpired: check.flag,
  asOf: check.anything,
  knownAt: check.anything,
  filter: check.anything,
});
const LIST = defineOptions<ListEntriesOptions>({
  ...ENTRY_VIEW.checks,
  after: check.storable,
  limit: check.whole(1),
  prefix: check.storable,
});
/** The options of a search of entries. */
export const ENTRY_SEARCH = defineOptions<SearchEntriesOptions>({
  ...ENTRY_VIEW.checks,
  limit: check.required(check.whole(1)),
  after: check.time,
  before: check.time,
  prefix: check.storable,
  rerank: check.flag,
  threshold: check.finite,
  signal: check.signal,
});

type Assert = (value: unknown, method: string) => void;

const text =
  (what: string, is: Check<string> = check.storable): Assert =>
  (value, method) =>
    assertArgument(is, value, `The ${what} of ${method}`);
const table =
  (options: Pick<OptionTable<object>, "assert">, what: string): Assert =>
  (value, method) =>
    options.assert(value, what === "" ? method : `the ${what} of ${method}`);
const optional =
  (assert: Assert): Assert =>
  (value, method) => {
    if (value !== undefined) assert(value, method);
  };

const memory = table(MEMORY, "scope");

/** Throws `INVALID_ARGUMENT` or `INVALID_TEXT` for what is no scope of blocks and entries. */
export const assertMemoryScope: (value: MemoryScope, method: string) => void = memory;

const scope = table(SCOPE, "scope");
const key = text("key");
const written = table(
  defineFields<EntryScope>({
    sessionId: check.required(check.text),
    scope: assertScope,
    label: check.required(check.text),
  }),
  "scope",
);
const entry: Assert = (value, method) => {
  assertOptions(value, `the entry of ${method}`, "fields");
  const written = Object.entries(value).filter(([field]) => !READ.has(field));
  ENTRY.assert(Object.fromEntries(written), `the entry of ${method}`);
};
const versions: Assert = (value, method) =>
  assertArgument(
    check.rule<readonly StoredVersion[]>(
      "an array of versions, as a read gives them",
      (all) => Array.isArray(all) && all.every(isVersion),
    ),
    value,
    `The versions of ${method}`,
  );

function isVersion(version: StoredVersion): boolean {
  if (typeof version !== "object" || version === null) return false;
  const { content, writtenAt, author, sessionId, messageIds, toolCallId } = version;
  return (
    typeof writtenAt === "string" &&
    [content, author, sessionId, toolCallId].every((value) => value === null || typeof value === "string") &&
    Array.isArray(messageIds)
  );
}

const ARGUMENTS: { readonly [Name in keyof EntryStore]: readonly Assert[] } = {
  labels: [memory],
  removed: [memory],
  list: [scope, optional(table(LIST, ""))],
  count: [scope, optional(table(ENTRY_VIEW, ""))],
  // A store of another program may hold texts that ours cannot write.
  get: [written, text("key", check.text)],
  set: [scope, entry, optional(table(WRITE, ""))],
  append: [scope, table(TEXT, "entry"), table(APPEND, "")],
  delete: [scope, key, optional(table(WRITE, ""))],
  versions: [scope, key],
  importVersions: [scope, key, versions],
  search: [scope, text("query", check.text), table(ENTRY_SEARCH, "")],
};

/** Throws `INVALID_ARGUMENT` or `INVALID_TEXT` for what a method on entries does not take. */
export function assertEntryArguments(method: keyof EntryStore, values: readonly unknown[]): void {
  for (const [at, assert] of ARGUMENTS[method].entries()) assert(values[at], `entries.${method}()`);
}

/** The methods on entries, each of which fails so. */
export function checkedEntries(entries: EntryStore): EntryStore {
  const checked = (Object.keys(ARGUMENTS) as (keyof EntryStore)[]).map((method) => {
    const call = entries[method] as (...values: unknown[]) => unknown;
    // Nothing is awaited before the method is called: calls of one turn keep their order.
    const checking = async (...values: unknown[]) => {
      assertEntryArguments(method, values);
      return call.apply(entries, values);
    };
    return [method, checking];
  });
  return Object.fromEntries(checked) as EntryStore;
}

const { key: writtenKey, content: _, ...others } = ENTRY.checks;
const ENTRY_WRITE = defineFields<EntryWrite>({
  ...others,
  key: writtenKey,
  content: check.required(check.orNull(check.storable)),
  entries: (value) => scope(value, "a write of an entry"),
  options: check.nested(WRITE),
});

/** Throws `INVALID_ARGUMENT` or `INVALID_TEXT` for what is no write of an entry. */
export function assertEntryWrite(write: EntryWrite): void {
  ENTRY_WRITE.assert(write, "a write of an entry");
}
