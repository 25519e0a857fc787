import type { JsonObject } from "@stemma/model";
import { invalid } from "@stemma/model";
import { assertText } from "@stemma/session";
/** Names a transcript: a session's own, or with `subpath` that of one of its sub-agents. */
export interface ClaudeSessionKey {
  projectKey: string;
  sessionId: string;
  /** Not empty. */
  subpath?: string | undefined;
}

/** A line of a transcript. */
export interface ClaudeSessionEntry {
  type: string;
  uuid?: string;
  timestamp?: string;
  [field: string]: unknown;
}

/** A session as the lists of the SDK show it. */
export interface ClaudeSessionSummary {
  sessionId: string;
  /** Milliseconds since 1970. */
  mtime: number;
  data: JsonObject;
}

/** The `SessionStore` of `@anthropic-ai/claude-agent-sdk`, with every optional method. */
export interface ClaudeSessionStore {
  /** Adds entries, all of them or none. One whose `uuid` is known is left out. */
  append(key: ClaudeSessionKey, entries: ClaudeSessionEntry[]): Promise<void>;
  /** The entries in the order in which they were appended; null for a transcript that was never written. */
  load(key: ClaudeSessionKey): Promise<ClaudeSessionEntry[] | null>;
  /** The sessions of a project, each with the time of its last append in milliseconds since 1970. */
  listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]>;
  listSessionSummaries(projectKey: string): Promise<ClaudeSessionSummary[]>;
  /** Deletes a transcript; a session's with those of its sub-agents. */
  delete(key: ClaudeSessionKey): Promise<void>;
  /** The subpaths of a session that were written. */
  listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]>;
}

/** The id of the session that holds a transcript: `claude/<projectKey>/<sessionId>[/<subpath>]`, each part as in a URL. */
export function sessionIdOf({ projectKey, sessionId, subpath }: ClaudeSessionKey): string {
  const id = projectPrefix(projectKey) + encoded(sessionId, "sessionId");
  return subpath === undefined ? id : `${id}/${encoded(subpath, "subpath")}`;
}

/** The beginning of the ids of a project's sessions. */
export function projectPrefix(projectKey: string): string {
  return `claude/${encoded(projectKey, "projectKey")}/`;
}

/** The last part of an id: the SDK's session id, or the subpath. */
export function lastPart(id: string): string {
  return decodeURIComponent(id.slice(id.lastIndexOf("/") + 1));
}

function encoded(part: unknown, name: string): string {
  assertText(part, `The ${name} of a transcript`);
  if (part === "") throw invalid(`The ${name} of a transcript must not be empty.`);
  return encodeURIComponent(part.toWellFormed());
}
