import type { SessionMessage } from "../../model/message.js";
import type { TurnLog } from "./log.js";
import type { PrefixBreak, TurnRecord } from "./record.js";
import type { RefreshReason } from "./request.js";

/** A request of which something is kept, in short; `explainContext` tells all of it. */
export interface TurnSummary {
  /** The message that it answered. */
  readonly messageId: string;
  /** Milliseconds since 1970. */
  readonly sentAt: number;
  /** Estimated. */
  readonly tokens: number;
  readonly bytes: number;
  readonly refreshed: false | RefreshReason;
  readonly prefixHash: string;
  /** Null where it began with all of the request before. */
  readonly brokenAt: PrefixBreak | null;
}

export interface TurnPage {
  /** Newest first. */
  readonly turns: TurnSummary[];
  /** Pass it as `after` to get the page behind this one, also where this one is empty; null when there is none. */
  readonly next: string | null;
}

export interface TurnPageOptions {
  /** Only turns of messages before this one. Default: from the active leaf on. */
  readonly after?: string | undefined;
  /** Default 50. */
  readonly limit?: number | undefined;
}

const DEFAULT_LIMIT = 50;

/** So many messages are looked at for a page, at most. */
const MOST_MESSAGES = 1000;

/** How many are asked for at once. */
const AT_ONCE = 32;

/** The turns of `messages`, which come newest first. */
export async function readTurns(
  messages: AsyncIterable<SessionMessage>,
  log: TurnLog,
  limit: number = DEFAULT_LIMIT,
): Promise<TurnPage> {
  const turns: TurnSummary[] = [];
  let seen = 0;
  let waiting: string[] = [];
  const look = async (): Promise<string | null> => {
    for (const [index, turn] of (await Promise.all(waiting.map((id) => log.turn(id)))).entries()) {
      if (turn === null) continue;
      turns.push(summaryOf(waiting[index] as string, turn));
      if (turns.length === limit) return waiting[index] as string;
    }
    return null;
  };
  for await (const { id } of messages) {
    waiting.push(id);
    seen += 1;
    if (waiting.length < AT_ONCE && seen < MOST_MESSAGES) continue;
    const next = (await look()) ?? (seen < MOST_MESSAGES ? null : id);
    if (next !== null) return { turns, next };
    waiting = [];
  }
  return { turns, next: await look() };
}

function summaryOf(messageId: string, { sentAt, size, refreshed, prefixHash, brokenAt }: TurnRecord): TurnSummary {
  return { messageId, sentAt, tokens: size.tokens, bytes: size.bytes, refreshed, prefixHash, brokenAt };
}
