import { StemmaError } from "@stemma/model";
import type { Observed, Observer } from "@stemma/store";

/** Something that ended, for a log. It holds nothing that people or models wrote. */
export interface TelemetryEvent {
  readonly type: Observed["type"];
  /** `session.append`, `sessions.list`, …; of a statement its first word; `compact`; `prepareTurn`; `invokeAgent`; `executeTool`; `rerank`. */
  readonly name: string;
  /** The name of the store. */
  readonly store: string;
  /** "" is the unnamed session; null where it is no session's, or not known. */
  readonly sessionId: string | null;
  readonly durationMs: number;
  /** The code of a `StemmaError`, else the error's name; null where it succeeded. */
  readonly error: string | null;
}

/** An observer that tells a function of what ended. What that throws is left to `console.error`. */
export function eventObserver(onEvent: (event: TelemetryEvent) => void): Observer {
  return ({ type, name, store, sessionId = null }, work) => {
    const started = performance.now();
    const end = (error: string | null): void => {
      try {
        onEvent({ type, name, store, sessionId, durationMs: performance.now() - started, error });
      } catch (failure) {
        console.error("onEvent failed:", failure);
      }
    };
    return whenDone(
      () => work((part) => part()),
      () => end(null),
      (error) => end(errorType(error)),
    );
  };
}

/** Does work, and calls one of the functions when it is done: now, or when its promise is settled. */
export function whenDone<T>(work: () => T, done: (result: unknown) => void, failed: (error: unknown) => void): T {
  let result: T;
  try {
    result = work();
  } catch (error) {
    failed(error);
    throw error;
  }
  if (!(result instanceof Promise)) {
    done(result);
    return result;
  }
  result.then(done, failed);
  return result;
}

/** The kind of an error, without its message, which may repeat a user's text. */
export function errorType(error: unknown): string {
  if (StemmaError.isInstance(error)) return error.code;
  return error instanceof Error ? error.name : typeof error;
}
