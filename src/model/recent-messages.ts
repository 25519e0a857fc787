import type { SessionMessage } from "./message.js";
import { utf8Length } from "./utf8.js";

/** How many bytes a message has as JSON. */
export const jsonBytes = (message: SessionMessage): number => utf8Length(JSON.stringify(message));

/** Takes messages for `SessionStore.recent`, the newest first. `done` gives what that resolves to. */
export function takeRecent(maxBytes: number, minMessages: number) {
  const newestFirst: SessionMessage[] = [];
  let total = 0;
  return {
    /** Takes a message if there is room for it. */
    take(message: SessionMessage, bytes: number): boolean {
      if (newestFirst.length >= minMessages && total + bytes > maxBytes) return false;
      newestFirst.push(message);
      total += bytes;
      return true;
    },
    done: (truncated: boolean) => ({
      messages: newestFirst.reverse(),
      truncated,
      totalContentBytes: total,
    }),
  };
}
