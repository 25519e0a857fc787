import { invalid } from "@stemma/model";
import {
  assertScope,
  assertSessionId,
  type MemoryOwner,
  type MemoryScope,
  type Named,
  RESERVED_LABELS,
} from "@stemma/store";
import { isConfined, isWhole, keysOf, type Principal, projectKey } from "./principal.js";
import { forbidden } from "./refusals.js";

/** The scopes that a principal reaches, whatever they hold. */
export class Reach {
  readonly #keys: ReadonlySet<string> | null;
  readonly #isConfined: boolean;
  readonly #isWhole: boolean;

  constructor(private readonly principal: Principal) {
    const keys = keysOf(principal);
    this.#keys = keys === null ? null : new Set(keys);
    this.#isConfined = isConfined(principal);
    this.#isWhole = isWhole(principal);
  }

  /** The sessions in what is named, "" left out. Errors: `FORBIDDEN`, `INVALID_ARGUMENT`, `INVALID_TEXT`. */
  assert(named: readonly Named[], listsLabels: boolean): string[] {
    return named.map((each) => this.#assertOne(each, listsLabels)).filter((id) => id !== "");
  }

  #assertOne(named: Named, listsLabels: boolean): string {
    if ("session" in named) return this.#assertSession(named.session, "The session without an id");
    const { label } = named;
    if (label !== null && typeof label !== "string") throw invalid("A label must be a text.");
    if ("records" in named) {
      if (label?.startsWith(RESERVED_LABELS))
        throw forbidden(`Records whose labels begin with "${RESERVED_LABELS}" are the server's.`);
      return this.#assertSession(named.records, "What is recorded for no session");
    }
    return this.#assertMemory(named.memory, label, listsLabels);
  }

  /** True for what belongs to an owner in reach, under a label. */
  reaches(owner: MemoryOwner, label: string): boolean {
    if ("key" in owner) return this.#keys === null || this.#keys.has(owner.key);
    const { project } = this.principal;
    return !("user" in owner) || project === undefined || label === projectKey(project);
  }

  #assertSession(id: unknown, what: string): string {
    if (typeof id !== "string") throw invalid("A session's id must be a text.");
    if (this.#isWhole) return id;
    // Such ids are places of others' memory.
    assertSessionId(id);
    if (id === "" && this.#isConfined) throw forbidden(`${what} is everybody's, and this key's reach is a part.`);
    return id;
  }

  #assertMemory({ sessionId, scope = "session" }: MemoryScope, label: string | null, listsLabels: boolean): string {
    assertScope(scope);
    if (scope === "session") return this.#assertSession(sessionId, "The memory of no session");
    // The session in which it is used.
    const id = sessionId === "" ? "" : this.#assertSession(sessionId, "");
    if (scope === "user") this.#assertOfUser(label, listsLabels);
    else if (this.#keys !== null && !this.#keys.has(scope.key))
      throw forbidden("This key does not reach the memory under that name.");
    return id;
  }

  #assertOfUser(label: string | null, listsLabels: boolean): void {
    const { project, userId } = this.principal;
    if (project === undefined) return;
    if (userId === undefined) throw forbidden("This key is one project's, and reaches the memory of no user.");
    const isOwn = label === null ? listsLabels : label === projectKey(project);
    if (!isOwn) throw forbidden(`Of the user's memory, this key reaches "${projectKey(project)}" alone.`);
  }
}
