import { type EncodedMessage, encodeMessage } from "../model/codec.js";
import { isSummary, type SessionMessage } from "../model/message.js";
import { messageExists } from "../model/tree-errors.js";
import type { MessageWrite } from "./contract.js";
import type { Dialect } from "./engine/dialect.js";
import type { Operation } from "./engine/operation.js";
import { append, moveLeaf } from "./operations/append.js";
import * as messages from "./operations/messages.js";
import { assertSessionId } from "./session-id.js";

/** A write of messages that is made together with others. */
export interface MessageWriteOperation {
  operation(): Operation<unknown>;
  /** It makes other writers of the session wait by itself. */
  readonly locks?: boolean | undefined;
}

/** A write of messages as `append`, `update`, `setActiveLeaf` or `clear` makes it. Messages are validated before it runs. Errors: `INVALID_ARGUMENT` for the id. */
export function messageWrite(sql: Dialect, write: MessageWrite): MessageWriteOperation {
  const { session: id } = write;
  assertSessionId(id);
  if ("clear" in write) return { operation: () => messages.clearMessages(sql, id) };
  if ("activeLeaf" in write) return { operation: () => moveLeaf(sql, id, write.activeLeaf, write) };
  if ("update" in write) {
    const message = encodeMessage(write.update);
    return { operation: () => messages.updateMessage(sql, id, message) };
  }
  const { append: given, parent, expectedLeaf, onlyNew = false } = write;
  const { encoded, summaryIds } = encodeAll(given);
  const isPlain = summaryIds.length === 0 && expectedLeaf === undefined;
  const native = isPlain && sql.native?.mayAppend(encoded, parent) ? sql.native : null;
  return {
    locks: native !== null,
    *operation() {
      const { inserted } =
        native === null
          ? yield* append(sql, id, encoded, parent, summaryIds, write)
          : yield* native.append(id, encoded, parent, undefined);
      const known = onlyNew ? inserted.indexOf(false) : -1;
      if (known !== -1) throw messageExists(id, (encoded[known] as EncodedMessage).id);
    },
  };
}

/** Summaries that a history shows are no messages of their own. */
export function encodeAll(given: readonly SessionMessage[]): { encoded: EncodedMessage[]; summaryIds: string[] } {
  if (!given.some(isSummary)) return { encoded: given.map(encodeMessage), summaryIds: [] };
  return {
    encoded: given.filter((message) => !isSummary(message)).map(encodeMessage),
    summaryIds: given.filter(isSummary).map(({ id }) => id),
  };
}
