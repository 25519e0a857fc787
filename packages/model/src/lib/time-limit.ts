/** The longest time that a timer takes, in milliseconds: it counts in 31 bits. */
export const LONGEST_TIMER = 2 ** 31 - 1;

type Timer = ReturnType<typeof setTimeout>;

/** Those who decide whether a process goes on for a timer. */
export interface TimerKeeper {
  add(timer: Timer): void;
  remove(timer: Timer): void;
}

/**
 * The result of the work, or after `timeout` milliseconds a rejection with `late()`; what comes later is dropped. Without a keeper
 * the timer keeps the process going. What may take longer than a timer counts may take for ever.
 */
export async function raceWithTimer<T>(
  work: Promise<T>,
  timeout: number,
  late: () => Error,
  keeper?: TimerKeeper,
): Promise<T> {
  if (timeout > LONGEST_TIMER) return work;
  let timer: Timer | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), timeout);
    keeper?.add(timer);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
    if (timer !== undefined) keeper?.remove(timer);
  }
}
