import { givenMessage, StemmaError } from "@stemma/model";
import { coreOf, isUnderWay, type KnownRun, Renewal, type RunState, type Session } from "@stemma/session";
import type { KeptWrite } from "@stemma/store";
import type { UIMessage } from "ai";
import type { RunLog } from "./log.js";
/**
 * A run that this process took. Its record says whose the run is: every write looks at it in its own
 * transaction, so whoever stood still while another process took the run over writes nothing more. Writes are made one after
 * the other, in the order of the calls. Each method fails with `RUN_LOST` once the run is another one's.
 */
export class RunHold {
  /** True once the record was found to be gone, with its session. */
  isDeleted = false;
  /** Never rejects. */
  #before: Promise<unknown> = Promise.resolve();
  /** The writes that were started, which nobody waits for. */
  #settled: Promise<unknown> = Promise.resolve();
  #renewal: Renewal;

  constructor(
    private readonly session: Session,
    private readonly log: RunLog,
    private known: KnownRun,
  ) {
    this.#renewal = new Renewal(known.state.lease);
  }

  /** The run as it was when this process last looked. */
  get state(): RunState {
    return this.known.state;
  }

  /** Waits for compactions that writes have started. */
  get settled(): Promise<unknown> {
    return this.#settled;
  }

  /** Makes writes, all of them or none; resolves to the ids that `writeTogether` tells, once they are stored. Errors: also those of the writes. */
  write(writes: readonly KeptWrite[]): Promise<readonly (readonly string[])[]> {
    return this.#inOrder(async () => {
      for (;;) {
        try {
          const written = await coreOf(this.session).together([this.log.asOf(this.known.version), ...writes]);
          this.#settled = Promise.all([this.#settled, written.settled]);
          return written.ids.slice(1);
        } catch (error) {
          if (!StemmaError.isInstance(error, "RECORD_CONFLICT")) throw error;
          await this.#look();
        }
      }
    });
  }

  look(): Promise<RunState> {
    return this.#inOrder(() => this.#look());
  }

  change(change: Partial<RunState>): Promise<void> {
    return this.#inOrder(async () => {
      for (;;) {
        const { state, version } = this.known;
        const written = await this.log.write({ ...state, ...change }, version);
        if (written !== null) {
          this.known = written;
          return;
        }
        await this.#look();
      }
    });
  }

  /** Says that the process lives, where it is time to. */
  async renew(): Promise<void> {
    if (!this.#renewal.isDue) return;
    const { lease } = this.state;
    const renewal = new Renewal(lease);
    await this.change({ leaseUntil: await this.log.leaseEnd(lease) });
    this.#renewal = renewal;
  }

  /** True once other processes may have taken the run over. */
  get isLeaseOver(): boolean {
    return this.#renewal.isOver;
  }

  lost(): StemmaError {
    const message =
      "Another process took this answer over, because this one had not responded for too long. Load the chat again to see the answer, or resume its stream.";
    return new StemmaError("RUN_LOST", { sessionId: this.session.id, runId: this.state.runId }, message);
  }

  async #look(): Promise<RunState> {
    const known = await this.log.read();
    this.isDeleted = known === null;
    if (known === null || known.state.owner !== this.state.owner || !isUnderWay(known.state)) {
      throw this.lost();
    }
    this.known = known;
    return known.state;
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#before.then(work);
    this.#before = done.catch(() => {});
    return done;
  }
}

export type ReadableSession = Pick<
  Session,
  "id" | "getMessage" | "getBranchIds" | "getParent" | "getLatestLeaf" | "history"
>;

export type WriteRun = (writes: readonly KeptWrite[]) => Promise<readonly (readonly string[])[]>;

/**
 * A session to which a run writes. Its methods are those of `Session`, and each that writes resolves once it is stored, and
 * fails with `RUN_LOST` once the run is another process's.
 */
export interface RunSession extends ReadableSession {
  appendMessage(message: UIMessage, parentId?: string | null): Promise<void>;
  /** Appends a message below the active leaf, which is this one. Errors: `MESSAGE_EXISTS`, `LEAF_MOVED`. */
  appendNew(message: UIMessage, leafId: string | null): Promise<void>;
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
    async appendNew(message, expectedLeaf) {
      await one({ session: id, append: [givenMessage(message)], expectedLeaf, onlyNew: true });
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
