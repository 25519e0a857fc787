import {
  type EncodedMessage,
  encodeMessage,
  isSummary,
  MOST_AT_ONCE,
  parseQuery,
  type SessionMessage,
  StemmaError,
} from "@stemma/model";
import type {
  AppendMessageOptions,
  AppendResult,
  ParentRef,
  ReadOptions,
  SessionStore,
  StreamOptions,
} from "../contract/store.js";
import type { MeasureOptions } from "../contract/writing.js";
import type { Appended, Dialect, PathOptions } from "../engine/dialect.js";
import { mapWithPauses, type Operation } from "../engine/operation.js";
import { assertCount } from "../operations/assert-storable.js";
import * as compactions from "../operations/compactions/compactions.js";
import { readWrites } from "../operations/memory/memory-lists.js";
import { changeSkills, readSkills } from "../operations/memory/skill-state.js";
import { deleteMessages } from "../operations/messages/delete-messages.js";
import { importTree } from "../operations/messages/import-tree.js";
import * as messages from "../operations/messages/messages.js";
import * as branches from "../operations/path/branches.js";
import * as measures from "../operations/path/measures.js";
import * as paths from "../operations/path/path.js";
import { rewindTo } from "../operations/path/rewind.js";
import { streamLines, streamMessages, streamPath } from "../operations/path/stream-path.js";
import { readTree, readTreePage } from "../operations/path/tree.js";
import { readChange } from "../operations/registry/sessions.js";
import { assertSessionFits, assertSessionId } from "./session-id.js";
import type { SqlCalls } from "./sql-calls.js";

/** One session of a SQL store. Messages are validated before a call is put in order. Errors: `INVALID_ARGUMENT` for the id. */
export function sqlSession(sql: Dialect, id: string, calls: SqlCalls): SessionStore {
  assertSessionId(id);
  const { userId } = calls;
  const { native } = sql;
  /** Passes over the session's own summaries. Errors: `INVALID_MESSAGE` for what only has the id of one. */
  const passOver = (summaryIds: readonly string[]) =>
    calls.write(id, () => messages.append(sql, id, [], undefined, summaryIds), "idempotent");
  const read = <T>(operation: () => Operation<T>) => calls.read(id, operation);
  return {
    id,
    append: async (given, parent, options = {}) => {
      assertSessionFits(id);
      if (given.length > MOST_AT_ONCE) {
        const encode = encodeInSteps(sql, given);
        const inSteps = function* () {
          const list = yield* encode();
          return appendResult(list.encoded, yield* append(sql, id, list, parent, options));
        };
        return calls.write(id, inSteps, "idempotent");
      }
      const list = encodeAll(sql, given);
      const { encoded, summaryIds } = list;
      const isPlain = summaryIds.length === 0 && options.expectedLeaf === undefined;
      const result = await (isPlain && native?.mayAppend(encoded, parent)
        ? calls.writeOne(id, function* () {
            return yield* messages.withStored(sql, id, encoded, yield* native.append(id, encoded, parent, userId));
          })
        : calls.write(id, () => append(sql, id, list, parent, options), "idempotent"));
      return appendResult(encoded, result);
    },
    appendSibling: async (siblingId, message) => {
      assertSessionFits(id);
      const encoded = encodeFor(sql, message);
      const sibling = () => branches.appendSibling(sql, id, siblingId, encoded);
      return appendResult([encoded], await calls.write(id, sibling, "idempotent"));
    },
    update: async (message) => {
      const { encoded, summaryIds } = encodeAll(sql, [message]);
      const [one] = encoded;
      if (one !== undefined) await calls.write(id, () => messages.updateMessage(sql, id, one));
      else await passOver(summaryIds);
    },
    upsert: async (message, parent, options = {}) => {
      assertSessionFits(id);
      const { encoded, summaryIds } = encodeAll(sql, [message]);
      const [one] = encoded;
      if (one !== undefined) {
        return calls.write(id, function* () {
          const result = yield* messages.upsertMessage(sql, id, one, parent);
          return options.measured === true ? yield* measured(sql, id, result) : result;
        });
      }
      await passOver(summaryIds);
      return { inserted: false, visibleTokens: null };
    },
    delete: (ids) => calls.write(id, () => deleteMessages(sql, id, ids)),
    clear: () => calls.write(id, () => messages.clearMessages(sql, id)),
    importTree: async (tree) => {
      assertSessionFits(id);
      const encode = madeInSteps(tree.messages, (given) => ({ ...given, message: encodeFor(sql, given.message) }));
      const inSteps = function* () {
        return yield* importTree(sql, id, { ...tree, messages: yield* encode() });
      };
      return calls.write(id, inSteps, "idempotent");
    },
    setActiveLeaf: (messageId) => calls.write(id, () => messages.setActiveLeaf(sql, id, messageId)),
    rewindTo: (messageId, { except = [] } = {}) => calls.write(id, () => rewindTo(sql, id, messageId, except)),
    selectBranch: (messageId) => calls.write(id, () => branches.selectBranch(sql, id, messageId)),

    message: (messageId, options) => calls.read(id, () => paths.readMessage(sql, id, messageId, options)),
    leaf: () => calls.read(id, () => paths.readLeaf(sql, id)),
    branches: (messageId) => calls.read(id, () => branches.readBranches(sql, id, messageId)),
    parent: (messageId) => calls.read(id, () => branches.readParent(sql, id, messageId)),
    branchIds: (messageId) => calls.read(id, () => branches.readBranchIds(sql, id, messageId)),
    siblingIds: (messageIds) => calls.read(id, () => branches.readSiblingIds(sql, id, messageIds)),
    siblings: (messageId) => calls.read(id, () => branches.readSiblings(sql, id, messageId)),
    path: async (options = {}) => {
      const { corrupt, path } = pathOptions(options);
      const shared = () => paths.readPath(sql, id, path);
      const isNative = native !== undefined && path.summaries !== false && path.createdAt !== true;
      const found = await (isNative
        ? calls.readEither(id, () => native.path(id, path, userId), shared)
        : calls.read(id, shared));
      return { messages: found, corrupt };
    },
    stream: (options) => streamPath(sql, read, id, streamOptions(options)),
    lines: (options) => streamLines(sql, read, id, streamOptions(options)),
    recent: async (maxBytes, { minMessages, ...options }) => {
      assertCount(minMessages, "The minMessages of recent()", 0);
      const wanted = { ...pathOptions(options).path, maxBytes, minMessages };
      const shared = () => paths.readRecent(sql, id, wanted);
      const isNative = native !== undefined && wanted.summaries !== false && wanted.createdAt !== true;
      return isNative ? calls.readEither(id, () => native.recent(id, wanted, userId), shared) : calls.read(id, shared);
    },
    rowStats: (leafId) => calls.read(id, () => measures.rowStats(sql, id, leafId)),
    length: async (leafId) => {
      const { length, counted } = await calls.read(id, () => measures.pathLength(sql, id, leafId));
      // Where it cannot be written down it is counted anew the next time.
      if (counted !== null) await calls.write(id, () => measures.noteLength(counted), "idempotent").catch(() => {});
      return length;
    },
    count: () => calls.readOne(id, () => measures.countMessages(sql, id)),
    tokens: (leafId) => calls.write(id, () => measures.visibleTokens(sql, id, leafId), "idempotent"),
    tree: () => calls.read(id, () => readTree(sql, id)),
    treePage: ({ after, limit = 100 } = {}) => calls.read(id, () => readTreePage(sql, id, { after, limit })),
    messages: () => streamMessages(sql, read, id),
    search: (query, request) => calls.search(parseQuery(query), { ...request, sessionId: id }),

    compactions: () => calls.readOne(id, () => compactions.listCompactions(id)),
    addCompaction: (compaction, guard) => calls.write(id, () => compactions.addCompaction(sql, id, compaction, guard)),
    removeCompaction: (compactionId) => calls.write(id, () => compactions.removeCompaction(sql, id, compactionId)),
    originals: (compactionId) => calls.read(id, () => compactions.readOriginals(sql, id, compactionId)),
    skills: () => calls.readOne(id, () => readSkills(sql, id)),
    changeSkills: (change) => calls.write(id, () => changeSkills(sql, id, change)),

    change: () => calls.readOne(id, () => readChange(sql, id)),
    writes: (messageId) => calls.readOne(id, () => readWrites(id, messageId)),
  };
}

function* append(
  sql: Dialect,
  id: string,
  { encoded, summaryIds }: EncodedList,
  parent: ParentRef,
  options: AppendMessageOptions & MeasureOptions,
): Operation<Appended> {
  const result = yield* messages.append(sql, id, encoded, parent, summaryIds, options);
  return options.measured === true && result.inserted.includes(true) ? yield* measured(sql, id, result) : result;
}

// With the tokens of the visible history, also where a write did not tell them.
function* measured<T extends { readonly visibleTokens: number | null }>(
  sql: Dialect,
  id: string,
  result: T,
): Operation<T> {
  if (result.visibleTokens !== null) return result;
  try {
    return { ...result, visibleTokens: yield* measures.visibleTokens(sql, id, undefined) };
  } catch (error) {
    // Damage to what was there is no reason to refuse what is written. Who reads it is told.
    if (StemmaError.isInstance(error, "CORRUPT_MESSAGE")) return result;
    throw error;
  }
}

function appendResult(encoded: readonly EncodedMessage[], result: Appended): AppendResult {
  const { lastId, visibleTokens, stored } = result;
  return { insertedIds: insertedOf(encoded, result), lastId, visibleTokens, stored };
}

function pathOptions({ leafId, onCorrupt, summaries, createdAt }: ReadOptions): {
  corrupt: string[];
  path: PathOptions;
} {
  const corrupt: string[] = [];
  const skip = onCorrupt === "skip" ? ({ id }: { id: string }) => void corrupt.push(id) : undefined;
  return { corrupt, path: { leafId, onCorrupt: skip, summaries, createdAt } };
}

const streamOptions = ({ newestFirst, after, firstPage, ...options }: StreamOptions = {}) => ({
  ...pathOptions(options).path,
  newestFirst,
  after,
  firstPage,
});

/** The ids of the messages that an append inserted, in order. */
export function insertedOf(encoded: readonly EncodedMessage[], { inserted }: Appended): string[] {
  return encoded.flatMap(({ id }, index) => (inserted[index] ? [id] : []));
}

/** Messages ready to be written. Summaries that a history shows are no messages of their own. */
interface EncodedList {
  readonly encoded: readonly EncodedMessage[];
  readonly summaryIds: readonly string[];
}

/** A message made ready to be written, its tool calls indexed where the store says so. Errors: those of `encodeMessage`. */
export const encodeFor = ({ search }: Dialect, given: unknown): EncodedMessage =>
  encodeMessage(given, search?.tools === true);

export function encodeAll(sql: Dialect, given: readonly SessionMessage[]): EncodedList {
  const encoded: EncodedMessage[] = [];
  const summaryIds: string[] = [];
  for (const message of given) {
    if (isSummary(message)) summaryIds.push(message.id);
    else encoded.push(encodeFor(sql, message));
  }
  return { encoded, summaryIds };
}

/** As `encodeAll`, while the operation runs, with pauses. */
export function encodeInSteps(sql: Dialect, given: readonly SessionMessage[]): () => Operation<EncodedList> {
  const made = madeInSteps(given, (message) => (isSummary(message) ? message.id : encodeFor(sql, message)));
  return function* () {
    const all = yield* made();
    return {
      encoded: all.filter((one) => typeof one !== "string"),
      summaryIds: all.filter((one) => typeof one === "string"),
    };
  };
}

/**
 * Makes something of each item of a list: of a short one at once, of a longer one while the operation runs, with pauses. The
 * list itself may be changed meanwhile. Each item is read once, however often the operation is run.
 */
function madeInSteps<T, R>(given: readonly T[], make: (item: T) => R): () => Operation<readonly R[]> {
  const list = given.slice();
  let made: readonly R[] | null = list.length > MOST_AT_ONCE ? null : list.map(make);
  return function* () {
    made ??= yield* mapWithPauses(list, make);
    return made;
  };
}
