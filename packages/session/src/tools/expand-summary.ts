import { quote, quoteField, quoteResult, readToolPart, type SessionMessage, SUMMARY_ID_PREFIX } from "@stemma/model";
import type { SearchHit, StoredCompaction } from "@stemma/store";
import { beginning, cut, formatHits } from "./format-hits.js";
import { readTimes, type SearchTimes, TIMES } from "./times.js";
import { createTool, objectSchema, QUERY, refusal, type SessionTool } from "./tool.js";

/** Characters of one page. */
const PAGE_LENGTH = 12_000;
/** Characters of one tool's input or output that are shown. */
const MAX_PAYLOAD_LENGTH = 1000;
/** Characters of a summary in the list of them. */
const MAX_PREVIEW_LENGTH = 200;

/**
 * `expand_summary`: the original messages under a summary, page by page. `expand` gives the messages of a compaction's
 * id. With `list` the tool can be called without an id, to see which summaries there are: their ids stand nowhere in the
 * history that a model reads.
 */
export function createExpandSummaryTool(
  expand: (id: string) => Promise<readonly SessionMessage[]>,
  list?: () => Promise<readonly StoredCompaction[]>,
): SessionTool {
  return createTool({
    description:
      "Read the original messages that a summary in this conversation stands for. Without an id: list the summaries with their ids.",
    input: objectSchema({
      id: { type: "string", description: "The summary's id." },
      page: { type: "integer", minimum: 1, description: "Which page of the messages, from 1." },
    }),
    async run({ id, page = 1 }) {
      if (id === undefined) return list ? formatList(await list()) : refusal("Name the summary by its id.");
      const messages = await expand(id.startsWith(SUMMARY_ID_PREFIX) ? id.slice(SUMMARY_ID_PREFIX.length) : id);
      return formatPage(messages.map(formatMessage).join("\n\n"), page);
    },
  });
}

function formatList(compactions: readonly StoredCompaction[]): string {
  if (compactions.length === 0) return "Nothing of this conversation was summarised.";
  return compactions
    .slice(-20)
    .map(({ id, createdAt, summary }) => `- ${id} (${createdAt}): ${beginning(oneLine(summary), MAX_PREVIEW_LENGTH)}`)
    .join("\n");
}

function formatPage(text: string, page: number): string {
  const pages = Math.max(1, Math.ceil(text.length / PAGE_LENGTH));
  if (page > pages) return refusal(`There ${pages === 1 ? "is 1 page" : `are ${pages} pages`}.`);
  const start = (page - 1) * PAGE_LENGTH;
  const piece = cut(text, start, page * PAGE_LENGTH);
  // What begins in the middle of a line must not pass for a head.
  const isCut = start > 0 && !text.endsWith("\n\n", start) && /^\s*\\*[[(]/.test(piece);
  const shown = isCut ? `…${piece}` : piece;
  return pages === 1 ? shown : `${shown}\n\n(Page ${page} of ${pages}.)`;
}

function formatMessage(message: SessionMessage): string {
  const { createdAt } = message;
  const time = createdAt instanceof Date ? createdAt.toISOString() : createdAt;
  const head = [message.role, message.id, ...(time === undefined ? [] : [String(time)])].map(quoteField).join(" · ");
  return quoteResult(head, message.parts.map(formatPart).join("\n"));
}

function formatPart(part: SessionMessage["parts"][number]): string {
  if (part.type === "text" || part.type === "reasoning") return part.text ?? "";
  const tool = readToolPart(part);
  if (tool === null) return `(${part.type})`;
  const fields = [
    ["input", tool.input],
    ["output", tool.output],
    ["error", tool.errorText ?? undefined],
  ] as const;
  const shown = fields.flatMap(([field, value]) => (value === undefined ? [] : [`${field}: ${payload(value)}`]));
  return [`(tool ${tool.toolName ?? tool.toolCallId ?? ""})`, ...shown].join("\n");
}

function payload(value: unknown): string {
  return beginning(typeof value === "string" ? value : (JSON.stringify(value) ?? ""), MAX_PAYLOAD_LENGTH);
}

function oneLine(text: string): string {
  return text.replace(/\s+/gu, " ").trim();
}

/** `recall`: finds what is remembered about a question, entries and messages together. */
export function createRecallTool(
  recall: (query: string, signal?: AbortSignal) => Promise<{ readonly text: string }>,
): SessionTool {
  return createTool({
    description:
      "Recall what is remembered about a question: facts about the user first, then excerpts of past conversations, each with its time.",
    input: objectSchema({ query: QUERY }, ["query"]),
    async run({ query }, { abortSignal }) {
      const { text } = await recall(query, abortSignal);
      return text === "" ? `Nothing is remembered about ${quote(query)}.` : text;
    },
  });
}

/** `session_search`: finds messages of every session. `search` gives the best hits first. */
export function createSessionSearchTool(
  search: (query: string, options: SearchTimes & { signal?: AbortSignal | undefined }) => Promise<readonly SearchHit[]>,
): SessionTool {
  return createTool({
    description:
      "Search past conversations, this one included, for messages that match. The best come first, each as a short excerpt with its session, message, sender and time.",
    input: objectSchema({ query: QUERY, ...TIMES }, ["query"]),
    async run({ query, ...times }, { abortSignal: signal }) {
      const hits = await search(query, { ...readTimes(times), signal });
      return hits.length === 0 ? `No message matches ${quote(query)}.` : formatHits(hits, query);
    },
  });
}
