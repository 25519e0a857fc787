import type { Operation } from "../engine/operation.js";

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
