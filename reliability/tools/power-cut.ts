import type { Random } from "./random.js";
import type { Event } from "./recording.js";

const SECTOR = 512;

type Change = (bytes: Buffer) => Buffer;
interface File {
  /** What a sync put on the disk. */
  durable: Buffer;
  /** What was done since: each change may be on the disk or not. */
  pending: Event[];
}
type Names = Map<string, File>;

/** A disk that keeps what was synced for sure, and of all that was done since anything. */
export class Disk {
  /** As programs see them. */
  readonly #names: Names = new Map();
  #durableNames: Names = new Map();
  #pendingNames: ((names: Names) => void)[] = [];

  apply(event: Event): void {
    if (event.do === "say") return;
    if (event.do === "sync names") {
      this.#durableNames = new Map(this.#names);
      this.#pendingNames = [];
      return;
    }
    const { name } = event;
    if (event.do === "create") {
      if (this.#names.has(name)) return;
      const file: File = { durable: Buffer.alloc(0), pending: [] };
      this.#rename((names) => names.set(name, file));
    } else if (event.do === "remove") this.#rename((names) => names.delete(name));
    else if (event.do === "rename") {
      const file = this.#file(name);
      this.#rename((names) => names.set(event.to, file).delete(name));
    } else if (event.do === "sync") {
      const file = this.#file(name);
      file.durable = file.pending.reduce((bytes, change) => changeOf(change)(bytes), file.durable);
      file.pending = [];
    } else this.#file(name).pending.push(event);
  }

  /** What may be on the disk when the power is cut now. */
  image(random: Random): Map<string, Buffer> {
    // Names change in their order: a file system's journal sees to that.
    const names = new Map(this.#durableNames);
    for (const change of this.#pendingNames.slice(0, random.below(this.#pendingNames.length + 1))) change(names);
    return new Map([...names].map(([name, file]) => [name, this.#survivors(file, random)]));
  }

  #survivors({ durable, pending }: File, random: Random): Buffer {
    const probability = random.pick([0, 0.2, 0.5, 0.8, 1]);
    const tears = random.chance(0.3);
    let bytes = durable;
    for (const change of pending) {
      if (random.chance(probability)) bytes = changeOf(change, tears ? () => random.chance(0.5) : undefined)(bytes);
    }
    return bytes;
  }

  #rename(change: (names: Names) => void): void {
    change(this.#names);
    this.#pendingNames.push(change);
  }

  #file(name: string): File {
    const file = this.#names.get(name);
    if (file === undefined) throw new RangeError(`${name} is not there.`);
    return file;
  }
}

/** A write or a cut; with `keeps`, only those sectors of a write that it keeps. */
function changeOf(event: Event, keeps: () => boolean = () => true): Change {
  if (event.do === "cut") {
    return (bytes) =>
      Buffer.concat([bytes.subarray(0, event.length), Buffer.alloc(Math.max(0, event.length - bytes.length))]);
  }
  if (event.do !== "write") return (bytes) => bytes;
  const { at, data } = event;
  return (bytes) => {
    const changed = Buffer.alloc(Math.max(bytes.length, at + data.length));
    bytes.copy(changed);
    for (let from = 0; from < data.length; ) {
      // Up to the next sector of the disk.
      const to = Math.min(data.length, from + SECTOR - ((at + from) % SECTOR));
      if (keeps()) data.copy(changed, at + from, from, to);
      from = to;
    }
    return changed;
  };
}
