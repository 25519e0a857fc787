/** A promise that is resolved from outside. */
export interface Deferred {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

export function defer(): Deferred {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

export function sleep(milliseconds: number): Promise<void> {
  return new Promise((wake) => setTimeout(wake, milliseconds));
}
