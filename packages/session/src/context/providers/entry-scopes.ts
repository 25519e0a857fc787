// The scopes of one memory: whose entries it holds, how they are named, and which of them may be written.
import { check, defineOptions, invalid, StemmaError } from "@stemma/model";
import { assertScope, type BlockScope } from "@stemma/store";

/** A scope of an `AgentSearchProvider`, as it is declared. */
export interface EntryScopeOptions {
  /** Whose the entries are: the session's, its user's in all of the user's sessions, or those of everyone who names the key. */
  scope: BlockScope;
  /**
   * The name that prompts, tools and results show: at most 64 letters of ASCII, digits, and `_ . : @ / -`. Default: `user`,
   * `session`, or the key.
   */
  name?: string | undefined;
  /** True: the model, learning and the user may write there. Default: they only read. */
  write?: boolean | undefined;
}

/** A scope of an `AgentSearchProvider`, with its name and the right to write there. */
export interface NamedScope {
  readonly name: string;
  readonly scope: BlockScope;
  readonly writable: boolean;
}

/** A call asks each scope. */
const MOST_SCOPES = 10;
/** Nothing in it is unseen, and no letter of it looks like one of another script. */
const NAME = /^[a-z\d][\w.:@/-]{0,63}$/i;

const SCOPE = defineOptions<EntryScopeOptions>({
  scope: check.required(assertScope),
  name: check.text,
  write: check.flag,
});

/** The name of a scope that has none of its own. */
export function nameOfScope(scope: BlockScope): string {
  return typeof scope === "object" ? scope.key : scope;
}

/** The scopes that were declared, in their order. Errors: `INVALID_ARGUMENT`, `INVALID_TEXT`. */
export function namedScopes(declared: readonly EntryScopeOptions[]): readonly NamedScope[] {
  if (!Array.isArray(declared) || declared.length === 0 || declared.length > MOST_SCOPES) {
    throw invalid(
      `The scopes of AgentSearchProvider are a list of 1 to ${MOST_SCOPES}, each as { scope, name, write }.`,
    );
  }
  const owners = new Set<string>();
  const names = new Set<string>();
  return declared.map((each: EntryScopeOptions) => {
    SCOPE.assert(each, "a scope of AgentSearchProvider");
    const { scope, name = nameOfScope(scope), write: writable = false } = each;
    const owner = typeof scope === "object" ? `key ${scope.key}` : scope;
    const folded = name.toLowerCase();
    if (owners.has(owner)) throw invalid(`The scope of ${owner} is declared twice.`);
    if (!NAME.test(name)) {
      const allowed = "at most 64 letters from A to Z, digits, and _ . : @ / -";
      throw invalid(`A scope needs a name of ${allowed}: give the scope of ${owner} one, as { name: "project" }.`);
    }
    if (names.has(folded)) throw invalid(`Two scopes have the name "${name}": names differ by more than case.`);
    if (["user", "session"].includes(folded) && folded !== scope) {
      throw invalid(`The name "${name}" is that of the ${folded}'s own scope: give the scope of ${owner} another one.`);
    }
    owners.add(owner);
    names.add(folded);
    return { name, scope, writable };
  });
}

/** Finds the scope that is written where none is named: the user's, or else the first that may be written. Null for none. */
export function findDefaultScope<Scope extends NamedScope>(scopes: readonly Scope[]): Scope | null {
  const writable = scopes.filter((each) => each.writable);
  return writable.find(({ scope }) => scope === "user") ?? writable[0] ?? null;
}

/** The scope with this name, in any case. Errors: `INVALID_ARGUMENT`, which lists those that there are. */
export function scopeNamed<Scope extends NamedScope>(scopes: readonly Scope[], name: string): Scope {
  const found = scopes.find((each) => each.name.toLowerCase() === String(name).toLowerCase());
  if (found !== undefined) return found;
  throw invalid(`There is no scope "${name}" here. The scopes are: ${namesOf(scopes)}.`, { scope: name });
}

/** The scope to write to: the one with this name, or the default one. Errors: `BLOCK_READONLY`, those of `scopeNamed`. */
export function scopeToWrite<Scope extends NamedScope>(
  scopes: readonly Scope[],
  label: string,
  name?: string | undefined,
): Scope {
  const scope = name === undefined ? findDefaultScope(scopes) : scopeNamed(scopes, name);
  if (scope?.writable) return scope;
  const others = scopes.filter(({ writable }) => writable);
  const which = scope === null ? `No scope of "${label}"` : `The scope "${scope.name}" of "${label}"`;
  const may = others.length === 0 ? "" : ` Scopes that may be written: ${namesOf(others)}.`;
  const what = scope === null ? "may be written" : "is read-only";
  throw new StemmaError("BLOCK_READONLY", { label, scope: scope?.name }, `${which} ${what}.${may}`);
}

/** The names of scopes: those that may be written, the one that is written where none is named first, and the others. */
export function describeScopes(scopes: readonly NamedScope[]): { writable: string[]; readOnly: string[] } {
  const first = findDefaultScope(scopes);
  const writable = scopes.filter((each) => each.writable && each !== first);
  return {
    writable: [...(first === null ? [] : [first]), ...writable].map(({ name }) => name),
    readOnly: scopes.filter((each) => !each.writable).map(({ name }) => name),
  };
}

const namesOf = (scopes: readonly NamedScope[]) => scopes.map(({ name }) => name).join(", ");
