import { invalid, quote, type StemmaError, sha256 } from "@stemma/model";

const MOST_HITS = 50;

export const limitField = (usual: number) =>
  ({ type: "integer", minimum: 1, maximum: MOST_HITS, description: `How many at most; default ${usual}.` }) as const;

export const cursorField = {
  type: "string",
  maxLength: 8_192,
  description: "The nextCursor of the answer before, with the same arguments.",
} as const;

export const idField = { type: "string", minLength: 1, maxLength: 16_384 } as const;

export const textField = { type: "string" } as const;

export const textOrNull = { type: ["string", "null"] } as const;

export const nextCursorField = { ...textOrNull, description: "Null after the last page." } as const;

export const listOf = (properties: object, required = Object.keys(properties)) =>
  ({ type: "array", items: answerSchema(properties, required) }) as const;

/** The schema of an answer: an object with these, all of which it always has unless `required` says otherwise. */
export const answerSchema = (properties: object, required = Object.keys(properties)) =>
  ({ type: "object", properties, required, additionalProperties: false }) as const;

/** Where a text is from, and when it was written. */
export const provenanceField = answerSchema(
  {
    kind: { type: "string", enum: ["message", "entry", "block", "session"] },
    session: { ...textField, description: "The id of the conversation." },
    writtenBy: {
      ...textField,
      description: "Of a message its role and sender; of memory model, program, learning or import.",
    },
    scope: { ...textField, description: "The name of the scope that it is in; absent in the memory itself." },
    time: textOrNull,
    validFrom: { ...textField, description: "Of an entry: since when it is true, where that is known." },
    validTo: { ...textField, description: "Of an entry: until when it is true, where it has an end." },
    supersededBy: listOf({ ...textField, description: "Of an entry: the ids of those that took its place." }),
    expiresAt: { ...textField, description: "Of an entry: when it is forgotten." },
  },
  ["kind", "writtenBy", "time"],
);

/** The fields of a document, on which search and fetch agree with the clients that know these two tools. */
export const documentFields = { id: textField, title: textField, url: textField, text: textField };

const NO_CURSOR =
  "This cursor belongs to another call. Pass the nextCursor of the answer before, with the same arguments.";

/** The question that a cursor goes on with: the tool's name and its arguments. */
export type Question = readonly unknown[];

/** A cursor that goes on at `position` with this question only. */
export function cursorOf(question: Question, position: string | number): string {
  return `${markOf(question)}.${position}`;
}

/** The position of a cursor, null without one. Errors: `INVALID_ARGUMENT` for that of another question. */
export function positionOf(question: Question, cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  const mark = `${markOf(question)}.`;
  if (cursor.startsWith(mark) && cursor.length > mark.length) return cursor.slice(mark.length);
  throw invalid(NO_CURSOR);
}

/** The position of a cursor as a whole number; 0 without one. Errors: `INVALID_ARGUMENT`. */
export function offsetOf(question: Question, cursor: string | undefined): number {
  const position = positionOf(question, cursor);
  if (position === null) return 0;
  if (/^[1-9]\d{0,8}$/.test(position)) return Number(position);
  throw invalid(NO_CURSOR);
}

// Not a secret: what a cursor leads to is in scope anyway.
function markOf(question: Question): string {
  return sha256(JSON.stringify(question)).slice(0, 8);
}

/** The thing that an id names. */
export type Ref =
  | { readonly kind: "session"; readonly session: string }
  | { readonly kind: "message"; readonly session: string; readonly message: string }
  /** A block of the user, the project or everybody; with a session that session's own. */
  | { readonly kind: "block"; readonly label: string; readonly session?: string | undefined }
  /** An entry; with a scope that of another key. */
  | { readonly kind: "entry"; readonly label: string; readonly key: string; readonly scope?: string | undefined };

const SCHEME = "stemma://";

/** The id under which something is found and fetched: `session/a/message/m1`. Each name in it is written as in a URL. */
export function idOf(ref: Ref): string {
  switch (ref.kind) {
    case "session":
      return path("session", ref.session);
    case "message":
      return path("session", ref.session, "message", ref.message);
    case "block":
      return path(...(ref.session === undefined ? [] : ["session", ref.session]), "block", ref.label);
    case "entry":
      return path(...(ref.scope === undefined ? [] : ["scope", ref.scope]), "entry", ref.label, ref.key);
  }
}

/** The address of the same as a resource. */
export function uriOf(ref: Ref): string {
  return SCHEME + idOf(ref);
}

/** Reads an id or a resource's address. Errors: `INVALID_ARGUMENT`. */
export function parseId(text: string): Ref {
  const names = namesOf(text.startsWith(SCHEME) ? text.slice(SCHEME.length) : text);
  const scoped = names[0] === "scope" && names[2] === "entry" ? { scope: names[1] } : {};
  const [first, second, third, fourth, ...more] = "scope" in scoped ? names.slice(2) : names;
  if (more.length > 0 || second === undefined) throw noId(text);
  if (first === "session" && third === undefined) return { kind: "session", session: second };
  if (first === "session" && fourth !== undefined && third === "message") {
    return { kind: "message", session: second, message: fourth };
  }
  // Models write it so, after the pattern of an entry's.
  if (first === "message" && third !== undefined && fourth === undefined) {
    return { kind: "message", session: second, message: third };
  }
  if (first === "session" && fourth !== undefined && third === "block") {
    return { kind: "block", label: fourth, session: second };
  }
  if (first === "block" && third === undefined) return { kind: "block", label: second };
  if (first === "entry" && third !== undefined && fourth === undefined) {
    return { kind: "entry", label: second, key: third, ...scoped };
  }
  throw noId(text);
}

function path(...names: readonly string[]): string {
  // Texts of older rows may hold halves of surrogate pairs.
  return names.map((name) => encodeURIComponent(name.toWellFormed())).join("/");
}

function namesOf(text: string): string[] {
  try {
    return text.split("/").map(decodeURIComponent);
  } catch {
    throw noId(text);
  }
}

function noId(text: string): StemmaError {
  return invalid(`${quote(text)} is not an id. Pass an id that search, recent or list_sessions gave.`);
}
