import type { Observed, Store, Within } from "../contract/store.js";

/** Does work, of which the store's observer is told, where there is one. */
export function observed<T>(store: Store | null, what: Omit<Observed, "store">, work: () => T): T {
  return store?.observer === undefined ? work() : store.observer({ ...what, store: store.name }, work);
}

/** The end of values that came one by one: a result, or a failure that was told among them. */
export type Outcome = { readonly result: unknown } | { readonly failure: unknown };

/**
 * Values that are made when they are asked for, of which the observer is told as one work: it lasts until there is no more, or nobody asks any more.
 * `outcome` then says what became of it.
 */
export function observedValues<T>(
  store: Store | null,
  what: Omit<Observed, "store">,
  values: AsyncGenerator<T, void, undefined>,
  outcome: () => Outcome,
): AsyncGenerator<T, void, undefined> {
  return store?.observer === undefined ? values : within(store, what, values, outcome);
}

async function* within<T>(
  store: Store,
  what: Omit<Observed, "store">,
  values: AsyncGenerator<T, void, undefined>,
  outcome: () => Outcome,
): AsyncGenerator<T, void, undefined> {
  let run: Within = (part) => part();
  let end = (_found: Outcome): void => {};
  const work = store.observer?.({ ...what, store: store.name }, (given) => {
    run = given;
    return new Promise<unknown>((resolve, reject) => {
      end = (found) => ("failure" in found ? reject(found.failure) : resolve(found.result));
    });
  });
  // It is told to the observer, and thrown below.
  work?.catch(() => {});
  try {
    for (;;) {
      const step = await run(() => values.next());
      if (step.done === true) break;
      yield step.value;
    }
  } catch (error) {
    end({ failure: error });
    throw error;
  } finally {
    try {
      await run(() => values.return());
    } finally {
      end(outcome());
    }
  }
}
