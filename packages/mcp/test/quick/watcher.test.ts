import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { memory } from "../../../store/src/memory.js";
import type { McpScope } from "../../src/scope.js";
import { createWatcher } from "../../src/watcher.js";

const SECOND = 1000;
const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => vi.useRealTimers());

it.for([
  [0, 100],
  [SECOND, 10],
  [3 * SECOND, 4],
] as const)("rests nine times as long as a look of %i ms takes", async ([cost, looks]) => {
  const store = memory();
  let count = 0;
  const slow = {
    ...store,
    sessions: {
      ...store.sessions,
      get: async () => {
        count += 1;
        if (count > 1) await sleep(cost);
        return null;
      },
    },
  };
  const watcher = createWatcher({ store: slow, onError: () => {} } as unknown as McpScope, () => {});
  await watcher.watch("stemma://session/s");
  count = 1;
  await vi.advanceTimersByTimeAsync(100 * SECOND);
  expect(Math.abs(count - 1 - looks)).toBeLessThanOrEqual(1);
  watcher.clear();
});
