import type { Locks, Queue } from "../../queue.js";

type Run = <T>(sessionId: string, work: () => Promise<T>) => Promise<T>;
type RunPart = <T>(part: Part, work: () => Promise<T>) => Promise<T>;

/** A block, or a collection of entries, of a session. */
export interface Part {
  readonly sessionId: string;
  readonly kind: string;
  readonly label: string;
}

/** Puts the calls of a store in order: those for one session take effect as they were made. */
export interface Turns {
  readonly read: Run;
  readonly write: Run;
  readonly readPart: RunPart;
  readonly writePart: RunPart;
  /** For calls that concern several sessions. */
  hold<T>(sessions: Locks, work: () => Promise<T>): Promise<T>;
}

/** Each call waits for those before it of the same session. */
export function turnsOf(order: Queue): Turns {
  const read: Run = (sessionId, work) => order.read(sessionId, work);
  const write: Run = (sessionId, work) => order.write(sessionId, work);
  // What all sessions share is kept for the unnamed one; its parts do not wait for each other.
  const nameOf = ({ kind, label }: Part) => `${kind}\0${label}`;
  return {
    read,
    write,
    readPart: (part, work) =>
      part.sessionId === "" ? order.hold({ read: ["", nameOf(part)] }, work) : read(part.sessionId, work),
    writePart: (part, work) =>
      part.sessionId === "" ? order.hold({ read: [""], write: [nameOf(part)] }, work) : write(part.sessionId, work),
    hold: (sessions, work) => order.hold(sessions, work),
  };
}

/** For an engine that is done with a call before the next one is made. */
export const NO_WAIT: Turns = {
  read: (_sessionId, work) => work(),
  write: (_sessionId, work) => work(),
  readPart: (_part, work) => work(),
  writePart: (_part, work) => work(),
  hold: (_sessions, work) => work(),
};
