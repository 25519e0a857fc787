import type { Operation } from "../engine/operation.js";
import type { Runner } from "../engine/runner.js";

/** Does a write of a call once; `count` writes of the call came before. */
export type DoOnce = <T>(operation: () => Operation<T>, count: number) => Promise<T>;

/** Runs the writes of one call, each of them once: asked again, it gives what came of it. Whatever else it is asked, the runner does. */
export function onceRunner(runner: Runner, doOnce: DoOnce): Runner {
  let writes = 0;
  // What is done once may be tried again when a connection was lost.
  const write: Runner["write"] = (operation) => doOnce(operation, writes++);
  return new Proxy(runner, {
    get(_, name: keyof Runner) {
      if (name === "write" || name === "writeSingle") return write;
      const found = runner[name];
      return typeof found === "function" ? found.bind(runner) : found;
    },
  });
}
