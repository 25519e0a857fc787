import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Queue, queueOf } from "../../../src/lib/queue.js";

const turn = () => new Promise<void>((resolve) => setTimeout(resolve));

describe("a queue", () => {
  it("begins at once what need not wait", async () => {
    const queue = new Queue();
    const begun: string[] = [];
    const work = (name: string) => async () => {
      begun.push(name);
      await turn();
    };
    const done = [
      queue.read("a", work("read")),
      queue.read("a", work("read beside")),
      queue.write("b", work("write")),
      queue.write("a", work("waits")),
      queue.read("a", work("waits for that")),
    ];
    expect(begun).toEqual(["read", "read beside", "write"]);
    await Promise.all(done);
    expect(begun.slice(3)).toEqual(["waits", "waits for that"]);
  });

  it("tells when what was given so far is over, whatever comes later", async () => {
    const queue = new Queue();
    const over: string[] = [];
    const work = (name: string, turns: number) => async () => {
      for (let left = turns; left > 0; left -= 1) await turn();
      over.push(name);
    };
    const given = [
      queue.write("a", work("first", 2)),
      queue.write("a", work("waits", 2)),
      queue.read("b", work("read", 1)),
    ];
    const settled = queue.settled().then(() => over.push("settled"));
    const later = queue.write("a", work("later", 0));
    await settled;
    expect(over.slice(0, 3)).toEqual(["read", "first", "waits"]);
    expect(over).toContain("settled");
    await Promise.all([...given, later]);
    await queue.settled();
    expect(queue.size).toBe(0);
  });

  it("forgets keys that nobody holds, whatever became of the works", async () => {
    const queue = new Queue();
    const fails = async () => {
      throw new Error("failed");
    };
    const works = [
      queue.write("a", fails),
      queue.read("a", fails),
      queue.hold({ read: ["a"], write: ["b", "c"] }, fails),
      queue.hold({ write: ["b", "b"] }, turn),
      queue.write("d", () => {
        throw new Error("thrown at once");
      }),
    ];
    await Promise.allSettled(works);
    expect(queue.size).toBe(0);
  });

  it("is the same for the same object", () => {
    const owner = {};
    expect(queueOf(owner)).toBe(queueOf(owner));
    expect(queueOf({})).not.toBe(queueOf(owner));
  });

  it("takes 100,000 works that wait", async () => {
    const queue = new Queue();
    let last = -1;
    const works = Array.from({ length: 100_000 }, (_, index) =>
      queue.write("a", async () => {
        if (last === index - 1) last = index;
      }),
    );
    await Promise.all(works);
    expect(last).toBe(99_999);
  });

  it("keeps the order on each key, and writers alone", async () => {
    const key = fc.constantFrom("a", "b", "c");
    const locks = fc.record({ read: fc.array(key), write: fc.array(key, { maxLength: 2 }), turns: fc.nat(3) });
    await fc.assert(
      fc.asyncProperty(fc.array(locks, { maxLength: 12 }), async (works) => {
        const queue = new Queue();
        const held = new Map<string, { readers: number; writers: number }>();
        const begun: number[] = [];
        const run = ({ read, write, turns }: (typeof works)[number], index: number) =>
          queue.hold({ read, write }, async () => {
            begun.push(index);
            const keys = new Map<string, boolean>([
              ...read.map((each) => [each, false] as const),
              ...write.map((each) => [each, true] as const),
            ]);
            for (const [each, writes] of keys) {
              const before = held.get(each) ?? { readers: 0, writers: 0 };
              expect(before.writers + (writes ? before.readers : 0)).toBe(0);
              held.set(each, writes ? { ...before, writers: 1 } : { ...before, readers: before.readers + 1 });
            }
            for (let left = turns; left > 0; left -= 1) await null;
            for (const [each, writes] of keys) {
              const now = held.get(each) as { readers: number; writers: number };
              held.set(each, writes ? { ...now, writers: 0 } : { ...now, readers: now.readers - 1 });
            }
          });
        await Promise.all(works.map(run));
        // Of two works that conflict the earlier one began first.
        for (const [later, { read, write }] of works.entries()) {
          for (const [earlier, before] of works.slice(0, later).entries()) {
            const conflict =
              write.some((each) => before.write.includes(each) || before.read.includes(each)) ||
              read.some((each) => before.write.includes(each));
            if (conflict) expect(begun.indexOf(earlier)).toBeLessThan(begun.indexOf(later));
          }
        }
        expect(queue.size).toBe(0);
      }),
    );
  });
});
