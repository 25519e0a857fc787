import { isoTime, parseQuery, type SessionMessage, searchableText, senderName } from "@stemma/model";
import { RECALL_HITS, type RecalledMessagePlace, type RecallResult, recallFrom, recallOfHits } from "@stemma/session";
import type { EmbeddedStore, SearchHit, Store } from "@stemma/store";
import { memory } from "@stemma/store/memory";
import { openWith } from "@stemma/store/sqlite";
import type { Place, Places } from "./measure.js";
import { conversationsOf, type EvalConversation, type EvalQuestion, type EvalSet, type PartOptions } from "./set.js";

/** Estimated tokens that a quote may have, which is what `prepareTurn` takes unless it is told otherwise. */
export const QUOTE_TOKENS = 1000;

const PIECE = 500;

/** Small talk: a prompt is to quote nothing for it. */
const SMALL_TALK: readonly string[] = [
  "thanks",
  "Thank you so much!",
  "go on",
  "ok 👍",
  "Yes, please do.",
  "sounds good",
  "Hello!",
  "Good morning",
  "haha",
  "No, that's wrong. Try again.",
  "What do you mean?",
  "great, what next?",
  "danke, mach weiter",
  "谢谢",
];

export interface AskOptions extends PartOptions {
  /** Opens an empty store for each conversation, which is closed afterwards. Default: `memory()`. */
  openStore?: (() => Store | Promise<Store>) | undefined;
  /** Puts all conversations into one store. Default false. */
  together?: boolean | undefined;
}

/** The hits for a question, best first, and how long the search took. */
export interface Answered {
  readonly hits: readonly Place[];
  readonly milliseconds: number;
  /** The beginning of the hits as `prepareTurn` quotes it to a model, and of which messages it is made. */
  readonly quote: string;
  readonly quoted: readonly Place[];
  /** Messages that a chat quotes by then, behind another question of the conversation; null where it is the first. */
  readonly inChat: readonly Place[] | null;
}

/** A question that was asked. */
export interface Asked extends Asking {
  readonly answered: Answered;
}

/** A question, and the conversation that it is asked of. */
export interface Asking {
  readonly conversation: string;
  readonly question: EvalQuestion;
}

/** A store that holds conversations, and the same in a bare full-text table. */
export class Haystack {
  readonly asking: Asking[] = [];
  readonly #places = new Map<string, Map<string, Map<string, number>>>();

  constructor(
    private readonly store: Store,
    private readonly isFilled: boolean,
    private readonly bm25: Bm25 | null,
  ) {}

  async add({ name, sessions, questions }: EvalConversation): Promise<void> {
    const places = new Map<string, Map<string, number>>();
    this.#places.set(name, places);
    for await (const { id, messages } of sessions) {
      const place = places.get(id) ?? new Map<string, number>();
      for (const message of messages) place.set(message.id, place.size);
      places.set(id, place);
      if (!this.isFilled) await this.#append(this.#storedId(name, id), messages);
      this.bm25?.add(this.#storedId(name, id), messages);
    }
    this.asking.push(...questions.map((question) => ({ conversation: name, question })));
  }

  /** Waits for what a store does with its messages in the background. */
  async settle(): Promise<void> {
    await (this.store as Partial<EmbeddedStore>).embeddings?.flush();
  }

  placesOf({ conversation }: Asking): Places {
    return this.#places.get(conversation) ?? new Map();
  }

  /** Asks the store, and also in a chat behind another question of the same conversation. */
  async ask(asking: Asking, before: Asked | null = null, maxTokens = QUOTE_TOKENS): Promise<Answered> {
    const { text } = asking.question;
    const started = performance.now();
    const hits = await this.store.search(text, { limit: RECALL_HITS, context: 1 });
    const answered = this.#answered(asking, hits, performance.now() - started, maxTokens);
    return before?.conversation === asking.conversation
      ? { ...answered, inChat: await this.#inChat(asking, before, maxTokens) }
      : answered;
  }

  /** Asks the bare table. */
  askBm25(asking: Asking): Answered {
    const started = performance.now();
    const hits = this.bm25?.search(asking.question.text, RECALL_HITS) ?? [];
    return this.#answered(asking, hits, performance.now() - started, QUOTE_TOKENS);
  }

  /** Estimated tokens that `prepareTurn` would quote for what is about nothing, such as "thanks", on average. */
  async smallTalk(): Promise<number> {
    const costs = await Promise.all(SMALL_TALK.map((said) => recallFrom(this.store, { said })));
    return costs.reduce((sum, { tokens }) => sum + tokens, 0) / SMALL_TALK.length;
  }

  async close(): Promise<void> {
    this.bm25?.close();
    if (!this.isFilled) await this.store.close();
  }

  async #append(sessionId: string, messages: readonly SessionMessage[]): Promise<void> {
    const session = this.store.session(sessionId);
    for (let start = 0; start < messages.length; start += PIECE) {
      await session.append(messages.slice(start, start + PIECE));
    }
  }

  // As `prepareTurn` does: what the question before was quoted is not quoted again.
  async #inChat({ conversation, question }: Asking, before: Asked, maxTokens: number): Promise<Place[]> {
    const { quoted } = before.answered;
    const known = new Set(quoted.map(nameOf));
    const { results } = await recallFrom(this.store, {
      said: question.text,
      before: `${before.question.text}\n${before.question.answer ?? ""}`,
      maxTokens,
      isKnown: (found) => found.kind === "message" && known.has(nameOf(this.#placeOf(conversation, found))),
    });
    return [...quoted, ...this.#placesOf(conversation, results)];
  }

  #answered({ conversation, question }: Asking, found: SearchHit[], milliseconds: number, maxTokens: number): Answered {
    const { text: quote, results } = recallOfHits(question.text, found, maxTokens);
    return {
      hits: found.map(({ sessionId, id: messageId }) => this.#placeOf(conversation, { sessionId, messageId })),
      milliseconds,
      quote,
      quoted: this.#placesOf(conversation, results),
      inChat: null,
    };
  }

  #placesOf(conversation: string, results: readonly RecallResult[]): Place[] {
    return results.flatMap((result) => (result.kind === "message" ? [this.#placeOf(conversation, result)] : []));
  }

  // Of another conversation in the same store: no session of this one has that name.
  #placeOf(conversation: string, { sessionId, messageId: id }: Omit<RecalledMessagePlace, "kind">): Place {
    const prefix = this.#storedId(conversation, "");
    const isOwn = sessionId.startsWith(prefix);
    return { sessionId: isOwn ? sessionId.slice(prefix.length) : `other ${sessionId}`, id };
  }

  #storedId(conversation: string, session: string): string {
    return this.isFilled ? session : `${conversation}/${session}`;
  }
}

function nameOf({ sessionId, id }: Place): string {
  return JSON.stringify([sessionId, id]);
}

/** The stores of a run, one after the other, each filled with its conversations. They are closed when the next is asked for. */
export async function* haystacks(set: EvalSet, options: AskOptions, withBm25: boolean): AsyncGenerator<Haystack> {
  const { openStore = memory, together = false } = options;
  const open = async () =>
    new Haystack(set.store ?? (await openStore()), set.store !== undefined, withBm25 ? new Bm25() : null);
  let haystack: Haystack | null = null;
  try {
    for await (const conversation of conversationsOf(set, options)) {
      haystack ??= await open();
      await haystack.add(conversation);
      if (together) continue;
      await haystack.settle();
      yield haystack;
      await haystack.close();
      haystack = null;
    }
    if (haystack === null) return;
    await haystack.settle();
    yield haystack;
  } finally {
    await haystack?.close();
  }
}

/** Chinese, Japanese or Korean text, which FTS5 would take for one word. */
const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]+/gu;

interface FoundRow {
  readonly session: string;
  readonly id: string;
  readonly role: string;
  readonly name: string;
  readonly created: string;
  readonly content: string;
  readonly score: number;
}

/**
 * The search that a program without Stemma would write: one FTS5 table of SQLite with the senders and texts of messages, and a query that asks for
 * any of the words but stop-words, best first by `bm25()`. Chinese, Japanese and Korean are cut into pairs of characters.
 */
class Bm25 {
  readonly #database = openWith(":memory:");
  readonly #insert;
  readonly #search;

  constructor() {
    const columns =
      "session UNINDEXED, id UNINDEXED, role UNINDEXED, name UNINDEXED, created UNINDEXED, content UNINDEXED";
    this.#database.exec(`CREATE VIRTUAL TABLE messages USING fts5(text, ${columns}, tokenize = 'porter unicode61')`);
    this.#insert = this.#database.prepare("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)");
    this.#search = this.#database.prepare(
      "SELECT session, id, role, name, created, content, -bm25(messages) AS score FROM messages WHERE messages MATCH ? ORDER BY rank LIMIT ?",
    );
  }

  add(sessionId: string, messages: readonly SessionMessage[]): void {
    this.#database.exec("BEGIN");
    for (const message of messages) {
      const [content, name] = [searchableText(message), senderName(message)];
      const row = [sessionId, message.id, message.role, name, isoTime(message.createdAt) ?? "", content];
      this.#insert.run(...([inPairs(`${name} ${content}`), ...row] as never[]));
    }
    this.#database.exec("COMMIT");
  }

  search(query: string, limit: number): SearchHit[] {
    const { words: plain, runs } = parseQuery(query);
    const words = new Set(inPairs([...plain, ...runs].join(" ")).match(/[\p{L}\p{N}]+/gu));
    if (words.size === 0) return [];
    const match = [...words].map((word) => `"${word}"`).join(" OR ");
    const rows = this.#search.all(...([match, limit] as never[])) as FoundRow[];
    return rows.map(({ session: sessionId, name, created, ...row }) => {
      const hit = { ...row, sessionId, createdAt: created, snippet: "", coveredBy: [] };
      return name === "" ? hit : { ...hit, name };
    });
  }

  close(): void {
    this.#database.close();
  }
}

function inPairs(text: string): string {
  return text.replace(CJK, (run) => {
    const characters = [...run];
    const pairs = characters.slice(1).map((character, index) => `${characters[index]}${character}`);
    return ` ${pairs.length === 0 ? run : pairs.join(" ")} `;
  });
}
