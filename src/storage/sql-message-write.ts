import { type EncodedMessage, encodeMessage } from "../model/codec.js";
import { givenMessage, MOST_AT_ONCE } from "../model/given-message.js";
import { isSummary, type SessionMessage } from "../model/message.js";
import { sameJson } from "../model/same-json.js";
import { messageChanged, messageExists } from "../model/tree-errors.js";
import { assertSessionFits } from "./assert-names.js";
import type { MessageWrite, ParentRef, UpsertResult } from "./contract.js";
import type { Appended, Dialect } from "./engine/dialect.js";
import { mapWithPauses, type Operation } from "./engine/operation.js";
import { append, moveLeaf } from "./operations/append.js";
import { appendSibling, selectBranch } from "./operations/branches.js";
import { readMessage } from "./operations/history.js";
import * as messages from "./operations/messages.js";
import { assertSessionId } from "./session-id.js";

/** A write of messages that is made together with others. */
export interface MessageWriteOperation {
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
export function insertedOf(encoded: readonly EncodedMessage[], { inserted }: Appended): string[] {
  return encoded.filter((_, index) => inserted[index]).map(({ id }) => id);
}

/** Messages ready to be written. Summaries that a history shows are no messages of their own. */
export interface EncodedList {
  readonly encoded: readonly EncodedMessage[];
  readonly summaryIds: readonly string[];
}

export function encodeAll(given: readonly SessionMessage[]): EncodedList {
  if (!given.some(isSummary)) return { encoded: given.map(encodeMessage), summaryIds: [] };
  return {
    encoded: given.filter((message) => !isSummary(message)).map(encodeMessage),
    summaryIds: given.filter(isSummary).map(({ id }) => id),
  };
}

/** The same while the operation runs, with pauses. */
export function encodeInTurn(given: readonly SessionMessage[]): () => Operation<EncodedList> {
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
export function madeInTurn<T, R>(given: readonly T[], make: (item: T) => R): () => Operation<readonly R[]> {
  const list = given.slice();
  let made: readonly R[] | null = list.length > MOST_AT_ONCE ? null : list.map(make);
  return function* () {
    made ??= yield* mapWithPauses(list, make);
    return made;
  };
}
