import { isoTime, parseQuery, type SessionMessage, searchableText, senderName } from "@stemma/model";
import type { SearchHit } from "@stemma/store";
import { openWith } from "@stemma/store/sqlite";

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
export class Bm25 {
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
