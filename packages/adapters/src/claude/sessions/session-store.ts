import { Queue } from "@stemma/model";
import type { SessionInfo } from "@stemma/store";
import { storeOf } from "@stemma/store";
import { appendEntries } from "./append.js";
import { entriesInOrder } from "./timeline.js";
import { Transcript, type TranscriptHead } from "./transcript.js";
import type { ClaudeSessionStore } from "./types.js";
import { lastPart, projectPrefix, sessionIdOf } from "./types.js";

const PAGE = 500;

/**
 * The `SessionStore` of the Claude Agent SDK on a store: pass it as `sessionStore` to `query()` and to the SDK's functions. A
 * transcript is the session `claude/<projectKey>/<sessionId>[/<subpath>]`: what users and assistants say is its tree of
 * messages, everything else is kept beside them word for word. Appends take effect in the order in which they are made; each
 * is one transaction, whatever process it runs in. On a store of one user (`store.forUser(id)`) it holds that user's only.
 * Errors: `STORE_UNSUPPORTED`; of its methods `INVALID_ARGUMENT`, `DRIVER_MISSING` without the SDK, and those of the store.
 */
export function claudeSessionStore(host: object): ClaudeSessionStore {
  const store = storeOf(host);
  const order = new Queue();

  const sessionsBelow = async (idPrefix: string): Promise<SessionInfo[]> => {
    const found: SessionInfo[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await store.sessions.list({ idPrefix, limit: PAGE, cursor });
      found.push(...page.sessions);
      if (page.nextCursor === null) return found;
      cursor = page.nextCursor;
    }
  };

  // The transcripts whose id is the prefix and one part more.
  const written = async (prefix: string): Promise<{ name: string; head: TranscriptHead }[]> => {
    const ids = (await sessionsBelow(prefix))
      .map(({ id }) => id)
      .filter((id) => !id.slice(prefix.length).includes("/"));
    const heads = await Promise.all(ids.map((id) => new Transcript(store, id).head()));
    return ids.flatMap((id, index) => {
      const head = heads[index] ?? null;
      return head === null ? [] : [{ name: lastPart(id), head }];
    });
  };

  return {
    async append(key, entries) {
      const id = sessionIdOf(key);
      await order.write(id, () => appendEntries(store, new Transcript(store, id), key, entries));
    },

    async load(key) {
      const id = sessionIdOf(key);
      return order.read(id, async () => {
        const transcript = new Transcript(store, id);
        const head = await transcript.head();
        const entries = entriesInOrder(key.sessionId, await transcript.read(head?.next ?? 0));
        return head === null && entries.length === 0 ? null : entries;
      });
    },

    async listSessions(projectKey) {
      const found = await written(projectPrefix(projectKey));
      return found.map(({ name: sessionId, head: { mtime } }) => ({ sessionId, mtime }));
    },

    async listSessionSummaries(projectKey) {
      const found = await written(projectPrefix(projectKey));
      return found.map(({ name: sessionId, head }) => ({ sessionId, mtime: head.mtime, data: head.summary ?? {} }));
    },

    async delete(key) {
      const id = sessionIdOf(key);
      await order.write(id, async () => {
        const isWhole = key.subpath === undefined;
        for (const below of isWhole ? await sessionsBelow(`${id}/`) : []) await store.sessions.delete(below.id);
        await store.sessions.delete(id);
      });
    },

    async listSubkeys({ projectKey, sessionId }) {
      const found = await written(`${sessionIdOf({ projectKey, sessionId })}/`);
      return found.map(({ name }) => name);
    },
  };
}
