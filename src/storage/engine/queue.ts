/** Runs works of the same key one after the other, in the order in which they were given; of different keys at once. */
export type Queue = <T>(key: string, work: () => Promise<T>) => Promise<T>;

export function createQueue(): Queue {
  const tails = new Map<string, Promise<void>>();
  return (key, work) => {
    const before = tails.get(key);
    const done = before === undefined ? work() : before.then(work);
    const end = (): void => {
      if (tails.get(key) === tail) tails.delete(key);
    };
    const tail: Promise<void> = done.then(end, end);
    tails.set(key, tail);
    return done;
  };
}
