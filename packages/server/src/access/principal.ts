import { check, defineOptions, invalid } from "@stemma/model";
import { assertUserId } from "@stemma/store";
import { assertQuota, type Quota } from "../quotas/quota.js";

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
  /** The tenant whose store they reach, on a server with `Tenants`: no other. They reach none without. Default: none. */
  readonly tenant?: string;
  /** Only the sessions and the memory of this user. Default: everybody's. */
  readonly userId?: string;
  /**
   * Only sessions whose metadata has this `project`, the memory under the key `project:<project>`, and of the user's memory
   * the label of that name. Default: all projects.
   */
  readonly project?: string;
  /** The keys whose memory they reach beside that: `"team"` for the scope `{ key: "team" }`. Default: none if `userId` or `project` is given, else all. */
  readonly keys?: readonly string[];
  /** They only read. Default false. */
  readonly readOnly?: boolean;
  /** The most that they may use, in the place of the quota that a server gives to everybody. Default: that one. */
  readonly quota?: Quota;
  /** The id under which they use it up: a token's is that of the key that made it. Default: `id`. */
  readonly countedAs?: string;
}

/** Reach of a key or a token, without who has it. */
export type Access = Omit<Principal, "id" | "countedAs">;

/** Devices of Windows, in whatever folder. */
const DEVICES = "aux|con|nul|prn|com\\d|lpt\\d";
const NAME = new RegExp(`^(?!(?:${DEVICES})$)[a-z\\d][a-z\\d_-]{0,47}$`);

/** The rule for a tenant's name, as an error says it. */
export const TENANT_NAME =
  "a name of 1 to 48 characters: a to z, 0 to 9, _ and -, the first no sign, and no device of Windows";

/** True for a name that may be a part of a path, and of the name of a schema: no two are one where upper and lower case are. */
export function isTenantName(value: unknown): value is string {
  return typeof value === "string" && NAME.test(value);
}

/** The options of whoever makes a key or a token. */
export const ACCESS = defineOptions<Access>({
  access: check.required(check.oneOf("memory", "admin", "mint")),
  tenant: check.rule(TENANT_NAME, isTenantName),
  userId: assertUserId,
  project: check.rule("a text that is not empty", (value) => typeof value === "string" && value !== ""),
  keys: check.texts("keys of memory"),
  readOnly: check.flag,
  quota: assertQuota,
});

const PRINCIPAL = defineOptions<Principal>({
  id: check.required(check.text),
  ...ACCESS.checks,
  countedAs: check.text,
});

/** Those fields alone that there are. */
export function accessOf({ access, tenant, userId, project, keys, readOnly, quota }: Access): Access {
  return {
    access,
    ...(tenant !== undefined && { tenant }),
    ...(userId !== undefined && { userId }),
    ...(project !== undefined && { project }),
    ...(keys !== undefined && { keys }),
    ...(readOnly === true && { readOnly }),
    ...(quota !== undefined && { quota }),
  };
}

/**
 * Throws `INVALID_ARGUMENT` for what is no principal, and for one of which a field is undefined: who is not signed in would reach
 * everything.
 */
export function assertPrincipal(principal: Principal): void {
  PRINCIPAL.assert(principal, "a principal");
  assertGiven(principal, "a principal");
}

/** Throws `INVALID_ARGUMENT` for a field that is undefined. */
export function assertGiven(access: object, owner: string): void {
  const lost = Object.entries(access).find(([, value]) => value === undefined);
  if (lost !== undefined) throw invalid(`The ${lost[0]} of ${owner} is undefined: leave it out, or give it.`);
}

/** The id of a user's principal: all of their tokens have one limit. Users of two tenants are two. */
export function userPrincipalId(userId: string, tenant: string | undefined): string {
  return `${tenant === undefined ? "" : `${tenant}/`}user:${userId}`;
}

/** The key, and the label in a user's memory, of what a project remembers. MCP writes there. */
export function projectKey(project: string): string {
  return `project:${project}`;
}

/** True where a principal reaches all that is stored. */
export function isWhole(principal: Principal): boolean {
  return !isConfined(principal) && keysOf(principal) === null;
}

/** True where a principal sees a part of the store, and not all of it. */
export function isConfined({ userId, project }: Pick<Principal, "userId" | "project">): boolean {
  return userId !== undefined || project !== undefined;
}

/** The keys whose memory a principal reaches; null for all. */
export function keysOf(principal: Principal): readonly string[] | null {
  const { project, keys } = principal;
  if (keys === undefined && !isConfined(principal)) return null;
  return [...(keys ?? []), ...(project === undefined ? [] : [projectKey(project)])];
}
