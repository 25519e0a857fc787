import type { MethodRow, Named } from "@stemma/store";

/** Something that calls have in common: those that write it wait for each other, and for those that read it. */
export type Lock = readonly [key: string, writes: boolean];

const MEMORY = "\0memory";
const RECORDS = "\0records";

/** The locks of a call, by the sessions, memory and records that it names. */
export function locksOf(
  { mode, names }: MethodRow,
  sessionId: string | undefined,
  userId: string | undefined,
  values: readonly unknown[],
): Lock[] {
  const writes = mode === "write";
  const named = namedBy(names, values);
  const all = sessionId === undefined ? named : [{ session: sessionId }, ...named];
  return all.flatMap((each) => locksOfOne(each, userId ?? "", writes));
}

// What cannot be read is refused by the server.
function namedBy(names: MethodRow["names"], values: readonly unknown[]): readonly Named[] {
  try {
    return names(values);
  } catch {
    return [];
  }
}

// What becomes of its messages concerns a session's memory and its records, too. These two do not concern each other.
function locksOfOne(named: Named, userId: string, writes: boolean): Lock[] {
  if ("session" in named) return ["", MEMORY, RECORDS].map((part) => [named.session + part, writes]);
  const [session, part, place] =
    "records" in named
      ? [named.records, RECORDS, RECORDS]
      : [named.memory.sessionId, MEMORY, JSON.stringify([userId, named.memory.scope])];
  if (session) return [[session + part, writes]];
  // Of no session, what stands under one label does not wait for another label. Whoever names none concerns all.
  const { label } = named;
  return label === null
    ? [[place, true]]
    : [
        [place, false],
        [`${place}\0${label}`, writes],
      ];
}
