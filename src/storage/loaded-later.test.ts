import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { valuesOf, via } from "./hand-over.js";
import { LoadedLater } from "./loaded-later.js";

const CODE = { name: "code" };

it("loads with the first call, once", async () => {
  let loads = 0;
  const code = new LoadedLater(async () => {
    loads += 1;
    await pause(5);
    return CODE;
  });
  expect(loads).toBe(0);
  const found = await Promise.all([1, 2].map((given) => code.call(given, async ({ name }, kept) => [name, kept])));
  expect(found).toEqual([
    ["code", 1],
    ["code", 2],
  ]);
  expect(await code.call(null, async (loaded) => loaded)).toBe(CODE);
  expect(loads).toBe(1);
});

it("lets no call overtake one that waits, in whatever microtask it is made", async () => {
  const made: number[] = [];
  const begun: number[] = [];
  const code = new LoadedLater(async () => CODE);
  const call = () => {
    const number = made.length;
    made.push(number);
    return code.call(number, async (_, kept) => void begun.push(kept));
  };
  const calls: Promise<void>[] = [];
  // While the code is loaded, when it just was, between those that waited, and afterwards.
  for (let turn = 0; turn < 30; turn += 1) {
    calls.push(call(), call());
    await null;
  }
  await Promise.all(calls);
  expect(begun).toEqual(made);
});

it("runs a call before it returns once the code is there", async () => {
  const code = new LoadedLater(async () => CODE);
  await code.call(null, async () => {});
  let begun = false;
  code.call(null, async () => {
    begun = true;
  });
  expect(begun).toBe(true);
});

it("fails the calls that wait for a load that fails, and loads again with the next one", async () => {
  let loads = 0;
  const code = new LoadedLater(async () => {
    loads += 1;
    await pause(1);
    if (loads === 1) throw new Error("no such chunk");
    return CODE;
  });
  const begun: number[] = [];
  const call = (number: number) => code.call(number, async (_, kept) => void begun.push(kept));
  const first = await Promise.allSettled([call(1), call(2).finally(() => call(3)), call(4)]);
  expect(first.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  await Promise.all([call(5), call(6)]);
  expect(begun).toEqual([3, 5, 6]);
  expect(loads).toBe(2);
});

it("takes what is given as it is at the call", async () => {
  const code = new LoadedLater(async () => CODE);
  const ids = ["a"];
  const found = code.call([ids], async (_, [kept]) => [...(kept ?? [])]);
  ids.push("b");
  expect(await found).toEqual(["a"]);
});

it("makes what a call goes through once", async () => {
  let made = 0;
  const code = new LoadedLater(async () => CODE);
  const call = via(code.call, ({ name }) => {
    made += 1;
    return { name };
  });
  const [one, other] = await Promise.all([call(null, async (found) => found), call(null, async (found) => found)]);
  expect(one).toBe(other);
  expect(made).toBe(1);
});

it("opens values with the call, whenever they are asked for", async () => {
  let count = 1;
  const code = new LoadedLater(async () => ({
    async *numbers() {},
    open: () => [count][Symbol.iterator](),
  }));
  const values = valuesOf(code.call, null, ({ open }) => {
    const opened = open();
    return (async function* () {
      yield* opened;
    })();
  });
  await pause(1);
  count = 2;
  const found: number[] = [];
  for await (const value of values) found.push(value);
  expect(found).toEqual([1]);
});

it("leaves a failure to whoever asks for values", async () => {
  const code = new LoadedLater<typeof CODE>(async () => {
    throw new Error("no such chunk");
  });
  const values = valuesOf(code.call, null, async function* () {});
  await pause(1);
  await expect(async () => {
    for await (const _ of values);
  }).rejects.toThrow("no such chunk");
});
