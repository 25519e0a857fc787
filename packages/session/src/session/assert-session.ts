import { invalid, type StemmaError } from "@stemma/model";
import { kindOfHost } from "@stemma/store";
import { isSession, type Session } from "./session.js";

/** Throws `INVALID_ARGUMENT` for what is no session of this copy of the package. `what` is the call that needs one. */
export function assertSession(value: unknown, what: string): asserts value is Session {
  if (!isSession(value)) throw noSession(value, what);
}

/** Throws `INVALID_ARGUMENT` for what is no session, of whatever copy: for a call that uses public methods only. */
export function assertAnySession(value: unknown, what: string): asserts value is Session {
  if (!hasMethod(value, "prepareTurn")) throw noSession(value, what);
}

function noSession(value: unknown, what: string): StemmaError {
  if (hasMethod(value, "prepareTurn")) return otherCopy(what, "session");
  const message = `${what} takes a session, as Session.create(store) or manager.getSession(id) give it; got ${kindOfHost(value)}.`;
  return invalid(message);
}

/** The error for an object of ours that another copy of the package made. */
export function otherCopy(what: string, made: string): StemmaError {
  const message = `The ${made} given to ${what} was made by another copy of stemma: two are installed, or one is bundled. Import both from the same copy; \`npm ls stemma\` shows what is installed.`;
  return invalid(message);
}

/** True for an object that has a method of this name. */
export function hasMethod(value: unknown, name: string): boolean {
  return typeof (value as Record<string, unknown> | null | undefined)?.[name] === "function";
}
