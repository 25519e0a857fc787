import { plainCopy } from "../model/plain-copy.js";
import { once } from "../once.js";

/** Runs a call on what it is for, once that is there, with what was given as it was at the call. */
export type HandOver<Target> = <Given, T>(
  given: Given,
  use: (target: Target, given: Given) => Promise<T>,
) => Promise<T>;

/** Code that is loaded with the first call that needs it. Calls reach it in the order in which they are made. */
export class LoadedLater<Code> {
  #code: Code | null = null;
  #waiting = 0;
  readonly #load: () => Promise<Code>;

  constructor(load: () => Promise<Code>) {
    this.#load = once(async () => {
      this.#code = await load();
      return this.#code;
    });
  }

  /**
   * What `use` gives for the code and for what was given, as that is now. Where the code is there and nobody waits, `use` runs
   * before the call returns. Fails with what loading failed with; a later call loads again.
   */
  readonly call: HandOver<Code> = (given, use) =>
    this.#code !== null && this.#waiting === 0 ? use(this.#code, given) : this.#later(given, use);

  async #later<Given, T>(given: Given, use: (code: Code, given: Given) => Promise<T>): Promise<T> {
    const kept = plainCopy(given);
    this.#waiting += 1;
    let code: Code;
    try {
      // Those who wait for one promise go on in the order in which they came.
      code = await this.#load();
    } finally {
      this.#waiting -= 1;
    }
    return use(code, kept);
  }
}

/** The same for what is made of the target, which is done once. */
export function via<Target, Made>(handOver: HandOver<Target>, make: (target: Target) => Made): HandOver<Made> {
  let made: Made | undefined;
  return (given, use) =>
    handOver(given, (target, kept) => {
      made ??= make(target);
      return use(made, kept);
    });
}

type Methods = Record<PropertyKey, (...given: unknown[]) => Promise<unknown>>;

/** The methods of a target that have these names: each of them hands its call over. */
export function methodsOf<Target, Name extends keyof Target>(
  handOver: HandOver<Target>,
  ...names: readonly Name[]
): Pick<Target, Name> {
  const methods = names.map((name) => {
    const method = (...given: unknown[]) =>
      handOver(given, (target, kept) => (target as Methods)[name]?.(...kept) as Promise<unknown>);
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
  const opened = handOver(given, async (target, kept) => open(target, kept));
  // Whoever iterates is told of a failure; perhaps nobody does.
  opened.catch(() => {});
  return (async function* () {
    yield* await opened;
  })();
}
