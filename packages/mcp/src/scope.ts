import { check, defineOptions, invalid, StemmaError } from "@stemma/model";
import { type EntryScopeOptions, type NamedScope, namedScopes, scopeNamed } from "@stemma/session";
import {
  assertScope,
  assertUserId,
  type BlockKey,
  type EntryScope,
  type MemoryScope,
  type SessionFilter,
  type SessionInfo,
  type Store,
} from "@stemma/store";

/** The label of what is remembered where no project is named, and the key of what everybody shares. */
export const MEMORY = "memory";

/** The reach of a server, fixed when it starts. */
export interface McpScope {
  /** The user's, where there is one. */
  readonly store: Store;
  readonly project: string | undefined;
  /** Whose blocks and entries. */
  readonly owner: MemoryScope;
  /** Keys whose entries are read too, and written where that is allowed. */
  readonly scopes: readonly NamedScope[];
  /** The label of the entries that are remembered. */
  readonly label: string;
  /** The user's memory has no other part than this label: the rest is that of other projects, or of none. */
  readonly isOnlyLabel: boolean;
  /** Estimated tokens of an answer. */
  readonly maxTokens: number;
  readonly onError: (error: unknown) => void;
}

/** The scope of a server. Errors: `SESSION_OWNED` for another user than the one that the store is confined to, `INVALID_ARGUMENT`. */
export function scopeOf(store: Store, options: McpServerOptions): McpScope {
  const { userId = store.userId, project, scopes: declared, onError = () => {} } = options;
  const hasUser = userId !== undefined;
  const key = project === undefined ? MEMORY : projectKey(project);
  const scopes = declared === undefined ? [] : namedScopes(declared);
  for (const { scope } of scopes) {
    if (typeof scope !== "object") throw invalid("The scopes of an MCP server are keys, each as { scope: { key } }.");
    if (!hasUser && scope.key === key)
      throw invalid(`The key "${key}" is the server's own memory: leave its scope out.`);
  }
  return {
    store: hasUser ? store.forUser(userId) : store,
    project,
    owner: { sessionId: "", scope: hasUser ? "user" : { key } },
    scopes,
    label: hasUser ? key : MEMORY,
    isOnlyLabel: hasUser && project !== undefined,
    maxTokens: budgetOf(options),
    onError,
  };
}

export function filterOf({ project }: McpScope): Pick<SessionFilter, "metadata"> {
  return project === undefined ? {} : { metadata: { project } };
}

/** The registered session, if it is in scope. Errors: `SESSION_NOT_FOUND`. */
export async function findSession({ store, project }: McpScope, id: string): Promise<SessionInfo> {
  const info = await store.sessions.get(id);
  if (info !== null && (project === undefined || info.metadata.project === project)) return info;
  throw new StemmaError("SESSION_NOT_FOUND", { id }, `There is no session "${id}".`);
}

/** True for a label of the server's own blocks and entries that is in scope. */
export function hasLabel({ label, isOnlyLabel }: McpScope, asked: string): boolean {
  return !isOnlyLabel || asked === label;
}

/** The label under which a text is remembered, in the server's own memory or in one of its scopes. */
export function labelToRemember({ label }: McpScope, scope: string | undefined): string {
  return scope === undefined ? label : MEMORY;
}

export function blockKey({ owner }: McpScope, label: string): BlockKey {
  return { ...owner, kind: "block", label };
}

/** Where entries stand: in the server's own memory, or in the scope with this name. Errors: `INVALID_ARGUMENT` for an unknown one. */
export function entryScope({ owner, scopes }: McpScope, label: string, name?: string | undefined): EntryScope {
  return name === undefined ? { ...owner, label } : { sessionId: "", scope: scopeNamed(scopes, name).scope, label };
}

export interface McpServerOptions {
  /** Only this user's sessions and memory. Default: everybody's sessions. */
  userId?: string | undefined;
  /** Only sessions whose metadata has this `project`, and a memory of the project's own. Default: the sessions of all projects. */
  project?: string | undefined;
  /** Keys whose entries are searched, recalled and read too, by their names; `remember` and `forget` may name those with `write`. */
  scopes?: readonly EntryScopeOptions[] | undefined;
  /** Offer no tool that writes. Default false. */
  readOnly?: boolean | undefined;
  /** Estimated tokens of an answer at most, from 500 to 10,000. Default 4,000. */
  maxTokens?: number | undefined;
  /** Gets each error that is a fault of the server or of the database. The client is told its code only. */
  onError?: ((error: unknown) => void) | undefined;
}

const USUAL_TOKENS = 4_000;
const FEWEST_TOKENS = 500;
/** Clients refuse answers of 25,000 tokens, and an estimate can be too low by half. */
const MOST_TOKENS = 10_000;

function budgetOf({ maxTokens = USUAL_TOKENS }: McpServerOptions): number {
  return maxTokens;
}

function projectKey(project: string): string {
  return `project:${project}`;
}

/** The options of `createMcpServer`. Other errors: `INVALID_TEXT`. */
export const MCP_SERVER = defineOptions<McpServerOptions>({
  userId: assertUserId,
  project: (project) => {
    if (typeof project !== "string" || project === "") return "a text that is not empty";
    assertScope({ key: projectKey(project) });
  },
  scopes: (scopes) => void namedScopes(scopes),
  readOnly: check.flag,
  maxTokens: check.whole(FEWEST_TOKENS, MOST_TOKENS),
  onError: check.callable,
});
