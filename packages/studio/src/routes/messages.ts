import {
  estimateMessageTokens,
  isSummaryMessage,
  noCompaction,
  noMessage,
  type SessionMessage,
  StemmaError,
  SUMMARY_ID_PREFIX,
} from "@stemma/model";
import type { SessionStore } from "@stemma/store";
import type { FoundHit, MessagePage, MessageRow, SearchResults, TreePage } from "../api.js";
import { mediaOf, type PathView, takePage, withStubs } from "../path-page.js";
import { findNames, findSession, read, type StudioCall, sessionOf } from "../route.js";

const USUAL_MESSAGES = 50;
const MOST_MESSAGES = 200;
const USUAL_NODES = 500;
const MOST_NODES = 2000;

export const messageRoutes = [read("messages", messages), read("tree", tree), read("media", media)];

async function messages(call: StudioCall): Promise<MessagePage> {
  const { store, fields } = call;
  const session = store.session((await sessionOf(call)).id);
  const limit = fields.limit(USUAL_MESSAGES, MOST_MESSAGES);
  const from = fields.optionalText("from");
  const direction = fields.oneOf("direction", ["older", "newer", "around"]);
  const asked = await viewOf(call, session);
  const views = from !== undefined && direction === "around" ? viewsThrough(asked, from) : [asked];
  for (const [index, view] of views.entries()) {
    try {
      const page = await takePage(session, view, { from, direction, limit });
      const siblings = await session.siblingIds(page.messages.map(({ id }) => id));
      return {
        messages: page.messages.map((message) => rowOf(message, siblings[message.id])),
        hasOlder: page.hasOlder,
        hasNewer: page.hasNewer,
        leafId: view.leafId ?? (await session.leaf())?.id ?? null,
        originals: !view.summaries,
      };
    } catch (error) {
      if (!StemmaError.isInstance(error, "MESSAGE_NOT_FOUND") || index === views.length - 1) throw error;
    }
  }
  throw new RangeError("There is always a view.");
}

async function viewOf({ fields }: StudioCall, session: SessionStore): Promise<PathView> {
  const compactionId = fields.optionalText("compaction");
  const leafId = fields.optionalText("leaf");
  if (compactionId === undefined) return { leafId, summaries: !fields.flag("originals") };
  const compaction = (await session.compactions()).find(({ id }) => id === compactionId);
  if (compaction === undefined) throw noCompaction(session.id, compactionId);
  return { leafId: compaction.toMessageId, summaries: false, firstId: compaction.fromMessageId };
}

// Where a message may be shown that is covered by a summary, or lies on another branch than the one that was asked for.
function viewsThrough(asked: PathView, messageId: string): PathView[] {
  if (asked.firstId !== undefined) return [asked];
  const paths = asked.leafId === undefined ? [undefined, messageId] : [asked.leafId];
  const views = paths.flatMap((leafId) => [true, false].map((summaries) => ({ leafId, summaries })));
  return views.filter(({ summaries }) => asked.summaries || !summaries);
}

// A summary has no siblings.
function rowOf(message: SessionMessage, siblings: readonly string[] = [message.id]): MessageRow {
  const isSummary = isSummaryMessage(message);
  return {
    message: withStubs(message),
    tokens: estimateMessageTokens(message),
    siblings,
    compactionId: isSummary ? message.id.slice(SUMMARY_ID_PREFIX.length) : null,
  };
}

async function tree(call: StudioCall): Promise<TreePage> {
  const { store, fields } = call;
  const { id } = await sessionOf(call);
  const limit = fields.limit(USUAL_NODES, MOST_NODES);
  return store.session(id).treePage({ after: fields.optionalText("after"), limit });
}

async function media(call: StudioCall): Promise<Response> {
  const { store, fields } = call;
  const { id } = await sessionOf(call);
  const messageId = fields.text("message");
  const message = await store.session(id).message(messageId);
  if (message !== null) return mediaOf(message, fields.text("path"));
  throw noMessage(id, messageId);
}

const USUAL_HITS = 20;
const MOST_HITS = 100;
/** Ranking goes as deep as the page that is asked for. */
const DEEPEST = 10_000;

export const searchRoutes = [read("search", search)];

async function search({ store, fields, signal }: StudioCall): Promise<SearchResults> {
  const limit = fields.limit(USUAL_HITS, MOST_HITS);
  const offset = Math.min(fields.optionalWhole("offset") ?? 0, DEEPEST);
  const sessionId = fields.optionalText("session");
  if (sessionId !== undefined) await findSession(store, sessionId);
  const found = await store.search(fields.text("q"), {
    limit: limit + 1,
    offset,
    sessionId,
    userId: fields.optionalText("user"),
    role: fields.optionalText("role"),
    after: fields.optionalTime("after"),
    before: fields.optionalTime("before"),
    explain: true,
    signal,
  });
  const shown = found.slice(0, limit);
  const names = await findNames(
    store,
    shown.map((hit) => hit.sessionId),
  );
  return {
    hits: shown.map(({ explanation, ...hit }): FoundHit => {
      const { words = [], ranks = { words: null, meaning: null }, reranker = null } = explanation ?? {};
      return { ...hit, sessionName: names.get(hit.sessionId) ?? "", words, ranks, reranker };
    }),
    nextOffset: found.length > limit && offset + limit <= DEEPEST ? offset + limit : null,
  };
}
