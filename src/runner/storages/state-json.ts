import { StemmaError } from "../../errors.js";
import type { SessionState } from "../types.js";

/** The JSON of a state with its version and its id as the first fields. `indent` makes it readable. */
export function writeState(state: SessionState, version: number, indent?: number): string {
  const { id, version: _other, ...rest } = state as SessionState & { version?: unknown };
  return JSON.stringify({ version, id, ...rest }, null, indent);
}

/** A number that no other write has. */
export function newVersion(): number {
  const [low = 0, high = 0] = crypto.getRandomValues(new Uint32Array(2));
  return (high % 2 ** 20) * 2 ** 32 + low;
}

/** Reads such a text, or one without a version. Errors: `CORRUPT_STATE`. */
export function parseState(text: string, id: string): SessionState {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw corruptState(id, cause);
  }
  if (typeof value !== "object" || value === null || !("id" in value) || typeof value.id !== "string") {
    throw corruptState(id);
  }
  const { version: _version, ...state } = value as SessionState & { version?: unknown };
  if (!Array.isArray(state.messages)) throw corruptState(id);
  return state;
}

/** Nothing was overwritten. */
export function conflict(id: string): StemmaError {
  const message = `Session "${id}" was written by someone else since it was read here. Nothing was overwritten; resume it to go on from there.`;
  return new StemmaError("SESSION_CONFLICT", { sessionId: id }, message);
}

export function corruptState(id: string, cause?: unknown): StemmaError {
  const why = cause instanceof Error ? ` (${cause.message})` : "";
  const message = `The stored data of session "${id}" is not a valid session state${why}; restore it, or delete it.`;
  return new StemmaError("CORRUPT_STATE", { sessionId: id }, message, { cause });
}
