import { invalid, StemmaError } from "@stemma/model";
import type { SessionManager } from "@stemma/session";
import type { SessionInfo, Store } from "@stemma/store";

/**
 * The session that a user means: its id, the beginning of just one id, or the name of just one session. Without a text the
 * latest changed one. Of an id's beginning or a name only those count that `isMeant` allows. Errors: `SESSION_NOT_FOUND`, `INVALID_ARGUMENT` when several are meant.
 */
export async function findSession(
  manager: SessionManager,
  text?: string,
  isMeant: (session: SessionInfo) => boolean = () => true,
): Promise<SessionInfo> {
  if (text === undefined) {
    const { sessions } = await manager.listPage({ limit: 1 });
    const [latest] = sessions;
    if (latest !== undefined) return latest;
    const message = "There are no sessions yet: `stemma chat` or `stemma import` makes one.";
    throw new StemmaError("SESSION_NOT_FOUND", {}, message);
  }
  const exact = await manager.get(text);
  if (exact !== null) return exact;
  const all = (await manager.list()).filter(isMeant);
  const byId = all.filter(({ id }) => text !== "" && id.startsWith(text));
  const found = byId.length > 0 ? byId : all.filter(({ name }) => name === text);
  return theOnly(found, text, "session", "SESSION_NOT_FOUND", "`stemma sessions` lists them");
}

/** The sessions with these whole ids, for what nobody is asked about. Errors: `SESSION_NOT_FOUND`. */
export async function sessionsById(manager: SessionManager, ids: readonly string[]): Promise<SessionInfo[]> {
  const sessions = [];
  for (const id of ids) {
    const session = await manager.get(id);
    if (session === null) {
      const message = `There is no session with the whole id "${id}"; \`stemma sessions --json\` shows whole ids.`;
      throw new StemmaError("SESSION_NOT_FOUND", { session: id }, message);
    }
    sessions.push(session);
  }
  return sessions;
}

/** The id of the message that a user means: an id, or the beginning of just one. Errors: `MESSAGE_NOT_FOUND`, `INVALID_ARGUMENT`. */
export async function findMessageId(store: Store, sessionId: string, text: string): Promise<string> {
  const nodes = await store.session(sessionId).tree();
  if (nodes.some(({ id }) => id === text)) return text;
  const found = nodes.filter(({ id }) => text !== "" && id.startsWith(text));
  return theOnly(found, text, "message", "MESSAGE_NOT_FOUND", `\`stemma tree ${sessionId}\` shows them`).id;
}

function theOnly<T extends { id: string }>(
  found: readonly T[],
  text: string,
  what: "session" | "message",
  code: "SESSION_NOT_FOUND" | "MESSAGE_NOT_FOUND",
  hint: string,
): T {
  const [first, ...others] = found;
  if (first === undefined) throw new StemmaError(code, { [what]: text }, `There is no ${what} "${text}"; ${hint}.`);
  if (others.length === 0) return first;
  const some = found.slice(0, 5).map(({ id }) => id);
  const message = `"${text}" can be any of ${found.length} ${what}s (${some.join(", ")}${others.length > 4 ? ", …" : ""}); give more of the id.`;
  throw invalid(message, { [what]: text, ids: some });
}
