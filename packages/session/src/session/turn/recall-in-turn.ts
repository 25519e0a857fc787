// What a turn asks of the memory, and what it leaves out of the answer.
import { beginning, isSummaryMessage, type SessionMessage, SUMMARY_ID_PREFIX, searchableText } from "@stemma/model";
import type { SearchHit } from "@stemma/store";
import { oneLine } from "../recall/quote.js";
import type { RecallRequest } from "../recall/recall.js";
import type {
  Recalled,
  RecalledEntry,
  RecalledMessagePlace,
  RecalledPlace,
  RecallResult,
} from "../recall/recall-options.js";
import type { TurnNote } from "./notes.js";

/** All that a request shows without a recall. */
export interface Shown {
  readonly system: string;
  /** The visible history. */
  readonly messages: readonly SessionMessage[];
  /** The notes behind its messages. */
  readonly notes: ReadonlyMap<string, TurnNote>;
}

/** Characters of each message before that say what the present one is about. */
const BEFORE_LENGTH = 300;

/** The text that was said, and the exchange before it. */
export function questionOf(
  target: SessionMessage,
  messages: readonly SessionMessage[],
): Pick<RecallRequest, "said" | "before"> {
  const earlier = messages.slice(0, messages.indexOf(target)).filter((message) => !isSummaryMessage(message));
  const asked = earlier.findLastIndex(({ role }) => role === "user");
  const exchange =
    asked < 0 ? [] : [earlier[asked], earlier.findLast(({ role }, at) => role === "assistant" && at > asked)];
  const texts = exchange.flatMap((message) => (message === undefined ? [] : searchableText(message)));
  return { said: searchableText(target), before: texts.map((text) => beginning(text, BEFORE_LENGTH)).join("\n") };
}

/**
 * Leaves out messages of the session itself, unless a visible summary covers them, what was quoted before, and entries whose
 * text stands in the prompt or in the history.
 */
export function filtersOf(
  sessionId: string,
  { system, messages, notes }: Shown,
): Pick<RecallRequest, "isShown" | "isKnown"> {
  const ids = new Set(messages.map(({ id }) => id));
  const order = new Map(messages.map(({ id }, at) => [id, at]));
  const placeIn = ({ messageId }: TurnNote) => order.get(messageId) ?? -1;
  const told = new Map<string, Told>();
  for (const { recalled, recall } of [...notes.values()].sort((a, b) => placeIn(a) - placeIn(b)))
    for (const place of recalled) told.set(keyOf(place), { place, lines: recall.split("\n") });
  let texts: readonly string[] | null = null;
  // A long chat is made plain once, and not for each fact.
  let plainTexts: readonly string[] | null = null;
  const stands = (text: string) => {
    texts ??= [system, ...messages.flatMap(readIn), ...[...notes.values()].map(({ update }) => update)];
    if (texts.some((each) => each.includes(text))) return true;
    plainTexts ??= texts.map(plain);
    return standsAlone(plain(text), plainTexts);
  };
  return {
    isShown: (hit) => hit.sessionId === sessionId && (ids.has(hit.id) || !isSummarised(hit, ids)),
    isKnown: (found) =>
      isTold(found, told.get(keyOf(found))) || (found.kind === "entry" && stands(found.content.trim())),
  };
}

// What the model reads in a message: what it said, and what its tools gave.
const readIn = (message: SessionMessage) => [
  searchableText(message),
  ...message.parts.flatMap((part) => (typeof part?.output === "string" ? part.output : [])),
];

// As a sentence or a line of its own, however it is spaced and written in capitals: a street may begin as a city does.
function standsAlone(text: string, texts: readonly string[]): boolean {
  const fact = text.replace(/(?<![\s.!;,])[\s.!;,]+$/u, "");
  const isAlone = (before: string | undefined, rest: string) =>
    before !== undefined &&
    /(?:^|\n|[^\p{L}\p{N}\s,] ?)$/u.test(before) &&
    /^[.!?;"')\]]*(?:$|\n|(?<=\S)\s)/u.test(rest);
  return fact !== "" && texts.some((each) => each.split(fact).some((rest, at, all) => isAlone(all[at - 1], rest)));
}

const plain = (text: string) => text.toLowerCase().replace(/[^\S\n]+/gu, " ");

// Of the session's own messages those on other branches stay there.
function isSummarised({ coveredBy }: SearchHit, ids: ReadonlySet<string>): boolean {
  return coveredBy.some((id) => ids.has(SUMMARY_ID_PREFIX + id));
}

/** Where a result stands, without its texts. */
export function placeOf(result: RecallResult): RecalledPlace {
  if (result.kind === "message") {
    const { kind, sessionId, messageId } = result;
    return { kind, sessionId, messageId };
  }
  const { content: _, ...place } = result;
  return place;
}

/** The cost of a recall. */
export function costOf({ tokens, ms, isLate }: Recalled): Omit<Recalled, "results"> {
  return { tokens, ms, isLate };
}

/** A result that was quoted, with the lines of the quotes. */
interface Told {
  readonly place: RecalledPlace;
  readonly lines: readonly string[];
}

// An entry that was written again is another one, unless it says the same.
function isTold(found: RecalledMessagePlace | RecalledEntry, told: Told | undefined): boolean {
  if (told === undefined || found.kind === "message" || told.place.kind === "message") return told !== undefined;
  const { at, updatedAt } = told.place;
  const said = `: ${oneLine(found.content, [], Number.POSITIVE_INFINITY)}`;
  return at === found.at && (updatedAt === found.updatedAt || told.lines.some((line) => line.endsWith(said)));
}

function keyOf(place: RecalledPlace): string {
  if (place.kind === "entry") return JSON.stringify([place.scope, place.label, place.key]);
  return JSON.stringify([place.sessionId, place.messageId]);
}
