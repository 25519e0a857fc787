import { type EncodedMessage, encodeMessage } from "../model/codec.js";
import { givenMessage } from "../model/given-message.js";
import { isSummary, type SessionMessage } from "../model/message.js";
import { sameJson } from "../model/same-json.js";
import { messageChanged, messageExists } from "../model/tree-errors.js";
import { assertSessionFits } from "./assert-names.js";
import type { MessageWrite, ParentRef, UpsertResult } from "./contract.js";
import type { Appended, Dialect } from "./engine/dialect.js";
import type { Operation } from "./engine/operation.js";
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

function appending(sql: Dialect, write: Extract<MessageWrite, { readonly append: unknown }>): MessageWriteOperation {
  const { session: id, append: given, parent, expectedLeaf, onlyNew = false } = write;
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
      const known = onlyNew ? result.inserted.indexOf(false) : -1;
      if (known !== -1) throw messageExists(id, (encoded[known] as EncodedMessage).id);
      return insertedOf(encoded, result);
    },
  };
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

/** Summaries that a history shows are no messages of their own. */
export function encodeAll(given: readonly SessionMessage[]): { encoded: EncodedMessage[]; summaryIds: string[] } {
  if (!given.some(isSummary)) return { encoded: given.map(encodeMessage), summaryIds: [] };
  return {
    encoded: given.filter((message) => !isSummary(message)).map(encodeMessage),
    summaryIds: given.filter(isSummary).map(({ id }) => id),
  };
}
