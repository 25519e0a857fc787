import type { CompactFunction, SessionMessage } from "@stemma/model";
import type { Session } from "@stemma/session";
import { message, numbered } from "../samples.js";

/** Failures that a session tells `onCompactionError` and its subscribers, from now on. */
export function observed(session: Session): { failures: unknown[]; events: string[] } {
  const failures: unknown[] = [];
  const events: string[] = [];
  session.onCompactionError((error) => {
    failures.push(error);
  });
  session.subscribe((event) => {
    if (event.type === "cf_agent_session_error") events.push(event.error);
  });
  return { failures, events };
}

/** Messages that a summary is shorter than. */
export function long(count: number, prefix = "m"): SessionMessage[] {
  return numbered(prefix, count).map((id) => message(id, `${id} ${"says a lot ".repeat(20)}`));
}

/** The text of the first part of each message. */
export function textsOf(messages: readonly SessionMessage[]): string[] {
  return messages.map(({ parts }) => parts[0]?.text ?? "");
}

/** Summarises everything but the last `keep` messages. */
export function allBut(keep: number): CompactFunction {
  return async (messages) => {
    const from = messages[0];
    const to = messages.at(-1 - keep);
    if (from === undefined || to === undefined || messages.length < 3) return null;
    return { fromMessageId: from.id, toMessageId: to.id, summary: "summary" };
  };
}
