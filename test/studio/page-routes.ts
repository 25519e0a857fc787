import type { CompactionSum } from "../../packages/store/src/contract/store.js";
import type {
  EntryRow,
  FoundHit,
  MessagePage,
  SessionView,
  TreePage,
  TreeRow,
  UsageRow,
  UsageSum,
  UsageView,
} from "../../packages/studio/src/api.js";
import { blocks, versionOf } from "./page-memory.js";
import { contextView, turnOf } from "./page-turns.js";
import { HOSTILE, range, timeOf, type World } from "./page-world.js";

type Query = URLSearchParams;
export type Route = (world: World, query: Query) => unknown;

export class NotFound extends Error {}

const SUMMARISED = 20;

/** Answers of the routes that read, from generated data. */
export const ROUTES: Readonly<Record<string, Route>> = {
  info: (world) => world.info,
  sessions: (world, query) => {
    const from = Number(query.get("cursor") ?? 0);
    const end = Math.min(world.sessionCount, from + Number(query.get("limit")));
    const name = query.get("name") ?? "";
    const rows = range(from, end).map(world.session);
    return {
      sessions: rows.filter((row) => row.name.includes(name)),
      nextCursor: end < world.sessionCount ? `${end}` : null,
    };
  },
  session: sessionView,
  change: (world) => ({ change: `${world.pathLength}` }),
  messages: messagePage,
  tree: treePage,
  search: (world, query) => {
    const offset = Number(query.get("offset") ?? 0);
    if (world.pathLength === 0 || query.get("q") === "nothing") return { hits: [], nextOffset: null };
    return {
      hits: range(offset, offset + 30).map((place) => hit(world, place, query.get("q") ?? "")),
      nextOffset: offset + 30,
    };
  },
  turns: (world, query) => {
    const from = Number(query.get("after") ?? 0);
    const all = world.pathLength / 2;
    const turns = range(from, Math.min(all, from + 100)).map((place) => turnOf(world.pathLength - 2 - place * 2));
    return { turns, next: from + 100 < all ? `${from + 100}` : null };
  },
  context: contextView,
  owners: (world, query) => ({
    owners: world.hasMemory
      ? range(0, 40).map((place) => `${query.get("kind")}-${place}${place === 3 ? "x".repeat(290) : ""}`)
      : [],
    next: null,
  }),
  memory: (world) => ({
    blocks: world.hasMemory ? blocks(world) : [],
    collections: world.hasMemory ? [{ label: "knowledge", count: 1200 }] : [],
  }),
  entries: (world, query) => {
    const from = Number(query.get("after") ?? 0);
    const entries = range(from, from + 100).map((place) => entryRow(world, place, query.get("prefix") ?? ""));
    return { entries, next: from < 1100 ? `${from + 100}` : null };
  },
  entry: (world, query) => {
    const place = Number(query.get("entry")?.split("-").at(-1));
    const { preview, ...row } = entryRow(world, place, "");
    const ends = { supersedes: place % 7 === 0 ? ["fact-1"] : [], supersededBy: row.holds ? [] : ["fact-2", "fact-4"] };
    const entry = { ...row, ...ends, content: preview, expiresAt: null, origin: "learning", createdAt: timeOf(9000) };
    return { entry, message: { sessionId: "session-2", messageId: "m24" }, lastVersion: 12 };
  },
  versions: () => ({ versions: range(0, 12).map((place) => versionOf(12 - place)) }),
  writes: (world) => ({
    writes: world.hasMemory
      ? [
          { ...versionOf(12), owner: { user: "ada" }, label: "facts", key: null },
          { ...versionOf(2), owner: { key: "team" }, label: "knowledge", key: "fact-3" },
        ]
      : [],
  }),
  usage: (world, query) => {
    const rows = world.pathLength === 0 ? [] : usageRows(query.get("by") ?? "day");
    const sum = (field: keyof UsageSum) => rows.reduce((total, row) => total + row[field], 0);
    const total = {
      requests: sum("requests"),
      inputTokens: sum("inputTokens"),
      outputTokens: sum("outputTokens"),
      cost: sum("cost"),
    };
    return { rows, total, compactions: compactionsOf(rows, query) };
  },
};

function entryRow(world: World, place: number, prefix: string): EntryRow {
  const subject = world.pathLength > 1000 ? HOSTILE[place % 8] : ["home", "work", "diet"][place % 3];
  return {
    key: `${prefix}fact-${place}`,
    preview: `Fact ${place}: the user prefers trains. ${HOSTILE[place % 8]}`,
    validFrom: place % 2 === 0 ? "2025-06-01T00:00:00.000Z" : null,
    validTo: place % 5 === 4 ? "2026-03-12T00:00:00.000Z" : null,
    tags: place % 4 === 3 ? [] : [`subject:${subject}`],
    holds: place % 5 !== 4,
    updatedAt: timeOf(place * 60),
  };
}

function compactionsOf(rows: readonly UsageRow[], query: Query): UsageView["compactions"] {
  const sums = rows.slice(0, 12).map(({ name }, place) => ({
    name,
    compactions: 1 + (place % 3),
    tokensBefore: 42_000 - place * 2_900,
    tokensAfter: 900 + place * 40,
  }));
  const sum = (field: Exclude<keyof CompactionSum, "name">) => sums.reduce((total, row) => total + row[field], 0);
  const total = {
    compactions: sum("compactions"),
    tokensBefore: sum("tokensBefore"),
    tokensAfter: sum("tokensAfter"),
  };
  return { by: query.get("by") === "day" ? "day" : "session", rows: sums, total };
}

function sessionView(world: World, query: Query): SessionView {
  const id = query.get("id") ?? "";
  const place = Number.parseInt(id.replace(/^session-/, ""), 10) || 0;
  const hasSummary = world.pathLength > 40;
  return {
    session: { ...world.session(place), id, messages: world.pathLength - (hasSummary ? SUMMARISED - 1 : 0) },
    leafId: world.pathLength === 0 ? null : `m${world.pathLength - 1}`,
    stored: world.pathLength === 0 ? 0 : world.pathLength + world.lanes * 4,
    compactions: hasSummary
      ? [{ id: "c1", summary: "", fromMessageId: "m2", toMessageId: `m${SUMMARISED + 1}`, createdAt: timeOf(900) }]
      : [],
    children: world.pathLength === 0 ? [] : [{ id: "session-7", name: "Trip to Lisbon (fork)" }],
    skills: world.hasMemory
      ? { loaded: [{ label: "skills", key: "invoices" }], unloaded: [{ label: "skills", key: "travel" }] }
      : { loaded: [], unloaded: [] },
    change: `${world.pathLength}`,
  };
}

// The path as the model sees it: place 2 is the summary of twenty messages.
function messagePage(world: World, query: Query): MessagePage {
  if (query.get("id")?.startsWith("broken")) throw new NotFound("This session cannot be read.");
  const covered = query.get("compaction") !== null;
  const hasSummary = world.pathLength > 40 && !covered && query.get("originals") !== "1";
  const length = covered ? SUMMARISED : hasSummary ? world.pathLength - SUMMARISED + 1 : world.pathLength;
  const at = (place: number) => {
    if (covered) return world.message(place + 2);
    if (!hasSummary || place < 2) return world.message(place);
    return place === 2 ? summary(world) : world.message(place + SUMMARISED - 1);
  };
  const placeOf = (id: string) => {
    if (id === "compaction_c1") return 2;
    const number = Number.parseInt(id.slice(1), 10);
    if (covered) return number - 2;
    return !hasSummary || number < 2 ? number : number - SUMMARISED + 1;
  };
  const limit = Number(query.get("limit") ?? 40);
  const from = query.get("from");
  const place = from === null ? length : placeOf(from);
  const [start, end] =
    query.get("direction") === "newer"
      ? [place + 1, place + 1 + limit]
      : query.get("direction") === "around"
        ? [place - Math.floor(limit / 2), place + Math.ceil(limit / 2)]
        : [place - limit, place];
  const [first, last] = [Math.max(0, start), Math.min(length, end)];
  const leafId = query.get("leaf") ?? `m${world.pathLength - 1}`;
  const ends = { hasOlder: first > 0, hasNewer: last < length };
  return { messages: range(first, last).map(at), ...ends, leafId, originals: !hasSummary && world.pathLength > 40 };
}

function summary(world: World) {
  const row = world.message(1);
  const text =
    "The user asked why listing orders is slow. An **index** on `(user_id, created_at)` was added; it now takes 3 ms.";
  const message = { ...row.message, id: "compaction_c1", parts: [{ type: "text", text }] };
  return { message, tokens: 48, siblings: ["compaction_c1"], compactionId: "c1" };
}

// Beside the path, the newest messages stand on other branches.
function treePage(world: World, query: Query): TreePage {
  const nodes: TreeRow[] = [];
  const total = world.pathLength === 0 ? 0 : world.pathLength + world.lanes * 4;
  const from = Number(query.get("after") ?? 0);
  const end = Math.min(total, from + Number(query.get("limit")));
  for (let row = from; row < end; row += 1) nodes.push(treeRow(world, row));
  return { nodes, next: end < total ? `${end}` : null };
}

function treeRow(world: World, row: number): TreeRow {
  const side = world.lanes * 4;
  const newest = world.pathLength - 1;
  const createdAt = timeOf(row * 3);
  if (row < side) {
    const lane = row % world.lanes;
    const step = Math.floor(row / world.lanes);
    const parentId = step === 3 ? `m${Math.max(0, newest - 4 - lane * 2)}` : `s${lane}-${step + 1}`;
    return {
      id: `s${lane}-${step}`,
      parentId,
      role: step % 2 === 0 ? "assistant" : "user",
      createdAt,
      preview: `Another answer ${lane}`,
    };
  }
  const place = newest - (row - side);
  const { message } = world.message(place);
  const preview = String(message.parts[0]?.text ?? "").slice(0, 120);
  return { id: message.id, parentId: place === 0 ? null : `m${place - 1}`, role: message.role, createdAt, preview };
}

function hit(world: World, place: number, q: string): FoundHit {
  const { message } = world.message(place * 3 + 1);
  const word = q.split(" ")[0] ?? q;
  return {
    id: message.id,
    role: message.role,
    content: "",
    createdAt: timeOf(place * 400),
    sessionId: world.session(place).id,
    sessionName: world.session(place).name,
    score: 0.03 / (place + 1),
    snippet: `…the query on «${word}» reads every row, so «${word}» needs an index. ${HOSTILE[place % 8]}…`,
    coveredBy: place % 4 === 2 ? ["c1"] : [],
    words:
      place % 5 === 4
        ? []
        : [
            { word, count: 2, score: 1.23 / (place + 1) },
            { word: "index", count: 1, score: 0.4 },
          ],
    ranks: { words: place % 5 === 4 ? null : place + 1, meaning: place % 2 === 0 ? place + 2 : null },
    reranker: { from: 20 - place, score: place % 4 === 3 ? null : 1 - place / 20, failure: null },
  };
}

function usageRows(by: string): UsageRow[] {
  const row = (name: string, size: number): UsageRow => ({
    name,
    requests: size * 3,
    inputTokens: size * 12_311,
    outputTokens: size * 1_907,
    cost: size * 0.067,
  });
  if (by === "model")
    return ["claude-opus", "claude-sonnet", "gpt", ""].map((name, place) => row(name, 40 - place * 11));
  if (by === "session") return range(0, 60).map((place) => row(`session-${place}`, 60 - place));
  return range(0, 45)
    .filter((place) => place % 6 !== 4)
    .map((place) => row(timeOf(place * 1440).slice(0, 10), 5 + ((place * 17) % 23)));
}
