import { reasonOf } from "@stemma/model";
import type { Observed, Observer, Redaction, RedactWhere } from "../contract/store.js";

const FAILED = "[REDACTION_FAILED]";

/** Makes an observer that passes on texts as `redaction` leaves them. The work is not changed by it. */
export function redactedObserver(observer: Observer, redaction: Redaction): Observer {
  return <T>(told: Observed, work: (within: <P>(part: () => P) => P) => T): T => {
    const where: RedactWhere = { kind: "telemetry", sessionId: told.sessionId ?? null };
    const shown = <V>(value: V): V => {
      try {
        return redaction.json(value, where);
      } catch {
        return FAILED as V;
      }
    };
    // An error of the same kind, which says the redacted reason.
    const shownError = (error: unknown): unknown => {
      const reason = shown(reasonOf(error));
      return error instanceof Error ? Object.create(error, { message: { value: reason } }) : reason;
    };
    const showsResult = told.type === "tool" || told.type === "compaction";
    const seen: Observed = {
      ...told,
      // Made only for an observer that looks at them.
      get values() {
        return told.values?.map(shown);
      },
    };
    let outcome: { readonly result: T } | { readonly error: unknown } | undefined;
    try {
      const observed: unknown = observer<unknown>(seen, (within) => {
        try {
          const result = work(within);
          outcome = { result };
          if (result instanceof Promise) {
            return result.then(
              (value) => (showsResult ? shown(value) : value),
              (error) => Promise.reject(shownError(error)),
            );
          }
          return showsResult ? shown(result) : result;
        } catch (error) {
          outcome = { error };
          throw shownError(error);
        }
      });
      // Whoever called hears of it by the work's own promise.
      if (observed instanceof Promise) observed.catch(() => {});
    } catch (error) {
      outcome ??= { error };
    }
    if (outcome === undefined || "error" in outcome) throw outcome?.error;
    return outcome.result;
  };
}
