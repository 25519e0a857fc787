import type { Locks, Queue, StemmaError } from "@stemma/model";

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
  /** For calls that concern several sessions, or none in particular. */
  hold<T>(sessions: Locks, work: () => Promise<T>): Promise<T>;
  /** Refuses further calls, and waits for those that were made before. */
  end(): Promise<void>;
}

/** Each call waits for those before it of the same session. Those that come after the end fail with what `closed` makes. */
export function turnsOf(order: Queue, closed: () => StemmaError): Turns {
  let isEnded = false;
  const hold = <T>(sessions: Locks, work: () => Promise<T>): Promise<T> =>
    isEnded ? Promise.reject(closed()) : order.hold(sessions, work);
  const read: Run = (sessionId, work) => (isEnded ? Promise.reject(closed()) : order.read(sessionId, work));
  const write: Run = (sessionId, work) => (isEnded ? Promise.reject(closed()) : order.write(sessionId, work));
  // What all sessions share is kept for the unnamed one; its parts do not wait for each other.
  const nameOf = ({ kind, label }: Part) => `${kind}\0${label}`;
  return {
    read,
    write,
    readPart: (part, work) =>
      part.sessionId === "" ? hold({ read: ["", nameOf(part)] }, work) : read(part.sessionId, work),
    writePart: (part, work) =>
      part.sessionId === "" ? hold({ read: [""], write: [nameOf(part)] }, work) : write(part.sessionId, work),
    hold,
    end: () => {
      isEnded = true;
      return order.settled();
    },
  };
}

/** For an engine that is done with a call before the next one is made. */
export const NO_WAIT: Turns = {
  read: (_sessionId, work) => work(),
  write: (_sessionId, work) => work(),
  readPart: (_part, work) => work(),
  writePart: (_part, work) => work(),
  hold: (_sessions, work) => work(),
  end: async () => {},
};
