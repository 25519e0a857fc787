import { decodeJson, encodeJson, type JsonObject } from "@stemma/model";
import type { KeptWrite, RecordScope, Store, StoredMessage } from "@stemma/store";
import { allPages } from "../../item-history.js";
import type { PlacedEntry } from "./entries.js";
import { isMadeOf, isMadeUuid } from "./made-content.js";
export interface TranscriptHead {
  /** The place that the next entry gets. */
  readonly next: number;
  /** When it was last appended to, in milliseconds since 1970. */
  readonly mtime: number;
  /** The SDK's summary; null for a sub-agent, which has none. */
  readonly summary: JsonObject | null;
}

const HEAD = "head";
const ENTRIES = "entry/";
const PAGE = 200;

/** A transcript in the session `id` of a store: its messages are the session's, everything else is in records. */
export class Transcript {
  readonly #scope: RecordScope;

  constructor(
    private readonly store: Store,
    readonly id: string,
  ) {
    this.#scope = { sessionId: id, label: "claude" };
  }

  /** Null for one that was never written; with the version that it is written over. */
  async head(): Promise<(TranscriptHead & { readonly version: number }) | null> {
    const record = await this.store.records.get(this.#scope, HEAD);
    return record === null ? null : { ...(decodeJson(record.value) as TranscriptHead), version: record.version };
  }

  /** An entry that was appended, by its uuid: whether it is a message, and the message that what follows it belongs to. */
  async find(uuid: string): Promise<{ readonly parent: string | null } | null> {
    const record = await this.store.records.get(this.#scope, keyOfUuid(uuid));
    if (record !== null) return decodeJson(record.value) as ApartEntry;
    const message = await this.store.session(this.id).message(uuid);
    return message === null ? this.#findMade(uuid) : { parent: uuid };
  }

  writeHead(head: TranscriptHead, expectedVersion: number): KeptWrite {
    return { records: this.#scope, key: HEAD, value: encodeJson(head), options: { expectedVersion } };
  }

  writeEntry(placed: ApartEntry): KeptWrite {
    const { uuid } = placed.entry;
    const key = typeof uuid === "string" ? keyOfUuid(uuid) : `${ENTRIES}${placed.n}`;
    return { records: this.#scope, key, value: encodeJson(placed) };
  }

  /** Reads the messages that are stored of it, up to the place `end`. */
  async read(end: number): Promise<StoredTranscript> {
    const messages: StoredMessage[] = [];
    for await (const stored of this.store.session(this.id).messages()) messages.push(stored);
    const apart: ApartEntry[] = [];
    for await (const { value } of allPages(this.store.records, this.#scope, { prefix: ENTRIES }, PAGE))
      apart.push(decodeJson(value) as ApartEntry);
    return { messages, apart, end };
  }

  /** The message of another program that an entry was made of; null where there is none. */
  async #findMade(uuid: string): Promise<{ readonly parent: string } | null> {
    if (!isMadeUuid(uuid)) return null;
    const session = this.store.session(this.id);
    for (let after: string | undefined; ; ) {
      // Claude goes on from a new one, as a rule.
      const { nodes, next } = await session.treePage({ after, limit: PAGE });
      const found = nodes.find(({ id }) => isMadeOf(uuid, id));
      if (found !== undefined) return { parent: found.id };
      if (next === null) return null;
      after = next;
    }
  }
}

// What has a uuid is stored once.
function keyOfUuid(uuid: string): string {
  return `${ENTRIES}uuid/${encodeURIComponent(uuid.toWellFormed())}`;
}

/** An entry that is no message, as a record keeps it. */
export interface ApartEntry extends PlacedEntry {
  /** The message that an entry below this one belongs to; null for none. */
  readonly parent: string | null;
}

export interface StoredTranscript {
  /** In the order in which they were written, those of other programs among them. */
  readonly messages: readonly StoredMessage[];
  readonly apart: readonly ApartEntry[];
  /** The place that the next entry gets: what has a later one is not part of it yet. */
  readonly end: number;
}
