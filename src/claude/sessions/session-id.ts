import { invalid } from "../../errors.js";
import { assertText } from "../../session/arguments.js";
import type { ClaudeSessionKey } from "./types.js";

/** The id of the session that holds a transcript: `claude/<projectKey>/<sessionId>[/<subpath>]`, each part as in a URL. */
export function sessionIdOf({ projectKey, sessionId, subpath }: ClaudeSessionKey): string {
  const id = projectPrefix(projectKey) + encoded(sessionId, "sessionId");
  return subpath === undefined ? id : `${id}/${encoded(subpath, "subpath")}`;
}

/** What the ids of a project's sessions begin with. */
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
