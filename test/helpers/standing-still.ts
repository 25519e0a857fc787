import { defer } from "../../packages/model/src/lib/queue.js";
import type { Observer, Store } from "../../packages/store/src/contract/store.js";
import { observeStore } from "../../packages/telemetry/src/observe-store.js";

/** A store as a process uses it that stands still for a while. */
export interface StandingStore {
  readonly store: Store;
  /** Resolves once the process stands still. */
  readonly stands: Promise<void>;
  wake(): void;
}

/**
 * The store of a process that stands still at its call with the number `at`, from 1 on: it begins no call until it is woken,
 * what it was about to write included. `isCounted` says which calls count; by default all do.
 */
export function standingStill(
  store: Store,
  at: number,
  isCounted: (name: string) => boolean = () => true,
): StandingStore {
  const [stands, woken] = [defer(), defer()];
  let calls = 0;
  let isAwake = true;
  const observer: Observer = (observed, work) => {
    const within = <T>(part: () => T) => part();
    if (observed.type !== "call") return work(within);
    if (isCounted(observed.name)) calls += 1;
    if (calls === at && isAwake && isCounted(observed.name)) {
      isAwake = false;
      stands.resolve();
      woken.promise.then(() => {
        isAwake = true;
        at = 0;
      });
    }
    return isAwake ? work(within) : (woken.promise.then(() => work(within)) as ReturnType<typeof work>);
  };
  return { store: observeStore(store, observer, { statements: false }), stands: stands.promise, wake: woken.resolve };
}
