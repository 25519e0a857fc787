/** The longest time, in ms, for which the event loop did not turn while `work` went on. */
export async function longestHold(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let turned = performance.now();
  let isOver = false;
  const look = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - turned);
    turned = now;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  look();
  return longest;
}
