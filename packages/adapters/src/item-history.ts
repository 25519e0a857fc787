import { type JsonObject, queueOf, type SessionMessage, StemmaError } from "@stemma/model";
import { assertSession, coreOf, type Session, storeNeeded } from "@stemma/session";
import { type KeptWrite, type ListRecordsOptions, listAll, type RecordScope } from "@stemma/store";
import { findItems, type ItemCodec, itemsOfEach, toMessages, withItems } from "./item-messages.js";

/** Tries of a change against other writers. Each failure is another one's success. */
const MAX_TRIES = 100;

/** The record that gets another version with each change that rests on what was read before. */
const CHANGED = "changed";

/**
 * A session's visible history as the items of a framework. Calls take effect in the order in which they are made. Every
 * method can fail as `Session`'s methods do, and with `STORE_UNSUPPORTED` on a session of a `SessionProvider`.
 */
export class ItemHistory {
  /** `what` is made of it. Errors: `INVALID_ARGUMENT` for what is no session. */
  constructor(
    readonly session: Session,
    readonly codec: ItemCodec,
    what: string,
  ) {
    assertSession(session, what);
  }

  /** The records in which the adapter keeps what it needs beside the messages. */
  get scope(): RecordScope {
    return { sessionId: this.session.id, label: this.codec.name };
  }

  get core() {
    const core = coreOf(this.session);
    if (core.store === null) throw storeNeeded("An adapter");
    return core;
  }

  /** The newest `limit` items, or all of them, oldest first. */
  read(limit?: number): Promise<JsonObject[]> {
    return this.inOrder(async () => {
      const messages = limit === undefined ? await this.session.getHistory() : await this.#newest(limit);
      const items = itemsOfEach(this.codec, messages).flat();
      return limit === undefined ? items : items.slice(Math.max(0, items.length - limit));
    });
  }

  /** Adds items at the end, all or none. Results of the calls in the last message go into that message. */
  append(items: readonly JsonObject[]): Promise<void> {
    const [first] = items;
    return this.inOrder(async () => {
      if (first === undefined) return;
      if (this.codec.answers(first) === null) await this.session.appendAll(toMessages(this.codec, items));
      else await this.#change(async () => addedItems(this, await this.last(), items));
    });
  }

  /** Makes the items the history, as a new root. What was there stays stored. */
  replace(items: readonly JsonObject[]): Promise<void> {
    return this.inOrder(async () => {
      const session = this.session.id;
      const messages = toMessages(this.codec, items);
      const write = messages.length === 0 ? { activeLeaf: null } : { append: messages, parent: null };
      await this.#together([{ session, ...write }]);
    });
  }

  /** Removes all messages, and the adapter's records. */
  clear(): Promise<void> {
    return this.inOrder(async () => {
      const { records } = this.core;
      const writes: KeptWrite[] = [{ session: this.session.id, clear: true }];
      for await (const { key } of allPages(records, this.scope, {}))
        writes.push({ records: this.scope, key, value: null });
      await this.#together(writes);
    });
  }

  /** Makes a change that rests on what `plan` reads: when others wrote meanwhile, `plan` is called again. */
  change(plan: () => Promise<KeptWrite[]>): Promise<void> {
    return this.inOrder(() => this.#change(plan));
  }

  async path(): Promise<ItemPath> {
    const leaf = await this.session.getLatestLeaf();
    const messages = leaf === null ? [] : await this.session.getHistory(leaf.id);
    return { messages, items: itemsOfEach(this.codec, messages), leafId: leaf?.id ?? null };
  }

  /** The newest visible message. */
  async last(): Promise<SessionMessage | null> {
    for await (const message of this.session.history({ newestFirst: true })) return message;
    return null;
  }

  inOrder<T>(work: () => Promise<T>): Promise<T> {
    // Refused before it waits for others.
    const { store: _store } = this.core;
    return queueOf(this.session).write("items", work);
  }

  async #change(plan: () => Promise<KeptWrite[]>): Promise<void> {
    const { records } = this.core;
    for (let tries = 1; ; tries += 1) {
      const changed = await records.get(this.scope, CHANGED);
      const writes = await plan();
      if (writes.length === 0) return;
      const options = { expectedVersion: changed?.version ?? 0 };
      try {
        await this.#together([{ records: this.scope, key: CHANGED, value: new Uint8Array(), options }, ...writes]);
        return;
      } catch (error) {
        if (!isOvertaken(error) || tries === MAX_TRIES) throw error;
      }
    }
  }

  async #together(writes: readonly KeptWrite[]): Promise<void> {
    const { settled } = await this.core.together(writes);
    await settled;
  }

  /** The newest messages that hold `limit` items, oldest first. */
  async #newest(limit: number): Promise<SessionMessage[]> {
    const newest: SessionMessage[] = [];
    let count = 0;
    if (limit <= 0) return [];
    for await (const message of this.session.history({ newestFirst: true })) {
      newest.push(message);
      count += itemsOfEach(this.codec, [message]).flat().length;
      if (count >= limit) break;
    }
    return newest.reverse();
  }
}

function isOvertaken(error: unknown): boolean {
  return StemmaError.isInstance(error) && (error.code === "RECORD_CONFLICT" || error.code === "LEAF_MOVED");
}

/** All records or entries of a scope, or those that the options name, page by page. */
export function allPages<Scope, Item extends { readonly key: string }>(
  store: { list(scope: Scope, options: ListRecordsOptions): Promise<readonly Item[]> },
  scope: Scope,
  options: Omit<ListRecordsOptions, "limit">,
  limit = 100,
): AsyncGenerator<Item> {
  const { after } = options;
  return listAll(
    (page) => store.list(scope, { ...options, ...page }),
    ({ key }) => key,
    { after, limit },
  );
}

/** A session's visible history and its items. */
interface ItemPath {
  /** The visible messages, oldest first. */
  readonly messages: readonly SessionMessage[];
  /** The items of each. */
  readonly items: readonly JsonObject[][];
  /** The active leaf; null for none. */
  readonly leafId: string | null;
}

/** Whose items, and how messages hold them. */
interface ItemSession {
  readonly session: { readonly id: string };
  readonly codec: ItemCodec;
}

interface ItemPlace {
  readonly parent?: string | null;
  readonly expectedLeaf?: string | null;
}

/** The writes that add items at the active leaf, or where `place` says; `last` is the message before them. */
export function addedItems(
  { codec, session: { id: session } }: ItemSession,
  last: SessionMessage | null,
  items: readonly JsonObject[],
  place: ItemPlace = {},
): KeptWrite[] {
  const known = last === null ? [] : (findItems(codec, last) ?? []);
  const answered = new Set(known.map((item) => codec.answers(item)));
  const open = new Set(known.flatMap((item) => codec.calls(item)).filter((id) => !answered.has(id)));
  const end = items.findIndex((item) => !open.delete(codec.answers(item) ?? ""));
  const answers = end === -1 ? items : items.slice(0, end);
  const others = toMessages(codec, items.slice(answers.length));
  const writes: KeptWrite[] = others.length === 0 ? [] : [{ session, append: others, ...place }];
  if (last === null || answers.length === 0) return writes;
  return [{ session, update: withItems(codec, last, [...known, ...answers]) }, ...writes];
}

/** The writes that leave the first `kept` items of a path and put others behind them, as a branch where that cuts any. */
export function cutItems(
  history: ItemSession,
  { messages, items, leafId }: ItemPath,
  remaining: number,
  others: readonly JsonObject[],
): KeptWrite[] {
  const { codec, session } = history;
  let whole = 0;
  let left = remaining;
  for (; whole < items.length && (items[whole]?.length ?? 0) <= left; whole += 1) left -= items[whole]?.length ?? 0;
  const last = messages[whole - 1] ?? null;
  const place = { parent: last?.id ?? null, expectedLeaf: leafId };
  const rest = items[whole]?.slice(0, left) ?? [];
  if (rest.length > 0) return [{ session: session.id, append: toMessages(codec, [...rest, ...others]), ...place }];
  const writes = addedItems(history, last, others, place);
  const moves = whole < messages.length && !writes.some((write) => "append" in write);
  return moves ? [...writes, { session: session.id, activeLeaf: place.parent, expectedLeaf: leafId }] : writes;
}
