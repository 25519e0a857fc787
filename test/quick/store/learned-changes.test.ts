import { expect, it } from "vitest";
import { memory } from "../../../packages/store/src/memory.js";
import { measureChanges } from "../../learning/changes.js";

it("of 500 facts the one that a change is about is shown, by words and subjects, and no other is closed", async () => {
  const store = memory();
  const measured = await measureChanges(store, (_request, predecessor) => [predecessor]);
  expect(measured.shown).toBeGreaterThanOrEqual(0.95);
  expect(measured).toMatchObject({ closedWithoutCause: 0, endedInResults: 0 });
  expect(measured.closed).toBe(Math.round(measured.shown * measured.changes));
  await store.close();
});

it("a learn function that closes all that it is shown, and more, closes nothing without cause", async () => {
  const store = memory();
  const measured = await measureChanges(store, ({ entries }) => [
    ...entries.map(({ key }) => key),
    "maya-home",
    "invented",
  ]);
  expect(measured.closedWithoutCause).toBeLessThanOrEqual(0.01);
  expect(measured.endedInResults).toBe(0);
  await store.close();
});
