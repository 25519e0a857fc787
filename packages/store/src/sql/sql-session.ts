import {
  type EncodedMessage,
  encodeMessage,
  givenMessage,
  isSummary,
  MOST_AT_ONCE,
  messageChanged,
  messageExists,
  type SessionMessage,
  StemmaError,
  sameJson,
} from "@stemma/model";
import { assertSessionFits } from "../assert-names.js";
import type {
  AppendResult,
  MessageWrite,
  ParentRef,
  ReadOptions,
  SearchHit,
  SearchRequest,
  SessionStore,
  UpsertResult,
} from "../contract/store.js";
import type { Appended, Dialect, PathOptions } from "../engine/dialect.js";
import { mapWithPauses, type Operation } from "../engine/operation.js";
import * as compactions from "../operations/compactions/compactions.js";
import { readWrites } from "../operations/memory/memory-lists.js";
import { changeSkills, readSkills } from "../operations/memory/skill-state.js";
import { deleteMessages } from "../operations/messages/delete-messages.js";
import { importTree } from "../operations/messages/import-tree.js";
import * as messages from "../operations/messages/messages.js";
import { append, moveLeaf, withStored } from "../operations/messages/messages.js";
import * as branches from "../operations/path/branches.js";
import { appendSibling, selectBranch } from "../operations/path/branches.js";
import * as history from "../operations/path/history.js";
import { readMessage } from "../operations/path/history.js";
import * as measures from "../operations/path/measures.js";
import { rewindTo } from "../operations/path/rewind.js";
import { streamMessages, streamPath } from "../operations/path/stream-path.js";
import { readTree, readTreePage } from "../operations/path/tree.js";
import { readChange } from "../operations/registry/sessions.js";
import { assertSessionId } from "./session-id.js";
/** How the operations of one session run: each of them is one call, in its turn, and for the user where there is one. */
export interface SessionCalls {
  /** The user that the calls are confined to: operations of the engine's own make sure of it themselves. */
  readonly userId: string | undefined;
  /** One consistent view. */
  read<T>(operation: () => Operation<T>): Promise<T>;
  /** One transaction, while no one else writes to the session. */
  write<T>(operation: () => Operation<T>, mode?: "write" | "idempotent"): Promise<T>;
  /** One statement that reads. */
  readOne<T>(operation: () => Operation<T>): Promise<T>;
  /** The engine's own: one statement, or several of which each is atomic by itself. */
  writeOne<T>(native: () => Operation<T>): Promise<T>;
  /** The first of the two that gives something, as one call. */
  readEither<T>(native: () => Operation<T | null>, shared: () => Operation<T>): Promise<T>;
  search(query: string, request: SearchRequest): Promise<SearchHit[]>;
}

/** One session of a SQL store. Messages are validated before a call takes its turn. Errors: `INVALID_ARGUMENT` for the id. */
export function sqlSession(sql: Dialect, id: string, calls: SessionCalls): SessionStore {
  assertSessionId(id);
  const { userId, read, write, readOne, writeOne, readEither } = calls;
  const { native } = sql;
  /** Passes over the session's own summaries. Errors: `INVALID_MESSAGE` for what only has the id of one. */
  const passOver = (summaryIds: readonly string[]) =>
    write(() => append(sql, id, [], undefined, summaryIds), "idempotent");
  const sizeNow = () => measures.visibleTokens(sql, id, undefined);
  return {
    id,
    append: async (given, parent, options = {}) => {
      assertSessionFits(id);
      const shared = ({ encoded, summaryIds }: EncodedList) => {
        const writing = append(sql, id, encoded, parent, summaryIds, options);
        return options.measured === true ? measured(writing, isSome, sizeNow) : writing;
      };
      if (given.length > MOST_AT_ONCE) {
        const read = encodeInTurn(given);
        const inTurn = function* () {
          const list = yield* read();
          return appendResult(list.encoded, yield* shared(list));
        };
        return write(inTurn, "idempotent");
      }
      const list = encodeAll(given);
      const { encoded, summaryIds } = list;
      const isPlain = summaryIds.length === 0 && options.expectedLeaf === undefined;
      const result = await (isPlain && native?.mayAppend(encoded, parent)
        ? writeOne(function* () {
            return yield* withStored(sql, id, encoded, yield* native.append(id, encoded, parent, userId));
          })
        : write(() => shared(list), "idempotent"));
      return appendResult(encoded, result);
    },
    appendSibling: async (siblingId, message) => {
      assertSessionFits(id);
      const encoded = encodeMessage(message);
      const sibling = () => branches.appendSibling(sql, id, siblingId, encoded);
      return appendResult([encoded], await write(sibling, "idempotent"));
    },
    update: async (message) => {
      const { encoded, summaryIds } = encodeAll([message]);
      const [one] = encoded;
      if (one !== undefined) await write(() => messages.updateMessage(sql, id, one));
      else await passOver(summaryIds);
    },
    upsert: async (message, parent, options = {}) => {
      assertSessionFits(id);
      const { encoded, summaryIds } = encodeAll([message]);
      const [one] = encoded;
      if (one !== undefined) {
        const shared = () => messages.upsertMessage(sql, id, one, parent);
        return write(options.measured === true ? () => measured(shared(), () => true, sizeNow) : shared);
      }
      await passOver(summaryIds);
      return { inserted: false, visibleTokens: null };
    },
    delete: (ids) => write(() => deleteMessages(sql, id, ids)),
    clear: () => write(() => messages.clearMessages(sql, id)),
    importTree: async (tree) => {
      assertSessionFits(id);
      const read = madeInTurn(tree.messages, (given) => ({ ...given, message: encodeMessage(given.message) }));
      const inTurn = function* () {
        return yield* importTree(sql, id, { ...tree, messages: yield* read() });
      };
      return write(inTurn, "idempotent");
    },
    setActiveLeaf: (messageId) => write(() => messages.setActiveLeaf(sql, id, messageId)),
    rewindTo: (messageId) => write(() => rewindTo(sql, id, messageId)),
    selectBranch: (messageId) => write(() => branches.selectBranch(sql, id, messageId)),

    message: (messageId, options) => read(() => history.readMessage(sql, id, messageId, options)),
    leaf: () => read(() => history.readLeaf(sql, id)),
    branches: (messageId) => read(() => branches.readBranches(sql, id, messageId)),
    parent: (messageId) => read(() => branches.readParent(sql, id, messageId)),
    branchIds: (messageId) => read(() => branches.readBranchIds(sql, id, messageId)),
    siblingIds: (messageIds) => read(() => branches.readSiblingIds(sql, id, messageIds)),
    siblings: (messageId) => read(() => branches.readSiblings(sql, id, messageId)),
    path: async (options = {}) => {
      const { corrupt, path } = pathOptions(options);
      const shared = () => history.readPath(sql, id, path);
      const isNative = native !== undefined && path.summaries !== false && path.createdAt !== true;
      const found = await (isNative ? readEither(() => native.path(id, path, userId), shared) : read(shared));
      return { messages: found, corrupt };
    },
    stream: ({ newestFirst, after, ...options } = {}) =>
      streamPath(sql, read, id, { ...pathOptions(options).path, newestFirst, after }),
    recent: (maxBytes, { minMessages, ...options }) => {
      const wanted = { ...pathOptions(options).path, maxBytes, minMessages };
      const shared = () => history.readRecent(sql, id, wanted);
      const isNative = native !== undefined && wanted.summaries !== false && wanted.createdAt !== true;
      return isNative ? readEither(() => native.recent(id, wanted, userId), shared) : read(shared);
    },
    rowStats: (leafId) => read(() => measures.rowStats(sql, id, leafId)),
    length: async (leafId) => {
      const { length, counted } = await read(() => measures.pathLength(sql, id, leafId));
      // Where it cannot be written down it is counted anew the next time.
      if (counted !== null) await write(() => measures.noteLength(counted), "idempotent").catch(() => {});
      return length;
    },
    count: () => readOne(() => measures.countMessages(sql, id)),
    tokens: (leafId) => write(() => measures.visibleTokens(sql, id, leafId), "idempotent"),
    tree: () => read(() => readTree(sql, id)),
    treePage: ({ after, limit = 100 } = {}) => read(() => readTreePage(sql, id, { after, limit })),
    messages: () => streamMessages(sql, read, id),
    search: (query, request) => calls.search(query, { ...request, sessionId: id }),

    compactions: () => readOne(() => compactions.listCompactions(id)),
    addCompaction: (compaction, guard) => write(() => compactions.addCompaction(sql, id, compaction, guard)),
    removeCompaction: (compactionId) => write(() => compactions.removeCompaction(sql, id, compactionId)),
    originals: (compactionId) => read(() => compactions.readOriginals(sql, id, compactionId)),
    skills: () => readOne(() => readSkills(sql, id)),
    changeSkills: (change) => write(() => changeSkills(sql, id, change)),

    change: () => readOne(() => readChange(sql, id)),
    writes: (messageId) => readOne(() => readWrites(id, messageId)),
  };
}

// With the tokens of the visible history, also where they are not known, of a write that changed something.
function* measured<T extends { readonly visibleTokens: number | null }>(
  writing: Operation<T>,
  hasChanged: (result: T) => boolean,
  measure: () => Operation<number>,
): Operation<T> {
  const result = yield* writing;
  if (result.visibleTokens !== null || !hasChanged(result)) return result;
  try {
    return { ...result, visibleTokens: yield* measure() };
  } catch (error) {
    // Damage to what was there is no reason to refuse what is written. Who reads it is told.
    if (StemmaError.isInstance(error, "CORRUPT_MESSAGE")) return result;
    throw error;
  }
}

const isSome = ({ inserted }: Appended) => inserted.includes(true);

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

/** A write of messages that is made together with others. */
interface MessageWriteOperation {
  /** Gives the ids of the messages that it inserted, or of the leaf that it made active. */
  operation(): Operation<readonly string[]>;
  /** It makes other writers of the session wait by itself. */
  readonly locks?: boolean | undefined;
}

/** A write of messages as the method of `SessionStore` makes it. Messages are validated before it runs. Errors: `INVALID_ARGUMENT` for the id. */
export function messageWrite(sql: Dialect, write: MessageWrite): MessageWriteOperation {
  const { session: id } = write;
  assertSessionId(id);
  if ("clear" in write) return { operation: () => told(messages.clearMessages(sql, id), () => []) };
  if ("activeLeaf" in write) {
    const { activeLeaf } = write;
    return {
      operation: () => told(moveLeaf(sql, id, activeLeaf, write), () => (activeLeaf === null ? [] : [activeLeaf])),
    };
  }
  if ("selectBranch" in write) {
    return { operation: () => told(selectBranch(sql, id, write.selectBranch), (leaf) => [leaf.id]) };
  }
  if ("update" in write) return updating(sql, id, write.update, write.expected);
  assertSessionFits(id);
  if ("upsert" in write) return upserting(sql, id, write.upsert, write.parent);
  if ("appendSibling" in write) {
    const message = encodeMessage(write.appendSibling);
    return {
      operation: () => told(appendSibling(sql, id, write.of, message), (result) => insertedOf([message], result)),
    };
  }
  return appending(sql, write);
}

type AppendWrite = Extract<MessageWrite, { readonly append: unknown }>;

function appending(sql: Dialect, write: AppendWrite): MessageWriteOperation {
  const { session: id, append: given, parent, expectedLeaf } = write;
  if (given.length > MOST_AT_ONCE) return appendingInTurn(sql, write);
  const { encoded, summaryIds } = encodeAll(given);
  const isPlain = summaryIds.length === 0 && expectedLeaf === undefined;
  const native = isPlain && sql.native?.mayAppend(encoded, parent) ? sql.native : null;
  return {
    locks: native !== null,
    *operation() {
      const result =
        native === null
          ? yield* append(sql, id, encoded, parent, summaryIds, write)
          : yield* native.append(id, encoded, parent, undefined);
      return toldOf(write, encoded, result);
    },
  };
}

function appendingInTurn(sql: Dialect, write: AppendWrite): MessageWriteOperation {
  const { session: id, append: given, parent } = write;
  const read = encodeInTurn(given);
  return {
    *operation() {
      const { encoded, summaryIds } = yield* read();
      return toldOf(write, encoded, yield* append(sql, id, encoded, parent, summaryIds, write));
    },
  };
}

// Errors: `MESSAGE_EXISTS` for a known one where all are to be new.
function toldOf({ session: id, onlyNew = false }: AppendWrite, encoded: readonly EncodedMessage[], result: Appended) {
  const known = onlyNew ? result.inserted.indexOf(false) : -1;
  if (known !== -1) throw messageExists(id, (encoded[known] as EncodedMessage).id);
  return insertedOf(encoded, result);
}

function updating(
  sql: Dialect,
  id: string,
  given: SessionMessage,
  expected: SessionMessage | undefined,
): MessageWriteOperation {
  const message = encodeMessage(given);
  const before = expected === undefined ? null : givenMessage(expected);
  return {
    *operation() {
      if (before !== null && !sameJson(yield* readMessage(sql, id, message.id), before)) {
        throw messageChanged(id, message.id);
      }
      yield* messages.updateMessage(sql, id, message);
      return [];
    },
  };
}

function upserting(sql: Dialect, id: string, given: SessionMessage, parent: ParentRef): MessageWriteOperation {
  const message = encodeMessage(given);
  const idsOf = ({ inserted }: UpsertResult) => (inserted ? [message.id] : []);
  return { operation: () => told(messages.upsertMessage(sql, id, message, parent), idsOf) };
}

function* told<T>(operation: Operation<T>, idsOf: (result: T) => readonly string[]): Operation<readonly string[]> {
  return idsOf(yield* operation);
}

/** The ids of the messages that an append inserted, in order. */
function insertedOf(encoded: readonly EncodedMessage[], { inserted }: Appended): string[] {
  return encoded.filter((_, index) => inserted[index]).map(({ id }) => id);
}

/** Messages ready to be written. Summaries that a history shows are no messages of their own. */
interface EncodedList {
  readonly encoded: readonly EncodedMessage[];
  readonly summaryIds: readonly string[];
}

function encodeAll(given: readonly SessionMessage[]): EncodedList {
  if (!given.some(isSummary)) return { encoded: given.map(encodeMessage), summaryIds: [] };
  return {
    encoded: given.filter((message) => !isSummary(message)).map(encodeMessage),
    summaryIds: given.filter(isSummary).map(({ id }) => id),
  };
}

/** The same while the operation runs, with pauses. */
function encodeInTurn(given: readonly SessionMessage[]): () => Operation<EncodedList> {
  const made = madeInTurn(given, (message) => (isSummary(message) ? message.id : encodeMessage(message)));
  return function* () {
    const all = yield* made();
    return {
      encoded: all.filter((one) => typeof one !== "string"),
      summaryIds: all.filter((one) => typeof one === "string"),
    };
  };
}

/**
 * What `make` gives for each item of a list: of a short one at once, of a longer one while the operation runs, with pauses. The
 * list itself may be changed meanwhile. Each item is read once, however often the operation is run.
 */
function madeInTurn<T, R>(given: readonly T[], make: (item: T) => R): () => Operation<readonly R[]> {
  const list = given.slice();
  let made: readonly R[] | null = list.length > MOST_AT_ONCE ? null : list.map(make);
  return function* () {
    made ??= yield* mapWithPauses(list, make);
    return made;
  };
}
