/**
 * Who makes a request, and what they reach. Everything that is not allowed here is refused, whatever the request says.
 */
export interface Principal {
  /** The id of the key or the token, or a name of your own. Logs and limits name it. */
  readonly id: string;
  /**
   * `memory`: sessions, blocks, entries and records. `admin`: these, and what concerns the whole database. `mint`: nothing but
   * making tokens for users.
   */
  readonly access: "memory" | "admin" | "mint";
  /** Only the sessions and the memory of this user. Default: everybody's. */
  readonly userId?: string | undefined;
  /**
   * Only sessions whose metadata has this `project`, the memory under the key `project:<project>`, and of the user's memory
   * the label of that name. Default: all projects.
   */
  readonly project?: string | undefined;
  /** The keys whose memory they reach beside that: `"team"` for the scope `{ key: "team" }`. Default: none if `userId` or `project` is given, else all. */
  readonly keys?: readonly string[] | undefined;
  /** They only read. Default false. */
  readonly readOnly?: boolean | undefined;
}

/** The key, and the label in a user's memory, of what a project remembers. MCP writes there. */
export function projectKey(project: string): string {
  return `project:${project}`;
}

/** True where a principal sees a part of the store, and not all of it. */
export function isConfined({ userId, project }: Principal): boolean {
  return userId !== undefined || project !== undefined;
}

/** The keys whose memory a principal reaches; null for all. */
export function keysOf({ project, keys, ...principal }: Principal): readonly string[] | null {
  if (keys === undefined && !isConfined({ ...principal, project })) return null;
  return [...(keys ?? []), ...(project === undefined ? [] : [projectKey(project)])];
}
