import type { SessionMessage } from "../../packages/model/src/messages/message.js";
import { estimateTokens } from "../../packages/model/src/messages/tokens.js";

/**
 * What a session is, written down as plainly as the documents say it: a map of messages with their parents, a list of
 * compactions, one active leaf. It is slow, and shares nothing with the stores but the estimate of tokens.
 */
export class ModelSession {
  /** In the order they were written. */
  readonly messages = new Map<string, { message: SessionMessage; parent: string | null }>();
  compactions: { id: string; summary: string; from: string; to: string }[] = [];
  leaf: string | null = null;

  path(leaf: string | null = this.leaf): string[] {
    const ids: string[] = [];
    for (let id = leaf; id !== null; id = this.at(id).parent) ids.unshift(id);
    return ids;
  }

  /** The visible history: the newest compaction wins wherever its whole range is on the path and nothing newer covers a part. */
  visible(leaf: string | null = this.leaf): SessionMessage[] {
    const path = this.path(leaf);
    const covered: (string | null)[] = path.map(() => null);
    for (const { id, from, to } of [...this.compactions].reverse()) {
      const [start, end] = [path.indexOf(from), path.indexOf(to)];
      if (start < 0 || end < start) continue;
      const range = Array.from({ length: end - start + 1 }, (_, index) => start + index);
      if (range.every((index) => covered[index] === null)) for (const index of range) covered[index] = id;
    }
    return path.flatMap((id, index) => {
      const compaction = covered[index];
      if (compaction === null) return [this.at(id).message];
      if (index > 0 && covered[index - 1] === compaction) return [];
      return [this.summary(compaction as string)];
    });
  }

  tokens(leaf: string | null = this.leaf): number {
    return estimateTokens(this.visible(leaf));
  }

  children(id: string | null): string[] {
    return [...this.messages].filter(([, { parent }]) => parent === id).map(([child]) => child);
  }

  siblings(id: string): string[] {
    return this.children(this.at(id).parent);
  }

  /** The message written last of those whose path holds `id`. */
  newestBelow(id: string): string {
    return [...this.messages.keys()].findLast((each) => this.path(each).includes(id)) as string;
  }

  /** The message that an id names: the last one under a summary, or itself. Null where there is none. */
  named(id: string): string | null {
    const summary = this.compactions.find((each) => `compaction_${each.id}` === id);
    return summary?.to ?? (this.messages.has(id) ? id : null);
  }

  /** Gives for each message whether it was inserted; null when the parent is unknown. */
  append(messages: readonly SessionMessage[], parent: string | null | undefined): boolean[] | null {
    const inserted: boolean[] = [];
    let below = parent === undefined ? this.leaf : parent;
    for (const message of messages) {
      const known = this.messages.has(message.id);
      if (!known && inserted.length === 0 && below !== null && !this.messages.has(below)) return null;
      if (!known) this.messages.set(message.id, { message, parent: below });
      if (!known) this.leaf = message.id;
      inserted.push(!known);
      below = message.id;
    }
    return inserted;
  }

  update(message: SessionMessage): boolean {
    const entry = this.messages.get(message.id);
    if (entry !== undefined) entry.message = message;
    return entry !== undefined;
  }

  delete(id: string): boolean {
    const entry = this.messages.get(id);
    if (entry === undefined) return false;
    this.compactions = this.compactions.flatMap((compaction) => {
      const range = this.range(compaction);
      const left = range.filter((each) => each !== id);
      const [from, to] = [left[0], left.at(-1)];
      return from === undefined || to === undefined ? [] : [{ ...compaction, from, to }];
    });
    for (const child of this.children(id)) this.at(child).parent = entry.parent;
    if (this.leaf === id) this.leaf = entry.parent;
    this.messages.delete(id);
    return true;
  }

  /** The ends that a compaction would have; null when it must be refused. */
  ends(from: string, to: string): { from: string; to: string } | null {
    const behind = (id: string, end: "from" | "to") =>
      this.compactions.find((compaction) => `compaction_${compaction.id}` === id)?.[end] ?? id;
    const ends = { from: behind(from, "from"), to: behind(to, "to") };
    if (!this.messages.has(ends.from) || !this.messages.has(ends.to)) return null;
    return this.path(ends.to).includes(ends.from) ? ends : null;
  }

  /** The original messages under a compaction. */
  originals(compactionId: string): SessionMessage[] {
    const compaction = this.compactions.find(({ id }) => id === compactionId);
    return compaction === undefined ? [] : this.range(compaction).map((id) => this.at(id).message);
  }

  clear(): void {
    this.messages.clear();
    this.compactions = [];
    this.leaf = null;
  }

  fork(at: string): ModelSession {
    const fork = new ModelSession();
    const path = this.path(at);
    for (const id of path) fork.messages.set(id, { ...this.at(id) });
    fork.compactions = this.compactions.filter(({ from, to }) => path.includes(from) && path.includes(to));
    fork.leaf = at;
    return fork;
  }

  private range({ from, to }: { from: string; to: string }): string[] {
    const path = this.path(to);
    return path.slice(path.indexOf(from));
  }

  private summary(compactionId: string): SessionMessage {
    const summary = this.compactions.find(({ id }) => id === compactionId)?.summary ?? "";
    return { id: `compaction_${compactionId}`, role: "assistant", parts: [{ type: "text", text: summary }] };
  }

  private at(id: string) {
    const entry = this.messages.get(id);
    if (entry === undefined) throw new RangeError(`The model has no message ${id}.`);
    return entry;
  }
}
