import { describe, expect, it } from "vitest";
import type { StoredBlock } from "../../../../store/src/contract/store.js";
import { addText, replaceText } from "../../../src/context/block-writes.js";
import { LiveBlock } from "../../../src/context/live-block.js";
import type { VersionedContextProvider, WritableContextProvider } from "../../../src/context/provider.js";

/** Calls that end when the test says so, in the order they were made. */
function gates<T>() {
  const waiting: ((value: T) => void)[] = [];
  const call = () => new Promise<T>((resolve) => waiting.push(resolve));
  const end = async (index: number, value: T): Promise<void> => {
    while (waiting[index] === undefined) await Promise.resolve();
    waiting[index](value);
    await new Promise((resolve) => setTimeout(resolve));
  };
  return { call, end };
}

describe("calls that overlap", () => {
  it("leave the highest version on show, in whatever order they end", async () => {
    const { call, end } = gates<StoredBlock>();
    const provider: VersionedContextProvider = { get: () => null, read: call, set: call, append: call };
    const block = new LiveBlock({ label: "a" }, provider, async () => {});
    const calls = [addText(block, "a", {}), addText(block, "b", {}), block.read()];
    await end(1, { content: "ab", version: 2 });
    await end(0, { content: "a", version: 1 });
    await end(2, { content: "", version: 0 });
    await Promise.all(calls);
    expect(block.snapshot()).toMatchObject({ content: "ab", version: 2 });
  });

  it("do not hold back a later read of a block that was made anew", async () => {
    const { call, end } = gates<StoredBlock>();
    const provider: VersionedContextProvider = { get: () => null, read: call, set: call, append: call };
    const block = new LiveBlock({ label: "a" }, provider, async () => {});
    const written = addText(block, "a", {});
    await end(0, { content: "a", version: 7 });
    await written;
    const read = block.read();
    await end(1, { content: "new", version: 1 });
    await read;
    expect(block.snapshot()).toMatchObject({ content: "new", version: 1 });
  });

  it("never show what was read before or during a write, without versions", async () => {
    const reads = gates<string>();
    const writes = gates<void>();
    const provider: WritableContextProvider = { get: reads.call, set: writes.call };
    const block = new LiveBlock({ label: "a" }, provider, async () => {});
    const before = block.read();
    const write = replaceText(block, "new", {});
    await new Promise((resolve) => setTimeout(resolve));
    const during = block.read();
    await writes.end(0, undefined);
    await reads.end(0, "old");
    await reads.end(1, "old");
    await Promise.all([before, write, during]);
    expect(block.snapshot().content).toBe("new");
  });

  it("show the read that started last, without versions", async () => {
    const { call, end } = gates<string>();
    const block = new LiveBlock({ label: "a" }, { get: call }, async () => {});
    const reads = [block.read(), block.read()];
    await end(1, "newer");
    await end(0, "older");
    await Promise.all(reads);
    expect(block.snapshot().content).toBe("newer");
    const again = [block.read(), block.read()];
    await end(2, "first");
    await end(3, "second");
    await Promise.all(again);
    expect(block.snapshot().content).toBe("second");
  });
});
