import type { UIMessage } from "ai";
import { givenMessage } from "../../model/given-message.js";
import type { Session } from "../../session/session.js";
import type { KeptWrite } from "../../storage/contract.js";

/** What is read of a session while its messages are placed. */
export type ReadableSession = Pick<
  Session,
  "id" | "getMessage" | "getBranchIds" | "getParent" | "getLatestLeaf" | "history"
>;

/** Makes writes of a run: `RunHold.write`. */
export type WriteRun = (writes: readonly KeptWrite[]) => Promise<readonly (readonly string[])[]>;

/**
 * A session to which a run writes. Its methods are those of `Session`, and each that writes resolves once it is stored, and
 * fails with `RUN_LOST` once the run is another process's.
 */
export interface RunSession extends ReadableSession {
  appendMessage(message: UIMessage, parentId?: string | null): Promise<void>;
  editMessage(messageId: string, message: UIMessage): Promise<void>;
  updateMessage(message: UIMessage): Promise<void>;
  upsertMessage(message: UIMessage, parentId: string | null): Promise<void>;
  setActiveLeaf(messageId: string): Promise<void>;
  /** Resolves to the id of the leaf. */
  selectBranch(messageId: string): Promise<string>;
}

export function runSession(session: Session, write: WriteRun): RunSession {
  const { id } = session;
  const one = async (change: KeptWrite): Promise<readonly string[]> => (await write([change]))[0] ?? [];
  return {
    id,
    getMessage: (messageId) => session.getMessage(messageId),
    getBranchIds: (messageId) => session.getBranchIds(messageId),
    getParent: (messageId) => session.getParent(messageId),
    getLatestLeaf: () => session.getLatestLeaf(),
    history: (options) => session.history(options),
    async appendMessage(message, parent) {
      await one({ session: id, append: [givenMessage(message)], parent });
    },
    async editMessage(messageId, message) {
      await one({ session: id, appendSibling: givenMessage(message), of: messageId });
    },
    async updateMessage(message) {
      await one({ session: id, update: givenMessage(message) });
    },
    async upsertMessage(message, parent) {
      await one({ session: id, upsert: givenMessage(message), parent });
    },
    async setActiveLeaf(messageId) {
      await one({ session: id, activeLeaf: messageId });
    },
    async selectBranch(messageId) {
      return (await one({ session: id, selectBranch: messageId }))[0] ?? messageId;
    },
  };
}
