import { StemmaError } from "@stemma/model";
import type { BlockKey, EntryScope, MemoryScope, SessionFilter, SessionInfo, Store } from "@stemma/store";
import { budgetOf, type McpServerOptions, projectKey } from "./server-options.js";

/** The label of what is remembered where no project is named, and the key of what everybody shares. */
const MEMORY = "memory";

/** The reach of a server, fixed when it starts. */
export interface McpScope {
  /** The user's, where there is one. */
  readonly store: Store;
  readonly project: string | undefined;
  /** Whose blocks and entries. */
  readonly owner: MemoryScope;
  /** The label of the entries that are remembered. */
  readonly label: string;
  /** The user's memory has no other part than this label: the rest is that of other projects, or of none. */
  readonly isOnlyLabel: boolean;
  /** Estimated tokens of an answer. */
  readonly maxTokens: number;
  readonly onError: (error: unknown) => void;
}

/** The scope of a server. Errors: `SESSION_OWNED` for another user than the one that the store is confined to. */
export function scopeOf(store: Store, options: McpServerOptions): McpScope {
  const { userId = store.userId, project, onError = () => {} } = options;
  const hasUser = userId !== undefined;
  const key = project === undefined ? MEMORY : projectKey(project);
  return {
    store: hasUser ? store.forUser(userId) : store,
    project,
    owner: { sessionId: "", scope: hasUser ? "user" : { key } },
    label: hasUser ? key : MEMORY,
    isOnlyLabel: hasUser && project !== undefined,
    maxTokens: budgetOf(options),
    onError,
  };
}

/** Narrows a list of sessions to those in scope. */
export function filterOf({ project }: McpScope): Pick<SessionFilter, "metadata"> {
  return project === undefined ? {} : { metadata: { project } };
}

/** The registered session, if it is in scope. Errors: `SESSION_NOT_FOUND`. */
export async function findSession({ store, project }: McpScope, id: string): Promise<SessionInfo> {
  const info = await store.sessions.get(id);
  if (info !== null && (project === undefined || info.metadata.project === project)) return info;
  throw new StemmaError("SESSION_NOT_FOUND", { id }, `There is no session "${id}".`);
}

/** True for a label of blocks and entries that is in scope. */
export function hasLabel({ label, isOnlyLabel }: McpScope, asked: string): boolean {
  return !isOnlyLabel || asked === label;
}

export function blockKey({ owner }: McpScope, label: string): BlockKey {
  return { ...owner, kind: "block", label };
}

export function entryScope({ owner }: McpScope, label: string): EntryScope {
  return { ...owner, label };
}
