/** Runs a call on what it is for, once that is there, with what was given as it was at the call. */
export type HandOver<Target> = <Given, T>(
  given: Given,
  use: (target: Target, given: Given) => Promise<T>,
) => Promise<T>;

/** Hands calls over to what is made of the target, which is done once. */
export function via<Target, Made>(handOver: HandOver<Target>, make: (target: Target) => Made): HandOver<Made> {
  let made: Made | undefined;
  return (given, use) =>
    handOver(given, (target, kept) => {
      made ??= make(target);
      return use(made, kept);
    });
}

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

/** The same for a call that gives values one by one. It reads what is there now, and not when it is first asked for a value. */
export function valuesOf<Target, Given, T>(
  handOver: HandOver<Target>,
  given: Given,
  open: (target: Target, given: Given) => AsyncIterable<T>,
): AsyncIterable<T> {
  return valuesIn(handOver(given, async (target, kept) => open(target, kept)));
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
