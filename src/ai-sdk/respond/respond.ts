import { assertKnownOptions, type OptionNames } from "../../known-options.js";
import { assertFunctions } from "../../session/arguments.js";
import { assertSession } from "../../session/assert-session.js";
import type { Session } from "../../session/session.js";
import { responseOf } from "../receive/receive.js";
import { takeTurn } from "../turn.js";
import { Answer } from "./answer.js";
import type { Ended, RespondOptions, StreamResult } from "./options.js";

const NAMES: OptionNames<RespondOptions> = { waitUntil: true, onError: true, cost: true, messageMetadata: true };

/**
 * Sends a model's answer to the client and stores it: each step when it finishes, the rest when the answer ends. It goes on
 * when the client leaves. `result` is of `streamText`, asked with what `receive` gave.
 * Errors: `INVALID_ARGUMENT`, also when `receive` gave nothing to answer.
 */
export function respond(session: Session, result: StreamResult, options: RespondOptions = {}): Response {
  assertSession(session, "respond()");
  assertKnownOptions(options, "respond()", NAMES);
  assertFunctions(options, ["waitUntil", "onError", "cost", "messageMetadata"]);
  return beginAnswer(session, result, options).response;
}

/** The same, with what became of the answer. */
export function beginAnswer(
  session: Session,
  result: StreamResult,
  options: RespondOptions,
): { readonly response: Response; readonly ended: Promise<Ended> } {
  const turn = takeTurn(session);
  const ended = new Answer(session, turn, options).make(result);
  options.waitUntil?.(ended);
  return { response: responseOf(turn.run.stream(turn.placed.clientHolds)), ended };
}
