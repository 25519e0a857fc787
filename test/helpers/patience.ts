const VARIABLE = "STEMMA_TEST_SLOWNESS";

/** What the work below takes, in ms, on the idle machine that the limits of the tests were set on. */
const USUAL = 200;

/** Measures how many times as long the same work takes here, with all that the machine does meanwhile; at least 1. All processes of a run read it. */
export function measureSlowness(): void {
  const list = Array.from({ length: 10_000 }, (_, id) => ({ id, text: `text of ${id}` }));
  const start = performance.now();
  for (let round = 0; round < 60; round += 1) JSON.parse(JSON.stringify(list));
  process.env[VARIABLE] = String(Math.max(1, (performance.now() - start) / USUAL));
}

/** A limit, in ms, for what may hang: `milliseconds` on an idle machine, longer on one that is slow or busy. */
export function patience(milliseconds: number): number {
  // A worker has no process.
  return milliseconds * Number(globalThis.process?.env[VARIABLE] ?? 1);
}
