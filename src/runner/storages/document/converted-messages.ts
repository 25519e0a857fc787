import type { SessionMessage } from "../../../model/message.js";
import type { SessionStore, TreeNode } from "../../../storage/contract.js";
import { toSDKMessages } from "../../messages/sdk-message.js";
import type { SDKMessage } from "../../types.js";

/** From so many messages that are not converted yet on, all are read at once. */
const MANY = 4;

export interface ConvertedMessage {
  readonly sdk: readonly SDKMessage[];
  /** Its `createdAt` was given as a `Date`. */
  readonly dated: boolean;
}

/** Converts the messages of a session that are not in `converted`, and adds them. */
export async function convertMissing(
  session: SessionStore,
  tree: readonly TreeNode[],
  converted: Map<string, ConvertedMessage>,
): Promise<void> {
  const missing = tree.filter(({ id }) => !converted.has(id));
  // After a session was loaded nothing is converted yet: then all of it is read at once.
  if (missing.length > MANY) {
    for await (const { message } of session.messages()) {
      if (!converted.has(message.id)) converted.set(message.id, convert(message));
    }
  }
  for (const { id } of missing) {
    if (converted.has(id)) continue;
    const message = await session.message(id);
    if (message !== null) converted.set(id, convert(message));
  }
}

function convert(message: SessionMessage): ConvertedMessage {
  if (!(message.createdAt instanceof Date)) return { sdk: toSDKMessages([message]), dated: false };
  return { sdk: toSDKMessages([{ ...message, createdAt: message.createdAt.toISOString() }]), dated: true };
}
