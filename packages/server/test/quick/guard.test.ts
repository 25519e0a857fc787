import { StemmaError } from "@stemma/model";
import { PART_METHODS, promptKey, SESSION_METHODS, STORE_METHODS, type Store } from "@stemma/store";
import { memory } from "@stemma/store/memory";
import { describe, expect, it } from "vitest";
import { guard, type Principal } from "../../src/index.js";

/** Whom a call is about: a session, or a scope of memory. What stands there has the canary of its name. */
interface Target {
  readonly name: string;
  readonly session: string;
  readonly scope?: "session" | "user" | { readonly key: string };
  readonly label?: string;
}

const SESSIONS = [
  { name: "ada", session: "ada-1" },
  { name: "garden", session: "ada-garden" },
  { name: "bob", session: "bob-1" },
  { name: "bobgarden", session: "bob-garden" },
  { name: "nobody", session: "nobody-1" },
  { name: "unnamed", session: "" },
  { name: "unwritten", session: "new-1" },
] as const satisfies readonly Target[];

const MEMORY = [
  ...SESSIONS,
  { name: "ofuser", session: "", scope: "user" },
  { name: "ofproject", session: "", scope: "user", label: "project:garden" },
  { name: "team", session: "", scope: { key: "team" } },
  { name: "gardenkey", session: "", scope: { key: "project:garden" } },
  { name: "bobs", session: "stemma:user:bob" },
] as const satisfies readonly Target[];

const PRINCIPALS = {
  admin: { id: "admin", access: "admin" },
  service: { id: "service", access: "memory" },
  reader: { id: "reader", access: "memory", readOnly: true },
  ada: { id: "ada", access: "memory", userId: "ada" },
  adaReads: { id: "adaReads", access: "memory", userId: "ada", readOnly: true },
  adaInTeam: { id: "adaInTeam", access: "memory", userId: "ada", keys: ["team"] },
  garden: { id: "garden", access: "memory", project: "garden" },
  adaInGarden: { id: "adaInGarden", access: "memory", userId: "ada", project: "garden" },
  // What an administrator may do ends with the user that it is confined to.
  adaAsAdmin: { id: "adaAsAdmin", access: "admin", userId: "ada" },
} as const satisfies Readonly<Record<string, Principal>>;
type Name = keyof typeof PRINCIPALS;

const EVERYTHING = [...SESSIONS.map(({ name }) => name), "ofuser", "ofproject", "team", "gardenkey", "bobs"];
/** What each principal reaches, written out by hand. */
const REACH: Readonly<Record<Name, readonly string[]>> = {
  admin: EVERYTHING,
  service: EVERYTHING,
  reader: EVERYTHING,
  ada: ["ada", "garden", "unwritten", "ofuser", "ofproject"],
  adaReads: ["ada", "garden", "unwritten", "ofuser", "ofproject"],
  adaInTeam: ["ada", "garden", "unwritten", "ofuser", "ofproject", "team"],
  garden: ["garden", "bobgarden", "unwritten", "gardenkey"],
  adaInGarden: ["garden", "unwritten", "ofproject", "gardenkey"],
  adaAsAdmin: ["ada", "garden", "unwritten", "ofuser", "ofproject"],
};

const say = (id: string, text: string) => ({ id, role: "user", parts: [{ type: "text", text }] });
const bytes = (text: string) => new TextEncoder().encode(text);
const canary = (name: string) => `canary-${name}`;

async function world(): Promise<Store> {
  const store = memory();
  const owners = { ada: "ada", garden: "ada", bob: "bob", bobgarden: "bob" } as Record<string, string>;
  for (const { name, session: id } of SESSIONS) {
    if (name === "unwritten") continue;
    const metadata = name.endsWith("garden") ? { project: "garden" } : {};
    await store.sessions.create({ id, name: canary(name), userId: owners[name], metadata });
    await store.session(id).append([say("m1", canary(name)), say("m2", "Thanks.")]);
    await store.session(id).addCompaction({ id: "c1", summary: canary(name), fromMessageId: "m1", toMessageId: "m1" });
    await store.records.set({ sessionId: id, label: "runs" }, "r1", bytes(canary(name)));
    await store.sessions.addUsage(id, 1, 1, 0, canary(name));
  }
  await store.records.set({ sessionId: "", label: "stemma:keys" }, "k1", bytes(canary("server")));
  for (const target of MEMORY) {
    if (target.name === "unwritten" || target.name === "bobs") continue;
    const users = "scope" in target && target.scope === "user" ? (["ada", "bob"] as const) : ([undefined] as const);
    for (const user of users) {
      const own = user === undefined ? store : store.forUser(user);
      const text = canary(user === "bob" ? "bobs" : target.name);
      await own.blocks.set(block(target), text);
      await own.entries.set(entries(target), { key: "e1", content: text });
      await own.entries.set(entries(target), { key: "e2", content: text });
    }
  }
  return store;
}

const labelOf = ({ label = "notes" }: Target) => label;
const block = (target: Target) =>
  ({ sessionId: target.session, kind: "block", label: labelOf(target), scope: target.scope }) as const;
const entries = (target: Target) => ({ sessionId: target.session, label: labelOf(target), scope: target.scope });
const memoryOf = ({ session: sessionId, scope }: Target) => ({ sessionId, scope });
const records = ({ session: sessionId }: Target) => ({ sessionId, label: "runs" });
const NO_USAGE = { inputTokens: 0, outputTokens: 0, cost: 0 };

type Arguments = (target: Target, turn: number) => readonly unknown[];
const none: Arguments = () => [];
const id: Arguments = ({ session }) => [session];
const m1: Arguments = () => ["m1"];

/** Arguments for each method: one that is missing fails the test below. */
const ARGUMENTS: Readonly<Record<string, Arguments>> = {
  "session.append": (_, turn) => [[say(`a${turn}`, "Hello")]],
  "session.appendSibling": (_, turn) => ["m1", say(`s${turn}`, "Hello")],
  "session.update": () => [say("m2", "Thank you.")],
  "session.upsert": (_, turn) => [say(`u${turn}`, "Hello")],
  "session.delete": () => [["m9"]],
  "session.clear": none,
  "session.importTree": (_, turn) => [{ messages: [{ message: say(`i${turn}`, "Hello"), parentId: null }] }],
  "session.setActiveLeaf": m1,
  "session.rewindTo": m1,
  "session.selectBranch": m1,
  "session.message": m1,
  "session.leaf": none,
  "session.branches": m1,
  "session.branchIds": m1,
  "session.parent": m1,
  "session.siblings": m1,
  "session.siblingIds": () => [["m1"]],
  "session.path": none,
  "session.stream": none,
  "session.lines": none,
  "session.recent": () => [10_000, { minMessages: 1 }],
  "session.rowStats": none,
  "session.length": none,
  "session.count": none,
  "session.tokens": none,
  "session.tree": none,
  "session.treePage": none,
  "session.messages": none,
  "session.search": () => ["canary", { limit: 10 }],
  "session.compactions": none,
  "session.addCompaction": (_, turn) => [{ id: `c${turn}`, summary: "Short.", fromMessageId: "m2", toMessageId: "m2" }],
  "session.removeCompaction": () => ["c9"],
  "session.originals": () => ["c1"],
  "session.skills": none,
  "session.changeSkills": () => [{ type: "load", name: "a" }],
  "session.change": none,
  "session.writes": m1,
  "sessions.create": ({ session }) => [{ id: session, name: "A name" }],
  "sessions.get": id,
  "sessions.list": () => [{}],
  "sessions.count": none,
  "sessions.unregistered": none,
  "sessions.due": ({ session: sessionId }) => [{ sessionId }],
  "sessions.markLearned": ({ session }) => [session, "0"],
  "sessions.update": ({ session }) => [session, {}],
  "sessions.restore": ({ session }) => [session, {}],
  "sessions.delete": id,
  "sessions.prune": ({ session }) => [session, { messages: { olderThan: "2000-01-01T00:00:00.000Z" }, limit: 1 }],
  "sessions.addUsage": ({ session }) => [session, 1, 1, 0],
  "sessions.usageRows": id,
  "sessions.importUsage": ({ session }) => [session, NO_USAGE, []],
  "sessions.usage": ({ session: sessionId }) => [{ by: "model", sessionId }],
  "sessions.compactionSums": ({ session: sessionId }) => [{ by: "session", sessionId }],
  "sessions.fork": ({ session }, turn) => [session, "m1", { id: `fork-${turn}`, name: "Fork" }],
  "sessions.split": ({ session }, turn) => [session, say("s", "Summary"), { id: `split-${turn}`, name: "Split" }],
  "sessions.claim": () => ["bob", "ada"],
  "blocks.get": (target) => [block(target)],
  "blocks.getMany": (target) => [[block(target)]],
  "blocks.set": (target) => [block(target), "Written."],
  "blocks.append": (target) => [block(target), "Written.", { maxTokens: 1_000 }],
  "blocks.delete": (target) => [{ ...block(target), label: target.label ?? "gone" }],
  "blocks.list": (target) => [memoryOf(target)],
  "blocks.owners": () => ["user"],
  "blocks.versions": (target) => [block(target)],
  "blocks.importVersions": (target) => [block(target), []],
  "entries.labels": (target) => [memoryOf(target)],
  "entries.list": (target) => [entries(target)],
  "entries.count": (target) => [entries(target)],
  "entries.get": (target) => [entries(target), "e1"],
  "entries.set": (target) => [entries(target), { key: "e2", content: "Written." }],
  "entries.append": (target) => [entries(target), { key: "e2", content: "More." }, { maxTokens: 1_000 }],
  "entries.delete": (target) => [entries(target), "e2"],
  "entries.removed": (target) => [memoryOf(target)],
  "entries.versions": (target) => [entries(target), "e1"],
  "entries.importVersions": (target) => [entries(target), "e1", []],
  "entries.search": (target) => [entries(target), "canary", { limit: 10 }],
  "records.get": (target) => [records(target), "r1"],
  "records.set": (target) => [records(target), "r2", bytes("Written.")],
  "records.delete": (target) => [records(target), "r2"],
  "records.list": (target) => [records(target)],
  "records.expire": (target) => [records(target), "r2", 1_000_000],
  "records.labels": id,
  "records.now": none,
  "vectors.model": none,
  "vectors.list": ({ session }) => [session, { id: "none", dimensions: 2 }],
  "vectors.import": ({ session }) => [session, { id: "none", dimensions: 2 }, []],
  "store.writeTogether": (target) => [[{ block: block(target), content: "Written." }]],
  "store.deleteMemory": (target) => [memoryOf(target)],
  "store.pruneVersions": (target) => [memoryOf(target), { keep: 5, limit: 1 }],
  "store.pruneExpired": (target) => [memoryOf(target), { limit: 1 }],
  "store.scrub": none,
  "store.search": ({ session: sessionId }) => ["canary", { limit: 10, sessionId }],
  "store.check": none,
  "store.backup": () => ["/dev/null/nowhere"],
  "store.migrate": none,
  "store.close": none,
};

const TABLES = { session: SESSION_METHODS, ...PART_METHODS, store: STORE_METHODS };
const METHODS = Object.entries(TABLES).flatMap(([part, rows]) =>
  Object.entries(rows).map(([method, row]) => ({ part, method, mode: row.mode })),
);
/** Calls that name no session and no scope; who is confined is given a part of what they tell, or nothing. */
const OVER_ALL = ["sessions.list", "sessions.count", "blocks.owners", "records.now", "vectors.model", "store.migrate"];
/** Such calls that are refused to one who reaches a project. */
const NOT_IN_A_PROJECT = ["sessions.count"];
/** Labels of all are shown to one who reaches some, as far as they are theirs. */
const LISTS = ["blocks.list", "entries.labels", "entries.removed"];
/** Of a scope as a whole. */
const WHOLE = ["store.deleteMemory", "store.pruneVersions", "store.pruneExpired"];

async function call(store: Store, { part, method }: { part: string; method: string }, target: Target, turn: number) {
  const parts = { ...store, store, ...(part === "session" && { session: store.session(target.session) }) };
  const values = ARGUMENTS[`${part}.${method}`]?.(target, turn) ?? [];
  const of = (parts as unknown as Record<string, Record<string, (...values: readonly unknown[]) => unknown>>)[part];
  if (of?.[method] === undefined) return { result: null, code: null, isThere: false };
  try {
    const made = of[method](...values);
    const isStream = typeof made === "object" && made !== null && Symbol.asyncIterator in made;
    const result = isStream ? await all(made as AsyncIterable<unknown>) : await made;
    return { result, code: null, isThere: true };
  } catch (error) {
    return { result: String(error), code: StemmaError.isInstance(error) ? error.code : String(error), isThere: true };
  }
}

async function all(values: AsyncIterable<unknown>): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const value of values) found.push(value);
  return found;
}

const textIn = (value: unknown): string =>
  JSON.stringify(value, (_key, each) => (each instanceof Uint8Array ? new TextDecoder().decode(each) : each)) ?? "";

const isMemoryCall = (part: string, method: string) =>
  part === "blocks" ||
  part === "entries" ||
  (part === "store" && (method === "writeTogether" || WHOLE.includes(`store.${method}`)));

function isAllowed(name: Name, { part, method, mode }: (typeof METHODS)[number], target: Target): boolean {
  const principal: Principal = PRINCIPALS[name];
  const callName = `${part}.${method}`;
  if (callName === "store.close") return false;
  if (mode === "admin") return name === "admin";
  if (mode === "write" && principal.readOnly === true) return false;
  if (OVER_ALL.includes(callName)) return principal.project === undefined || !NOT_IN_A_PROJECT.includes(callName);
  const isPart = principal.project !== undefined && target.name === "ofuser";
  if (isPart && principal.userId !== undefined && LISTS.includes(callName)) return true;
  if (principal.project !== undefined && target.name === "ofproject" && WHOLE.includes(callName)) return false;
  return REACH[name].includes(target.name);
}

/** What is not theirs is not there. */
const isNoSession = ({ part, method }: { readonly part: string; readonly method: string }, result: unknown) =>
  part === "sessions" && method === "get" && result === null;

const REFUSED = ["FORBIDDEN", "SESSION_NOT_FOUND", "INVALID_ARGUMENT"];

describe("guard()", () => {
  it("has arguments here for each method of the contract", () => {
    expect(Object.keys(ARGUMENTS).sort()).toEqual(METHODS.map(({ part, method }) => `${part}.${method}`).sort());
  });

  it.each(Object.keys(PRINCIPALS) as Name[])("gives %s what they reach, and nothing else", async (name) => {
    const wrong: string[] = [];
    // What is deleted is looked at last.
    const isLate = ({ method }: { readonly method: string }) =>
      /^(delete|clear|deleteMemory|claim|check|scrub)$/.test(method);
    const methods = [...METHODS.filter((each) => !isLate(each)), ...METHODS.filter(isLate)];
    const store = await world();
    const guarded = guard(store, PRINCIPALS[name]);
    const unreached = [...MEMORY.map((target) => target.name), "server"].filter((each) => !REACH[name].includes(each));
    const before = await unreachedState(store, name);
    let turn = 0;
    for (const each of methods) {
      const targets = isMemoryCall(each.part, each.method) ? MEMORY : SESSIONS;
      for (const target of targets) {
        turn += 1;
        const { result, code, isThere } = await call(guarded, each, target, turn);
        if (!isThere) continue;
        const what = `${each.part}.${each.method} of ${target.name}: ${code ?? "done"}`;
        const isRefused = code !== null ? REFUSED.includes(code) : isNoSession(each, result);
        // Of what is not there yet some calls say so.
        const mayMiss = target.name === "unwritten" || each.method === "rewindTo" || name === "admin";
        if (isAllowed(name, each, target) ? isRefused && !mayMiss : !isRefused) wrong.push(what);
        const told = unreached.filter((other) => textIn(result).includes(`${canary(other)}"`));
        if (told.length > 0) wrong.push(`${what} tells of ${told}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(await unreachedState(store, name)).toEqual(before);
  });

  it("gives nothing to a key that makes tokens", async () => {
    expect(() => guard(memory(), { id: "mint", access: "mint" })).toThrow(/FORBIDDEN|makes tokens/);
  });
});

// All that the principal may not change.
async function unreachedState(store: Store, name: Name): Promise<string[]> {
  const found: string[] = [];
  for (const target of MEMORY) {
    if (REACH[name].includes(target.name) && PRINCIPALS[name].id !== "reader" && name !== "adaReads") continue;
    if (target.name === "unwritten" || target.name === "bobs") continue;
    const own = "scope" in target && target.scope === "user" ? store.forUser("ada") : store;
    const { session } = target;
    found.push(
      textIn([
        target.name,
        await own.blocks.get(block(target)),
        await own.blocks.get(promptKey(session)),
        await own.entries.list(entries(target)),
        session === "" ? null : await own.sessions.get(session),
        await own.session(session).tree(),
        await own.records.list(records(target)),
      ]),
    );
  }
  if (!REACH[name].includes("bob"))
    found.push(textIn(await store.forUser("bob").blocks.list({ sessionId: "", scope: "user" })));
  return found;
}
