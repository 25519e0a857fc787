import {
  byTurns,
  documentTerms,
  markedSnippet,
  parseQuery,
  queryTerms,
  type SearchQuery,
  StemmaError,
} from "@stemma/model";
import type { ListedBlock, MemoryScope, SessionFilter, SessionInfo } from "@stemma/store";
import {
  blockDocument,
  type Document,
  fitting,
  memoryProvenance,
  placeOf,
  roomOf,
  sessionTitle,
  titleOf,
} from "./documents.js";
import { cursorOf, positionOf, type Question, textField } from "./fields.js";
import { blockKey, entryScope, filterOf, hasLabel, type McpScope } from "./scope.js";

/** Collections of entries that are searched, beside that of what is remembered. */
const MAX_LABELS = 20;

/** A hit that is not read yet: only what is shown is read further. */
export type Found = () => Promise<Document>;

/** How many are found at most, and what ends the wait for a reranker. */
export interface FindOptions {
  readonly limit: number;
  readonly signal?: AbortSignal | undefined;
}

/** The entries in scope that match, best first; of several collections by turns. */
export async function findEntries(scope: McpScope, query: string, options: FindOptions): Promise<Found[]> {
  const { entries } = scope.store;
  const parsed = parseQuery(query);
  const found = (await collectionsOf(scope)).map(async ({ label, name }) => {
    const place = entryScope(scope, label, name);
    const matches = await entries.search(place, query, options).catch((error) => none(scope, error));
    return matches.map(({ key, content, updatedAt }) => async () => ({
      ...placeOf({ kind: "entry", label, key, scope: name }),
      title: titleOf(key),
      text: markedSnippet(content, parsed),
      metadata: memoryProvenance("entry", updatedAt, await entries.versions(place, key), name),
    }));
  });
  return byTurns(await Promise.all(found));
}

// What is remembered first, then all other labels of the memory, then those of the scopes, which have names.
async function collectionsOf(scope: McpScope): Promise<{ label: string; name?: string }[]> {
  const { store, owner, label: own } = scope;
  const labelsOf = async (of: MemoryScope) => (await store.entries.labels(of)).map(({ label }) => label);
  const known = scope.isOnlyLabel ? [] : (await labelsOf(owner)).filter((label) => label !== own);
  const others = scope.scopes.map(async ({ name, scope: key }) =>
    (await labelsOf({ sessionId: "", scope: key })).slice(0, MAX_LABELS).map((label) => ({ label, name })),
  );
  return [...[own, ...known.slice(0, MAX_LABELS)].map((label) => ({ label })), ...(await Promise.all(others)).flat()];
}

/** The blocks in scope that hold a word of the query; those with the most different ones first. */
export async function findBlocks(scope: McpScope, query: string): Promise<Found[]> {
  const { store, owner } = scope;
  const parsed = parseQuery(query);
  const blocks = (await store.blocks.list(owner)).filter(({ label }) => hasLabel(scope, label));
  const ranked = blocks
    .map((block) => ({ block, matches: matchesOf(block, parsed) }))
    .filter(({ matches }) => matches > 0);
  return ranked
    .toSorted((a, b) => b.matches - a.matches)
    .map(({ block }) => async () => {
      const versions = await store.blocks.versions(blockKey(scope, block.label));
      const document = blockDocument({ kind: "block", label: block.label }, block, versions);
      return { ...document, text: markedSnippet(block.content, parsed) };
    });
}

// One entry that cannot be read hides its collection, not all the others.
function none({ onError }: McpScope, error: unknown): [] {
  if (!StemmaError.isInstance(error, "CORRUPT_ENTRY")) throw error;
  onError(error);
  return [];
}

function matchesOf({ label, content }: ListedBlock, query: SearchQuery): number {
  const terms = new Set(documentTerms(`${label}\n${content}`));
  return queryTerms(query).filter((sequence) => sequence.every((term) => terms.has(term))).length;
}

/** The fields of a conversation in every list. */
export const sessionFields = {
  id: textField,
  title: textField,
  url: textField,
  createdAt: textField,
  updatedAt: textField,
};

export function describeSession(info: SessionInfo) {
  const place = placeOf({ kind: "session", session: info.id });
  return { ...place, title: sessionTitle(info), createdAt: info.created_at, updatedAt: info.updated_at };
}

interface PageRequest {
  readonly question: Question;
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly filter?: Pick<SessionFilter, "nameContains"> | undefined;
}

/** The sessions in scope by latest change, each as `describe` tells it, as many as fit. Errors: `INVALID_ARGUMENT` for the cursor. */
export async function pageOfSessions<T>(
  scope: McpScope,
  { question, limit, cursor, filter }: PageRequest,
  describe: (info: SessionInfo) => Promise<T>,
): Promise<{ sessions: T[]; nextCursor: string | null }> {
  const request = { ...filter, ...filterOf(scope), cursor: positionOf(question, cursor) ?? undefined };
  let page = await scope.store.sessions.list({ ...request, limit });
  let described = await Promise.all(page.sessions.map(describe));
  const { length } = fitting(described, roomOf(scope.maxTokens));
  if (length < described.length) {
    // The cursor behind the last one that fits is that of a shorter page.
    page = await scope.store.sessions.list({ ...request, limit: length });
    described = described.slice(0, length);
  }
  const { nextCursor } = page;
  return { sessions: described, nextCursor: nextCursor === null ? null : cursorOf(question, nextCursor) };
}
