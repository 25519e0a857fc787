import { StemmaError } from "@stemma/model";
import type { SessionManager } from "@stemma/session";
import type { SessionInfo, Store } from "@stemma/store";
import type { StudioWrites } from "./api.js";
import type { Fields } from "./http/fields.js";
export interface StudioSource {
  readonly store: Store;
  /** The program's, or one without any configuration. */
  readonly manager: SessionManager;
  /** The program gave a manager, so that its blocks are known. */
  readonly hasManager: boolean;
  readonly canWrite: boolean;
}

export interface StudioCall extends StudioSource {
  /** The query of a read, the posted object of a write. */
  readonly fields: Fields;
  /** Aborted where nobody waits for the answer. */
  readonly signal: AbortSignal;
}

export interface StudioRoute {
  readonly method: "GET" | "POST";
  /** Below the base path: `/api/info`. */
  readonly path: string;
  /** A route that writes is refused where the studio only reads. */
  readonly access: "read" | "write";
  /** Gives a response, or what is answered as JSON. Fails with a `Refusal` or a `StemmaError`. */
  answer(call: StudioCall): Promise<unknown>;
}

export function read(name: string, answer: StudioRoute["answer"]): StudioRoute {
  return { method: "GET", path: `/api/${name}`, access: "read", answer };
}

export function write(name: keyof StudioWrites, answer: StudioRoute["answer"]): StudioRoute {
  return { method: "POST", path: `/api/${name}`, access: "write", answer };
}

/** The registered session that the field `id` names. Errors: `SESSION_NOT_FOUND`. */
export async function sessionOf({ store, fields }: StudioCall): Promise<SessionInfo> {
  return findSession(store, fields.text("id"));
}

/** Errors: `SESSION_NOT_FOUND`. */
export async function findSession(store: Store, id: string): Promise<SessionInfo> {
  const info = await store.sessions.get(id);
  if (info !== null) return info;
  throw new StemmaError("SESSION_NOT_FOUND", { id }, `There is no session "${id}".`);
}

/** The names of sessions by their ids, of those that have one. */
export async function findNames(store: Store, ids: Iterable<string>): Promise<Map<string, string>> {
  const infos = await Promise.all([...new Set(ids)].map((id) => store.sessions.get(id)));
  return new Map(infos.flatMap((info) => (info === null || info.name === "" ? [] : [[info.id, info.name]])));
}

/** How many names, keys or entries a page gives. */
export const USUAL_NAMES = 100;
export const MOST_NAMES = 500;

/** The first of what was found, and the last of them where there are more. */
export function cut<T>(found: readonly T[], limit: number): { shown: T[]; last: T | null } {
  const shown = found.slice(0, limit);
  return { shown, last: found.length > limit ? (shown.at(-1) ?? null) : null };
}
