/** Runs a call on what it is for, once that is there, with what was given as it was at the call. */
export type HandOver<Target> = <Given, T>(
  given: Given,
  use: (target: Target, given: Given) => Promise<T>,
) => Promise<T>;

type Method = (...given: unknown[]) => Promise<unknown>;

/** The methods of a target that have these names: each of them hands its call over. */
export function methodsOf<Target, Name extends keyof Target>(
  handOver: HandOver<Target>,
  ...names: readonly Name[]
): Pick<Target, Name> {
  const methods = names.map((name) => {
    const method = (...given: unknown[]) =>
      handOver(given, (target, kept) => (target[name] as Method).apply(target, kept));
    return [name, method];
  });
  return Object.fromEntries(methods);
}

/** The values of what is there later; `onEnd` runs when there is no more, or nobody asks any more. */
export function valuesIn<T>(
  opened: Promise<AsyncIterable<T> | Iterable<T>>,
  onEnd = async (): Promise<void> => {},
): AsyncIterable<T> {
  // Whoever iterates is told of a failure; perhaps nobody does.
  opened.catch(() => {});
  return (async function* () {
    try {
      yield* await opened;
    } finally {
      await onEnd();
    }
  })();
}
