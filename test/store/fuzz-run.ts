// One file, because operations and comparisons share the state of a run.
import { expect } from "vitest";
import { isEqual } from "../../packages/conformance/src/assert.js";
import { StemmaError } from "../../packages/model/src/errors.js";
import type { SessionMessage } from "../../packages/model/src/messages/message.js";
import type { ParentRef, Store } from "../../packages/store/src/contract/store.js";
import { ModelSession } from "./model.js";

/** A session that has grown larger than this is cut down, so that a run stays fast. */
const MAX_MESSAGES = 60;

type Step = () => Promise<void>;

/** What a run works on. */
export interface FuzzTarget {
  /** A store on what the run has written so far: where it can be, one that starts cold. */
  open(): Store;
  /** Ends the run, and says what is wrong with what it leaves. */
  finish(): Promise<readonly unknown[]>;
}

/** Random operations on a few sessions of an empty store, told by a seed, with a comparison after each. */
export class FuzzRun {
  readonly log: string[] = [];
  readonly #sessions = new Map<string, ModelSession>();
  #store: Store;
  #state: number;
  #count = 0;

  constructor(
    seed: number,
    readonly target: FuzzTarget,
    /** How often a session is compared in all its reads. What a command itself gives is compared each time. */
    readonly compares = 1,
  ) {
    this.#store = target.open();
    this.#state = seed >>> 0;
  }

  async operate(limit: number, end: number): Promise<number> {
    for (let done = 0; done < limit; done += 1) {
      if (done > 0 && Date.now() > end + 5000) return done;
      const id = this.#pick(["a", "b", ...this.#sessions.keys()]);
      await this.#step(id);
      for (const each of this.#sessions.keys()) {
        if (this.#chance(each === id ? this.compares : this.compares / 20)) await this.#compare(each);
      }
      // A store that starts cold on what another one wrote.
      if (this.#chance(0.05)) this.#store = this.target.open();
    }
    expect((await this.#store.check?.())?.problems ?? []).toEqual([]);
    expect(await this.target.finish()).toEqual([]);
    return limit;
  }

  async #step(id: string): Promise<void> {
    const model = this.#sessions.get(id) ?? new ModelSession();
    const steps: [weight: number, step: Step][] = [
      [30, () => this.#append(id, model, [this.#newMessage()], this.#parent(model))],
      [12, () => this.#append(id, model, this.#someMessages(model), this.#parent(model))],
      [4, () => this.#append(id, model, [this.#known(model)], this.#parent(model))],
      [12, () => this.#delete(id, model)],
      [8, () => this.#update(id, model)],
      [6, () => this.#upsert(id, model)],
      [8, () => this.#setActiveLeaf(id, model)],
      [6, () => this.#selectBranch(id, model)],
      [8, () => this.#appendSibling(id, model)],
      [8, () => this.#appendExpecting(id, model)],
      [16, () => this.#addCompaction(id, model)],
      [4, () => this.#removeCompaction(id, model)],
      [4, () => this.#fork(id, model)],
      [4, () => this.#importTree(id, model)],
      [1, () => this.#clear(id, model)],
      [1, () => this.#deleteSession(id)],
    ];
    const step = this.#pick(steps.flatMap(([weight, each]) => Array.from({ length: weight }, () => each)));
    await (model.messages.size > MAX_MESSAGES ? this.#clear(id, model) : step());
  }

  async #append(id: string, model: ModelSession, messages: SessionMessage[], parent: ParentRef): Promise<void> {
    this.log.push(`append ${id} [${messages.map((each) => each.id)}] below ${parent}`);
    const expected = model.append(messages, parent);
    const call = this.#store.session(id).append(messages, parent);
    if (expected === null) return refuses(call, "PARENT_NOT_FOUND");
    const result = await call;
    if (messages.length > 0) this.#sessions.set(id, model);
    expect(result.insertedIds).toEqual(idsOf(messages).filter((_, index) => expected[index]));
    expect(result.lastId).toBe(model.leaf);
    if (result.visibleTokens !== null) expect(result.visibleTokens).toBe(model.tokens());
  }

  async #delete(id: string, model: ModelSession): Promise<void> {
    const ids = this.#times(1, 3, () => this.#anyId(model));
    this.log.push(`delete ${id} [${ids}]`);
    const expected = ids.filter((each) => model.delete(each));
    expect(await this.#store.session(id).delete(ids)).toEqual(expected);
  }

  async #update(id: string, model: ModelSession): Promise<void> {
    const message = this.#newMessage(this.#anyId(model));
    this.log.push(`update ${id} ${message.id}`);
    const call = this.#store.session(id).update(message);
    if (model.update(message)) await call;
    else await refuses(call, "MESSAGE_NOT_FOUND");
  }

  async #upsert(id: string, model: ModelSession): Promise<void> {
    const message = this.#newMessage(this.#chance(0.6) ? this.#anyId(model) : undefined);
    const parent = this.#parent(model);
    this.log.push(`upsert ${id} ${message.id} below ${parent}`);
    const call = this.#store.session(id).upsert(message, parent);
    const isKnown = model.update(message);
    if (!isKnown && model.append([message], parent) === null) return refuses(call, "PARENT_NOT_FOUND");
    const { inserted, visibleTokens } = await call;
    expect(inserted).toBe(!isKnown);
    if (visibleTokens !== null) expect(visibleTokens).toBe(model.tokens());
    if (!isKnown) this.#sessions.set(id, model);
  }

  async #setActiveLeaf(id: string, model: ModelSession): Promise<void> {
    const leaf = this.#anyId(model);
    this.log.push(`leaf ${id} ${leaf}`);
    const call = this.#store.session(id).setActiveLeaf(leaf);
    if (!model.messages.has(leaf)) return refuses(call, "MESSAGE_NOT_FOUND");
    await call;
    model.leaf = leaf;
  }

  async #selectBranch(id: string, model: ModelSession): Promise<void> {
    const below = this.#anyName(model);
    this.log.push(`select ${id} ${below}`);
    const call = this.#store.session(id).selectBranch(below);
    const named = model.named(below);
    if (named === null) return refuses(call, "MESSAGE_NOT_FOUND");
    const leaf = model.newestBelow(named);
    expect((await call).id).toBe(leaf);
    model.leaf = leaf;
  }

  async #appendSibling(id: string, model: ModelSession): Promise<void> {
    const beside = this.#anyName(model);
    const message = this.#chance(0.1) ? this.#known(model) : this.#newMessage();
    this.log.push(`sibling ${id} ${message.id} of ${beside}`);
    const call = this.#store.session(id).appendSibling(beside, message);
    const named = model.named(beside);
    if (named === null) return refuses(call, "MESSAGE_NOT_FOUND");
    const inserted = model.append([message], model.messages.get(named)?.parent)?.[0];
    const { insertedIds, visibleTokens } = await call;
    expect(insertedIds).toEqual(inserted ? [message.id] : []);
    if (visibleTokens !== null) expect(visibleTokens).toBe(model.tokens());
  }

  async #appendExpecting(id: string, model: ModelSession): Promise<void> {
    const messages = this.#someMessages(model);
    const parent = this.#parent(model);
    const expectedLeaf = this.#chance(0.6) ? model.leaf : this.#chance(0.2) ? null : this.#anyName(model);
    this.log.push(`append ${id} [${idsOf(messages)}] below ${parent} at ${expectedLeaf}`);
    const call = this.#store.session(id).append(messages, parent, { expectedLeaf });
    const isMoved = expectedLeaf === null ? model.leaf !== null : model.named(expectedLeaf) !== model.leaf;
    const isAnyNew = messages.some((each) => !model.messages.has(each.id));
    if (isAnyNew && (isMoved || (expectedLeaf !== null && model.leaf === null))) return refuses(call, "LEAF_MOVED");
    const expected = model.append(messages, parent);
    if (expected === null) return refuses(call, "PARENT_NOT_FOUND");
    const { insertedIds, lastId } = await call;
    if (messages.length > 0) this.#sessions.set(id, model);
    expect(insertedIds).toEqual(idsOf(messages).filter((_, index) => expected[index]));
    expect(lastId).toBe(model.leaf);
  }

  async #removeCompaction(id: string, model: ModelSession): Promise<void> {
    const compaction = this.#chance(0.9) ? this.#pick(model.compactions)?.id : undefined;
    this.log.push(`remove ${id} ${compaction}`);
    const call = this.#store.session(id).removeCompaction(compaction ?? "none");
    if (compaction === undefined) return refuses(call, "COMPACTION_NOT_FOUND");
    await call;
    model.compactions = model.compactions.filter((each) => each.id !== compaction);
  }

  async #addCompaction(id: string, model: ModelSession): Promise<void> {
    const path = model.visible(this.#chance(0.7) ? model.leaf : this.#messageId(model));
    const [first, second] = [this.#pick(path)?.id ?? "none", this.#pick(path)?.id ?? "none"];
    const forward = path.findIndex((each) => each.id === first) <= path.findIndex((each) => each.id === second);
    const [from, to] = forward || this.#chance(0.05) ? [first, second] : [second, first];
    const compaction = { id: `compaction${++this.#count}`, summary: `summary ${this.#words()}` };
    const ends = model.ends(from, this.#chance(0.9) ? to : this.#anyId(model));
    const given =
      ends === null ? { fromMessageId: from, toMessageId: "none" } : { fromMessageId: from, toMessageId: to };
    const expected = model.ends(given.fromMessageId, given.toMessageId);
    this.log.push(`compact ${id} ${given.fromMessageId} to ${given.toMessageId} as ${compaction.id}`);
    const call = this.#store.session(id).addCompaction({ ...compaction, ...given });
    if (expected === null) return refuses(call, "COMPACTION_INVALID_RANGE");
    expect(await call).toMatchObject({ ...compaction, fromMessageId: expected.from, toMessageId: expected.to });
    model.compactions.push({ ...compaction, ...expected });
  }

  async #fork(id: string, model: ModelSession): Promise<void> {
    if (this.#sessions.size > 8) return this.#deleteSession(this.#pick([...this.#sessions.keys()]));
    const at = this.#anyId(model);
    const fork = { id: `fork${++this.#count}`, name: "fork" };
    this.log.push(`fork ${id} at ${at} as ${fork.id}`);
    const call = this.#store.sessions.fork(id, at, fork);
    if (!this.#sessions.has(id)) return refuses(call, "SESSION_NOT_FOUND");
    if (!model.messages.has(at)) return refuses(call, "MESSAGE_NOT_FOUND");
    expect((await call).parent_session_id).toBe(id);
    this.#sessions.set(fork.id, model.fork(at));
  }

  // Brings a part of another session's tree, so that some ids are known and some parents are here already.
  async #importTree(id: string, model: ModelSession): Promise<void> {
    const source = this.#sessions.get(this.#pick([...this.#sessions.keys()])) ?? new ModelSession();
    const messages = [...source.messages.values()].filter(() => this.#chance(0.8));
    const compactions = this.#chance(0.5) ? source.compactions : [];
    const activeLeafId = this.#chance(0.3) ? this.#anyId(source) : undefined;
    this.log.push(`import ${id} [${messages.map(({ message }) => message.id)}] leaf ${activeLeafId}`);
    const next = copyOf(model);
    let expected: string | null = null;
    let inserted = 0;
    for (const { message, parent } of messages) {
      const result = next.append([message], parent);
      if (result === null) expected ??= "PARENT_NOT_FOUND";
      else inserted += result.filter(Boolean).length;
      if (expected !== null) break;
    }
    for (const { id: compactionId, summary, from, to } of compactions) {
      if (expected !== null || next.compactions.some((each) => each.id === compactionId)) continue;
      const ends = next.ends(from, to);
      if (ends === null) expected = "COMPACTION_INVALID_RANGE";
      else next.compactions.push({ id: compactionId, summary, ...ends });
    }
    if (expected === null && activeLeafId !== undefined) {
      if (next.messages.has(activeLeafId)) next.leaf = activeLeafId;
      else expected = "MESSAGE_NOT_FOUND";
    }
    const call = this.#store.session(id).importTree({
      messages: messages.map(({ message, parent }) => ({ message: message, parentId: parent })),
      compactions: compactions.map(({ id: compactionId, summary, from, to }) => {
        return { id: compactionId, summary, fromMessageId: from, toMessageId: to };
      }),
      activeLeafId,
    });
    if (expected !== null) return refuses(call, expected);
    expect(await call).toEqual({ inserted });
    this.#sessions.set(id, next);
  }

  async #clear(id: string, model: ModelSession): Promise<void> {
    this.log.push(`clear ${id}`);
    await this.#store.session(id).clear();
    // A session that is not there is none afterwards either.
    model.clear();
  }

  async #deleteSession(id: string): Promise<void> {
    this.log.push(`delete session ${id}`);
    await this.#store.sessions.delete(id);
    this.#sessions.delete(id);
    expect((await this.#store.session(id).path()).messages).toEqual([]);
  }

  async #compare(id: string): Promise<void> {
    const model = this.#sessions.get(id) as ModelSession;
    const session = this.#store.session(id);
    same((await session.leaf())?.id ?? null, model.leaf);
    const tree = (await session.tree()).map((node) => [node.id, node.parentId, node.role, node.preview]);
    same(
      tree,
      [...model.messages.values()].map(({ message, parent }) => {
        return [message.id, parent, message.role, message.parts[0]?.text?.slice(0, 80)];
      }),
    );
    const compactions = await session.compactions();
    same(
      compactions.map(({ createdAt: _, ...compaction }) => compaction),
      model.compactions.map(({ from, to, ...compaction }) => ({ ...compaction, fromMessageId: from, toMessageId: to })),
    );
    await this.#comparePath(id, model, undefined);
    for (const leafId of this.#times(0, 3, () => this.#messageId(model))) {
      if (leafId === null) continue;
      await this.#comparePath(id, model, leafId);
      same(idsOf(await session.branches(leafId)), model.children(leafId));
      same(idsOf(await session.siblings(leafId)), model.siblings(leafId));
      same((await session.parent(leafId))?.id ?? null, model.messages.get(leafId)?.parent ?? null);
    }
    for (const compaction of model.compactions.filter(() => this.#chance(0.2))) {
      same(await session.originals(compaction.id), model.originals(compaction.id));
    }
    if (this.#chance(0.2)) await this.#compareSearch(id, model);
  }

  async #comparePath(id: string, model: ModelSession, leafId: string | undefined): Promise<void> {
    const session = this.#store.session(id);
    const leaf = leafId ?? model.leaf;
    const visible = model.visible(leaf);
    same((await session.path({ leafId })).messages, visible);
    same(await session.length(leafId), model.path(leaf).length);
    if (this.#chance(0.7)) same(await session.tokens(leafId), model.tokens(leaf));
    if (this.#chance(0.2)) same(await collect(session.stream({ leafId })), visible);
    if (this.#chance(0.2)) {
      same(await collect(session.stream({ leafId, newestFirst: true })), [...visible].reverse());
    }
    if (this.#chance(0.2)) {
      const maxBytes = Math.floor(this.#random() * 1500);
      const minMessages = Math.floor(this.#random() * 4);
      const recent = await session.recent(maxBytes, { leafId, minMessages });
      same(recent, recentOf(visible, maxBytes, minMessages));
    }
  }

  async #compareSearch(id: string, model: ModelSession): Promise<void> {
    const known = this.#messageId(model);
    if (known === null) return;
    // Each content has a word of its own, written anew by each update.
    const text = model.messages.get(known)?.message.parts[0]?.text ?? "";
    const word = text.split(" ")[0] as string;
    const hits = await this.#store.session(id).search(word, { limit: 1000 });
    const expected = [...model.messages.values()].filter(({ message }) =>
      message.parts[0]?.text?.startsWith(`${word} `),
    );
    same(idsOf(hits).sort(), expected.map(({ message }) => message.id).sort());
  }

  #parent(model: ModelSession): ParentRef {
    const choice = this.#random();
    if (choice < 0.55) return undefined;
    if (choice < 0.62) return null;
    return this.#anyId(model);
  }

  #someMessages(model: ModelSession): SessionMessage[] {
    return this.#times(0, 5, () => (this.#chance(0.3) ? this.#known(model) : this.#newMessage()));
  }

  #known(model: ModelSession): SessionMessage {
    return this.#newMessage(this.#messageId(model) ?? undefined);
  }

  #newMessage(id = `m${++this.#count}`): SessionMessage {
    const text = `word${++this.#count}x ${this.#words()}`;
    return { id, role: this.#chance(0.5) ? "user" : "assistant", parts: [{ type: "text", text }] };
  }

  #words(): string {
    return this.#times(0, 12, () => this.#pick(["the", "zebra", "crossed", "a", "漢字", "quickly"])).join(" ");
  }

  /** A message's id, or now and then one that is not there. */
  #anyId(model: ModelSession): string {
    return (this.#chance(0.93) ? this.#messageId(model) : null) ?? "unknown";
  }

  /** The same, or the id of a summary's message. */
  #anyName(model: ModelSession): string {
    const compaction = this.#chance(0.15) ? this.#pick(model.compactions) : undefined;
    return compaction === undefined ? this.#anyId(model) : `compaction_${compaction.id}`;
  }

  #messageId(model: ModelSession): string | null {
    return this.#pick([...model.messages.keys()]) ?? null;
  }

  #times<T>(least: number, most: number, make: () => T): T[] {
    return Array.from({ length: least + Math.floor(this.#random() * (most - least + 1)) }, make);
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] as T;
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }

  // mulberry32
  #random(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }
}

/** Compares fast; the runner shows the difference. */
function same(actual: unknown, expected: unknown): void {
  if (!isEqual(actual, expected)) expect(actual).toEqual(expected);
}

async function refuses(call: Promise<unknown>, code: string): Promise<void> {
  const error = await call.then(
    () => "nothing",
    (thrown: unknown) => thrown,
  );
  expect(StemmaError.isInstance(error) ? error.code : error).toBe(code);
}

function copyOf(model: ModelSession): ModelSession {
  const copy = new ModelSession();
  for (const [id, entry] of model.messages) copy.messages.set(id, { ...entry });
  copy.compactions = [...model.compactions];
  copy.leaf = model.leaf;
  return copy;
}

function recentOf(visible: readonly SessionMessage[], maxBytes: number, minMessages: number) {
  const messages: SessionMessage[] = [];
  let totalContentBytes = 0;
  for (const message of [...visible].reverse()) {
    const bytes = Buffer.byteLength(JSON.stringify(message));
    if (messages.length >= minMessages && totalContentBytes + bytes > maxBytes) break;
    messages.unshift(message);
    totalContentBytes += bytes;
  }
  return { messages, truncated: messages.length < visible.length, totalContentBytes };
}

const idsOf = (list: readonly { id: string }[]) => list.map(({ id }) => id);

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}
