import { forEachYielding, inTurns, mapped } from "../event-loop.js";
import { assertEncodable } from "../model/codec.js";
import { givenMessage } from "../model/given-message.js";
import { isSummary, type SessionMessage, SUMMARY_ID_PREFIX } from "../model/message.js";
import { leafMoved, noParent } from "../model/tree-errors.js";
import type { AppendResult, ParentRef } from "../storage/contract.js";
import type { SessionProvider } from "./provider.js";
import type { ProviderReader } from "./provider-reader.js";
import type { ProviderSkillLog } from "./provider-skill-log.js";

/** Writes messages to a provider that a user wrote. Each is checked before anything is written. */
export class ProviderWriter {
  constructor(
    private readonly provider: SessionProvider,
    private readonly reader: ProviderReader,
    private readonly sessionId: string,
    private readonly skills: Pick<ProviderSkillLog, "emptied">,
  ) {}

  async append(
    given: readonly SessionMessage[],
    parentId: ParentRef,
    expectedLeaf: string | null | undefined,
  ): Promise<AppendResult> {
    const valid = await this.#withoutSummaries(await inTurns(mapped(given, givenMessage)));
    await forEachYielding(valid, assertEncodable);
    if (expectedLeaf !== undefined) await this.#assertLeaf(valid, expectedLeaf);
    const messages = valid.map(this.skills.emptied);
    const insertedIds: string[] = [];
    let parent = parentId;
    for (const each of messages) {
      if (await this.#insert(each, parent)) insertedIds.push(each.id);
      parent = each.id;
    }
    const [one] = messages;
    const isKnown = one !== undefined && messages.length === 1 && insertedIds.length === 0;
    const lastId = messages.at(-1)?.id ?? (await this.provider.getLatestLeaf())?.id ?? null;
    const stored = isKnown ? await this.reader.message(one.id) : undefined;
    return { insertedIds, lastId, visibleTokens: null, stored };
  }

  async appendSibling(siblingId: string, given: SessionMessage): Promise<AppendResult> {
    assertEncodable(given);
    const parent = await this.reader.parentOf(siblingId);
    const inserted = await this.#insert(this.skills.emptied(given), parent?.id ?? null);
    const stored = inserted ? undefined : await this.reader.message(given.id);
    return { insertedIds: inserted ? [given.id] : [], lastId: given.id, visibleTokens: null, stored };
  }

  /** Resolves to whether the message was inserted. */
  async upsert(given: SessionMessage, parentId: ParentRef): Promise<boolean> {
    if ((await this.#withoutSummaries([given])).length === 0) return false;
    assertEncodable(given);
    const shown = this.skills.emptied(given);
    const inserted = await this.#insert(shown, parentId);
    if (!inserted) await this.provider.updateMessage(shown);
    return inserted;
  }

  async update(given: SessionMessage): Promise<void> {
    if ((await this.#withoutSummaries([given])).length === 0) return;
    assertEncodable(given);
    await this.reader.known(given.id);
    await this.provider.updateMessage(this.skills.emptied(given));
  }

  async #insert(given: SessionMessage, parent: ParentRef): Promise<boolean> {
    const { provider, reader, sessionId } = this;
    if ((await reader.message(given.id)) !== null) return false;
    const parentId = await reader.named(parent);
    const isMissing = typeof parentId === "string" && (await reader.message(parentId)) === null;
    if (isMissing) throw noParent({ sessionId, parentId });
    // The provider may keep it; the caller is given the other one.
    const own = structuredClone(given);
    // Not every provider tells a missing argument from an undefined one.
    await (parentId === undefined ? provider.appendMessage(own) : provider.appendMessage(own, parentId));
    return true;
  }

  // Only ids of compactions that are really this session's are passed over; others are refused as reserved.
  async #withoutSummaries(messages: readonly SessionMessage[]): Promise<readonly SessionMessage[]> {
    if (!messages.some(isSummary)) return messages;
    const ids = new Set((await this.reader.compactions()).map(({ id }) => SUMMARY_ID_PREFIX + id));
    return messages.filter((each) => !isSummary(each) || !ids.has(each.id));
  }

  // What inserts nothing changes nothing wherever the leaf is.
  async #assertLeaf(given: readonly SessionMessage[], expected: string | null): Promise<void> {
    let isAnyNew = false;
    for (const { id } of given) isAnyNew ||= (await this.reader.message(id)) === null;
    const leafId = (await this.provider.getLatestLeaf())?.id ?? null;
    if (isAnyNew && leafId !== (await this.reader.named(expected))) throw leafMoved(this.sessionId, expected, leafId);
  }
}
