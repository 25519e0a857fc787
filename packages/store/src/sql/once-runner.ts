import type { Operation } from "../engine/operation.js";
import type { CatchUp, Runner } from "../engine/runner.js";

/** Does a write of a call once; `count` writes of the call came before. */
export type DoOnce = <T>(operation: () => Operation<T>, count: number) => Promise<T>;

/** Runs the writes of one call, each of them once: asked again, it gives what came of it. */
export class OnceRunner implements Runner {
  #writes = 0;

  constructor(
    private readonly runner: Runner,
    private readonly doOnce: DoOnce,
  ) {}

  // What is done once may be tried again when a connection was lost.
  write<T>(operation: () => Operation<T>): Promise<T> {
    return this.doOnce(operation, this.#writes++);
  }

  writeSingle<T>(operation: () => Operation<T>): Promise<T> {
    return this.write(operation);
  }

  writeEach: Runner["writeEach"] = (writes, operation) => this.runner.writeEach(writes, operation);

  read<T>(operation: () => Operation<T>, first?: CatchUp): Promise<T> {
    return this.runner.read(operation, first);
  }

  readInSteps<T>(operation: () => Operation<T>): Promise<T> {
    return this.runner.readInSteps(operation);
  }

  get hasSteps(): boolean {
    return this.runner.hasSteps;
  }

  single<T>(operation: () => Operation<T>): Promise<T> {
    return this.runner.single(operation);
  }

  ready(): Promise<void> {
    return this.runner.ready();
  }

  close(): Promise<void> {
    return this.runner.close();
  }

  observe: Runner["observe"] = (wrap) => this.runner.observe(wrap);
}
