import { isJsonObject } from "../lib/json.js";
import type { SessionMessage } from "./message.js";
import { isSettled, isToolPart } from "./tool-parts.js";

/** When a model made a call, and when its result was there: ISO times. */
export interface ToolTime {
  readonly calledAt?: string;
  readonly answeredAt?: string;
}

/** The field of a message's metadata that holds a `ToolTime` for each call, by the call's id. No model is shown it. */
const FIELD = "toolTimes";

/** Notes when the calls of a message are made and answered. */
export class ToolClock {
  readonly #times = new Map<string, ToolTime>();
  readonly #calls = new Set<string>();

  /** A model made a call. Of two calls with one id, neither has a time. */
  called(toolCallId: string): void {
    const isFirst = !this.#calls.has(toolCallId);
    this.#calls.add(toolCallId);
    this.#times.set(toolCallId, isFirst ? { calledAt: now() } : {});
  }

  /** The result of a call is there. */
  answered(toolCallId: string): void {
    this.#times.set(toolCallId, { ...this.#times.get(toolCallId), answeredAt: now() });
  }

  /** The message with the times of its calls. The same object when none is known. */
  on<M extends { parts: readonly object[]; metadata?: unknown }>(message: M): M {
    const before = toolTimesOf(message);
    const times = new Map<string, ToolTime>();
    for (const part of (message as unknown as SessionMessage).parts) {
      if (!isToolPart(part)) continue;
      const time = { ...before[part.toolCallId], ...this.#times.get(part.toolCallId) };
      if (Object.keys(time).length > 0) times.set(part.toolCallId, time);
    }
    if (times.size === 0) return message;
    const fields = isJsonObject(message.metadata) ? message.metadata : {};
    return { ...message, metadata: { ...fields, [FIELD]: Object.fromEntries(times) } };
  }
}

/** A message in which calls have got their results, with the time of that. */
export function answeredNow<M extends { parts: readonly object[]; metadata?: unknown }>(before: M, after: M): M {
  const settled = (message: M) =>
    (message as unknown as SessionMessage).parts.filter((part) => isToolPart(part) && isSettled(part));
  const known = new Set(settled(before).map(({ toolCallId }) => toolCallId));
  const clock = new ToolClock();
  for (const { toolCallId } of settled(after)) if (!known.has(toolCallId)) clock.answered(toolCallId as string);
  return clock.on(after);
}

/** A message as a client knows it: without the times. The same object where it holds none. */
export function withoutToolTimes<M extends { metadata?: unknown }>(message: M): M {
  if (!isJsonObject(message.metadata) || !Object.hasOwn(message.metadata, FIELD)) return message;
  const { [FIELD]: _times, ...fields } = message.metadata;
  const { metadata: _metadata, ...rest } = message;
  return (Object.keys(fields).length > 0 ? { ...rest, metadata: fields } : rest) as M;
}

/** The times that a message holds of its calls, by their ids. */
export function toolTimesOf({ metadata }: { readonly metadata?: unknown }): Readonly<Record<string, ToolTime>> {
  const times = isJsonObject(metadata) ? metadata[FIELD] : undefined;
  return isJsonObject(times) ? (times as Record<string, ToolTime>) : {};
}

/** How long a call took, from when it was made until its result was there, in milliseconds; null where that is not known. */
export function toolMilliseconds(message: { readonly metadata?: unknown }, toolCallId: unknown): number | null {
  const times = toolTimesOf(message);
  if (typeof toolCallId !== "string" || !Object.hasOwn(times, toolCallId)) return null;
  const { calledAt, answeredAt } = isJsonObject(times[toolCallId]) ? (times[toolCallId] as ToolTime) : {};
  const time = Date.parse(String(answeredAt)) - Date.parse(String(calledAt));
  return time >= 0 ? time : null;
}

/** A duration as people read it, such as `340 ms`, `1.2 s` or `2 min 5 s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 59_950) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

const now = () => new Date().toISOString();
