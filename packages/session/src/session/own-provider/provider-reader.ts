import {
  applyCompactions,
  createLoadFinder,
  hideUnloaded,
  isSummaryMessage,
  type LoadFinder,
  NO_SKILLS,
  noCompaction,
  noMessage,
  queueOf,
  recordLoad,
  recordUnload,
  type SessionMessage,
  type SkillState,
  SUMMARY_ID_PREFIX,
} from "@stemma/model";
import type { StoredCompaction } from "@stemma/store";
import type { SkillLog } from "../../tools/tool.js";
import type { DatedOptions, SessionProvider } from "./provider.js";
/** Reads what a provider keeps that a user wrote. The id of a summary stands for the last message under it. */
export class ProviderReader {
  constructor(
    private readonly provider: SessionProvider,
    private readonly sessionId: string,
  ) {}

  async message(id: string, options?: DatedOptions): Promise<SessionMessage | null> {
    return (await this.provider.getMessage(id, ...asked(options))) ?? null;
  }

  async compactions(): Promise<StoredCompaction[]> {
    return [...(await this.provider.getCompactions())];
  }

  async named<Id extends string | null | undefined>(id: Id): Promise<Id | string> {
    if (!id || !isSummaryMessage({ id })) return id;
    return summaryBehind(id, await this.compactions())?.toMessageId ?? id;
  }

  /** The same for a message that must be there. Errors: `MESSAGE_NOT_FOUND`. */
  async known(id: string): Promise<string> {
    const messageId = await this.named(id);
    if ((await this.message(messageId)) === null) throw noMessage(this.sessionId, messageId);
    return messageId;
  }

  /** The visible history. Errors: `MESSAGE_NOT_FOUND`. */
  async history(leafId: string | null | undefined, options?: DatedOptions): Promise<SessionMessage[]> {
    const known = leafId == null ? undefined : await this.known(leafId);
    const path = await this.provider.getHistory(known, ...asked(options));
    return applyCompactions(path, await this.compactions());
  }

  /** The path without summaries, which a provider may lay over the messages itself. */
  async stored(leafId: string | null | undefined, options?: DatedOptions): Promise<SessionMessage[]> {
    const path = [...(await this.provider.getHistory(await this.named(leafId ?? undefined), ...asked(options)))];
    if (!path.some(isSummaryMessage)) return path;
    const found: SessionMessage[] = [];
    for (const each of path) {
      if (isSummaryMessage(each)) found.push(...(await this.originals(each.id.slice(SUMMARY_ID_PREFIX.length))));
      else found.push(each);
    }
    return found;
  }

  /** The messages under a summary. Errors: `COMPACTION_NOT_FOUND`. */
  async originals(compactionId: string): Promise<SessionMessage[]> {
    const compaction = (await this.compactions()).find(({ id }) => id === compactionId);
    if (compaction === undefined) throw noCompaction(this.sessionId, compactionId);
    const path = await this.provider.getHistory(compaction.toMessageId);
    const from = path.findIndex(({ id }) => id === compaction.fromMessageId);
    return from < 0 ? [] : path.slice(from);
  }

  /** Null for a root. Errors: `MESSAGE_NOT_FOUND`. */
  async parentOf(messageId: string): Promise<SessionMessage | null> {
    return (await this.stored(await this.known(messageId))).at(-2) ?? null;
  }
}

// A provider of the documents takes one argument.
function asked(options: DatedOptions | undefined): [] | [DatedOptions] {
  return options?.createdAt === true ? [{ createdAt: true }] : [];
}

/** The compaction whose summary has this id. */
export function summaryBehind(id: string, compactions: readonly StoredCompaction[]): StoredCompaction | undefined {
  return compactions.find((each) => SUMMARY_ID_PREFIX + each.id === id);
}

/**
 * The skills of a session on a provider that a user wrote, which has no place for them but its messages: those tell what is
 * loaded, and an unload empties the results there. Calls whose results are not stored yet are remembered until they are.
 */
export interface ProviderSkillLog extends SkillLog {
  /** The message as it is to be stored: emptied of what was unloaded before. Called within a turn. */
  emptied(message: SessionMessage): SessionMessage;
  /** Forgets all of it, within the turn that removes the messages. */
  clear(): void;
}

// By what the objects for one session have in common.
const states = new WeakMap<object, SkillState>();

export function providerSkillLog(provider: SessionProvider): ProviderSkillLog {
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => queueOf(provider).write("", work);
  const current = (): SkillState => states.get(provider) ?? NO_SKILLS;
  return {
    load: (label, key, toolCallId) =>
      inTurn(async () => {
        states.set(provider, recordLoad(current(), label, key, toolCallId));
      }),
    loaded: () => queueOf(provider).read("", async () => [...loadsIn(await provider.getHistory()).loads].reverse()),
    unload: (label, key) =>
      inTurn(async () => {
        const path = [...(await provider.getHistory())];
        const loaded = loadsIn(path)
          .callsOf(label, key)
          .reduce((before, id) => recordLoad(before, label, key, id ?? undefined), current());
        const next = recordUnload(loaded, label, key, 0);
        if (next === null) return false;
        const unloaded = { loaded: [], unloaded: next.unloaded.slice(-1) };
        for (const message of path) {
          const shorter = isSummaryMessage(message) ? message : hideUnloaded(message, 0, unloaded);
          if (shorter !== message) await provider.updateMessage(shorter);
        }
        states.set(provider, next);
        return true;
      }),
    emptied: (message) => hideUnloaded(message, null, current()),
    clear: () => {
      states.delete(provider);
    },
  };
}

function loadsIn(path: readonly SessionMessage[]): LoadFinder {
  const finder = createLoadFinder();
  for (const message of [...path].reverse()) finder.look(message);
  return finder;
}
