import { invalid, quote, type StemmaError } from "../errors.js";

/** What an id stands for. */
export type Ref =
  | { readonly kind: "session"; readonly session: string }
  | { readonly kind: "message"; readonly session: string; readonly message: string }
  /** A block of the user, the project or everybody; with a session that session's own. */
  | { readonly kind: "block"; readonly label: string; readonly session?: string | undefined }
  | { readonly kind: "entry"; readonly label: string; readonly key: string };

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
      return path("entry", ref.label, ref.key);
  }
}

/** The address of the same as a resource. */
export function uriOf(ref: Ref): string {
  return SCHEME + idOf(ref);
}

/** Reads an id or a resource's address. Errors: `INVALID_ARGUMENT`. */
export function parseId(text: string): Ref {
  const names = namesOf(text.startsWith(SCHEME) ? text.slice(SCHEME.length) : text);
  const [first, second, third, fourth, ...more] = names;
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
    return { kind: "entry", label: second, key: third };
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
