import type { SessionMessage } from "@stemma/model";
import { isMarked, summaryMessage } from "@stemma/model";
import type { StoredMessage, StreamOptions } from "../../contract/store.js";
import type { Dialect, PathOptions } from "../../engine/dialect.js";
import { all, type Operation } from "../../engine/operation.js";
import { assertCount } from "../assert-storable.js";
import { type ContentRow, readRows } from "../messages/content.js";
import { rowAfter } from "../messages/damage.js";
import { ceilingOf, findPosition, findSessionHead, floorOf, messageNotFound } from "../registry/session-head.js";
import type { PathSpan, Segment } from "./path.js";
import { openView, readViewPage, type View } from "./path.js";

const FIRST_PAGE = 32;
const MOST_AT_FIRST = 64;
const MAX_PAGE = 512;

type StreamPathOptions = PathOptions & Pick<StreamOptions, "newestFirst" | "after" | "firstPage">;

/**
 * The operation behind `SessionStore.stream`. The call itself finds the path and reads the first page; each further page is a transaction
 * of its own, so a message that is edited or deleted before its page is read is seen as it is then.
 */
export function streamPath(
  sql: Dialect,
  read: ReadOperation,
  sessionId: string,
  options: StreamPathOptions,
): AsyncGenerator<SessionMessage, void, undefined> {
  return streamPages(read, () => openStream(sql, sessionId, options, MESSAGES));
}

/** The operation behind `SessionStore.lines`. */
export function streamLines(
  sql: Dialect,
  read: ReadOperation,
  sessionId: string,
  options: StreamPathOptions,
): AsyncGenerator<string, void, undefined> {
  return streamPages(read, () => openStream(sql, sessionId, options, LINES));
}

/** A way of giving the messages of a page. */
interface Form<Item> {
  /** Of a page, about: as many as somebody reads at once, and holds meanwhile. */
  readonly pageBytes: number;
  /** `content` is what the message's row holds; null where it is shown otherwise. */
  itemOf(message: SessionMessage, content: string | null): Item;
  page(items: Item[]): readonly Item[];
}

const MESSAGES: Form<SessionMessage> = {
  pageBytes: 128 * 1024,
  itemOf: (message) => message,
  page: (items) => items,
};

const LINES: Form<string> = {
  pageBytes: 32 * 1024,
  // What another program wrote may have line breaks.
  itemOf: (message, content) =>
    `${content === null || isMarked(content) || content.includes("\n") ? JSON.stringify(message) : content}\n`,
  page: (items) => (items.length === 0 ? items : [items.join("")]),
};

function* openStream<Item>(
  sql: Dialect,
  sessionId: string,
  options: StreamPathOptions,
  form: Form<Item>,
): Operation<MessagePage<Item>> {
  const { newestFirst = false, after, firstPage = FIRST_PAGE } = options;
  assertCount(firstPage, "The firstPage of a stream");
  const view = yield* openView(sql, sessionId, options);
  if (view === null) return NO_MESSAGES;
  const spans = after === undefined ? view.spans : yield* spansBehind(sessionId, view.spans, after, newestFirst);
  return yield* readSpans(
    view,
    newestFirst ? spans : spans.slice().reverse(),
    Math.min(firstPage, MOST_AT_FIRST),
    options,
    form,
  );
}

// What is left of a path to read behind one of the messages that it shows. Errors: `MESSAGE_NOT_FOUND`.
function* spansBehind(
  sessionId: string,
  spans: readonly PathSpan[],
  after: string,
  newestFirst: boolean,
): Operation<readonly PathSpan[]> {
  const summary = spans.findIndex((span) => "compaction" in span && summaryMessage(span.compaction).id === after);
  if (summary >= 0) return newestFirst ? spans.slice(0, summary) : spans.slice(summary + 1);
  const position = (yield* findPosition(sessionId, after)) ?? messageNotFound(sessionId, after);
  const at = spans.findIndex(
    (span) =>
      "range" in span &&
      span.range.branch === position.branch &&
      span.range.lo <= position.rowId &&
      position.rowId <= span.range.hi,
  );
  if (at < 0) return messageNotFound(sessionId, after);
  const { range } = spans[at] as { readonly range: Segment };
  const rest = newestFirst ? { ...range, hi: position.rowId - 1 } : { ...range, lo: position.rowId + 1 };
  const own = rest.lo > rest.hi ? [] : [{ range: rest }];
  return newestFirst ? [...spans.slice(0, at), ...own] : [...own, ...spans.slice(at + 1)];
}

// Reads `limit` messages, of as many spans as it takes. Of `spans`, the next one to read is the last.
function* readSpans<Item>(
  view: View,
  spans: readonly PathSpan[],
  limit: number,
  options: StreamPathOptions,
  form: Form<Item>,
): Operation<MessagePage<Item>> {
  const { newestFirst = false } = options;
  const rest = spans.slice();
  const items: Item[] = [];
  let bytes = 0;
  while (items.length < limit) {
    const span = rest.pop();
    if (span === undefined) break;
    if ("compaction" in span) {
      items.push(form.itemOf(summaryMessage(span.compaction), null));
      continue;
    }
    const { range } = span;
    const wanted = { newestFirst, limit: limit - items.length, later: true };
    const page = yield* readViewPage(view, range, wanted, options);
    for (const [index, message] of page.messages.entries()) {
      items.push(form.itemOf(message, page.contents[index] ?? null));
    }
    for (const size of page.bytes) bytes += size;
    if (!page.full) continue;
    const last = page.last as number;
    rest.push({ range: newestFirst ? { ...range, hi: last - 1 } : { ...range, lo: last + 1 } });
  }
  const messages = form.page(items);
  if (rest.length === 0) return { messages, next: null };
  // Pages hold about as many bytes as each other, whatever the size of a message.
  const fitting = Math.floor((form.pageBytes * items.length) / Math.max(bytes, 1));
  const more = Math.max(1, Math.min(MAX_PAGE, limit * 2, fitting));
  return { messages, next: () => readSpans(view, rest, more, options, form) };
}

/** Runs an operation that reads, in a transaction of its own. */
export type ReadOperation = <T>(operation: () => Operation<T>) => Promise<T>;

/** Messages that were read at once. */
export interface MessagePage<Message> {
  readonly messages: readonly Message[];
  /** Reads the page behind it; null where there is none. */
  readonly next: (() => Operation<MessagePage<Message>>) | null;
}

/** The messages of page after page. The first page is read by the call itself. */
export function streamPages<Message>(
  read: ReadOperation,
  open: () => Operation<MessagePage<Message>>,
): AsyncGenerator<Message, void, undefined> {
  const first = read(open);
  // Whoever iterates is told of a failure; perhaps nobody does.
  first.catch(() => {});
  return messagesFrom(read, first);
}

async function* messagesFrom<Message>(
  read: ReadOperation,
  first: Promise<MessagePage<Message>>,
): AsyncGenerator<Message, void, undefined> {
  for (let page = await first; ; ) {
    yield* page.messages;
    if (page.next === null) return;
    page = await read(page.next);
  }
}

export const NO_MESSAGES = { messages: [], next: null };

/** The operation behind `SessionStore.messages`. Each page is a transaction of its own. */
export function streamMessages(
  sql: Dialect,
  read: ReadOperation,
  sessionId: string,
): AsyncGenerator<StoredMessage, void, undefined> {
  return streamPages(read, () => readStoredPage(sql, sessionId, 0));
}

const STORED_PAGE = 128;

interface StoredRow extends ContentRow {
  readonly parent_id: string | null;
  readonly dated_at: string | null;
  readonly created_at: string;
}

function* readStoredPage(sql: Dialect, sessionId: string, after: number): Operation<MessagePage<StoredMessage>> {
  const head = yield* findSessionHead(sql, sessionId);
  if (head === null) return NO_MESSAGES;
  const from = Math.max(after, floorOf(head.sessionNumber));
  const rows = yield* all<StoredRow>(
    ...head.rows.where(
      "SELECT n, parent_id, dated_at, created_at, content FROM assistant_messages",
      `n BETWEEN ? AND ? ORDER BY n LIMIT ${STORED_PAGE}`,
      from,
      ceilingOf(head.sessionNumber),
    ),
  );
  const read = yield* readRows(
    head.rows,
    rows.map(({ n: rowId, content }) => [rowId, content]),
  );
  const messages = rows.map(({ parent_id, dated_at, created_at }, index) => ({
    message: read[index] as SessionMessage,
    parentId: parent_id,
    createdAt: dated_at ?? created_at,
    storedAt: created_at,
  }));
  const last = rows.length < STORED_PAGE ? undefined : rows.at(-1);
  if (last === undefined) return { messages, next: null };
  const next = rowAfter(last.n, from);
  return { messages, next: () => readStoredPage(sql, sessionId, next) };
}
