import type { CompactContext, CompactFunction, CompactResult } from "../compaction/compact.js";
import { invalid } from "../errors.js";
import type { SessionMessage } from "../model/message.js";
import { withinTime } from "./time-limit.js";

/** What a compact function gave, or failed with. */
interface CompactAnswer {
  readonly answer: CompactResult | null;
  readonly failure: { readonly error: unknown } | null;
  /** True when it asked a model, which answered nothing. */
  readonly isEmpty: boolean;
}

/** Calls a compact function, which may fail, give no answer in time, or one that is none. */
export async function askCompact(
  compact: CompactFunction,
  messages: SessionMessage[],
  context: CompactContext,
  timeout: number,
): Promise<CompactAnswer> {
  let isEmpty = false;
  const onEmptyAnswer = () => {
    isEmpty = true;
  };
  try {
    const given = Promise.resolve(compact(messages, { ...context, onEmptyAnswer }));
    return { answer: checkedResult(await withinTime(given, timeout)), failure: null, isEmpty };
  } catch (error) {
    return { answer: null, failure: { error }, isEmpty };
  }
}

function checkedResult(given: CompactResult | null | undefined): CompactResult | null {
  if (given === null || given === undefined) return null;
  const { fromMessageId, toMessageId, summary } = given;
  if ([fromMessageId, toMessageId, summary].every((field) => typeof field === "string")) return given;
  throw invalid("A compact function resolves to { fromMessageId, toMessageId, summary }, three texts, or to null.");
}
