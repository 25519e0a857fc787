import type { Dialect } from "../engine/dialect.js";
import type { Operation } from "../engine/operation.js";
import type { CatchUp, Runner } from "../engine/runner.js";
import { onceIn } from "../operations/registry/ledger.js";

/** Runs the writes of one call, each of them once: asked again, it gives what came of it. */
export class OnceRunner implements Runner {
  #writes = 0;

  constructor(
    private readonly runner: Runner,
    private readonly sql: Dialect,
    private readonly key: string,
    private readonly fingerprint: string,
  ) {}

  // What is done once may be tried again when a connection was lost.
  write<T>(operation: () => Operation<T>): Promise<T> {
    const key = `${this.key}/${this.#writes++}`;
    return this.runner.write(() => onceIn(this.sql, key, this.fingerprint, operation), "idempotent");
  }

  writeSingle<T>(operation: () => Operation<T>): Promise<T> {
    return this.write(operation);
  }

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
