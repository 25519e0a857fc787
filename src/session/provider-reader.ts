import { applyCompactions } from "../model/compactions.js";
import { isSummaryMessage, type SessionMessage, SUMMARY_ID_PREFIX } from "../model/message.js";
import { noCompaction, noMessage } from "../model/tree-errors.js";
import type { StoredCompaction } from "../storage/contract.js";
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
