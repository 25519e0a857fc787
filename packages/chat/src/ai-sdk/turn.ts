import { invalid } from "@stemma/model";
import type { Session } from "@stemma/session";
import type { PlacedAnswer } from "./receive/place-submission.js";
import type { RenamedCalls } from "./receive/submission.js";
import type { HeldRun, SessionRuns } from "./run/runs.js";

/** An answer that is to be made, from `receive` to `respond`. */
export interface Turn extends HeldRun {
  readonly runs: SessionRuns;
  readonly placed: PlacedAnswer;
  readonly renamed: RenamedCalls;
}

// A session answers once at a time, so it says which turn is meant.
const turns = new WeakMap<Session, Turn>();

export function openTurn(session: Session, turn: Turn): void {
  turns.set(session, turn);
}

/** Lets go of a turn for which no answer could be begun. */
export async function dropTurn(session: Session): Promise<void> {
  const turn = takeTurn(session);
  await turn.runs.release(turn, "failed");
}

/** Errors: `INVALID_ARGUMENT` when `receive` gave nothing to answer. */
export function takeTurn(session: Session): Turn {
  const turn = turns.get(session);
  turns.delete(session);
  if (turn !== undefined) return turn;
  const message = "Call receive(session, request) before respond(session, result), once for each answer.";
  throw invalid(message, { sessionId: session.id });
}
