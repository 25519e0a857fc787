import { openWith, serveWith } from "../../../packages/server/test/quick/rest-helpers.js";
import { durableObject } from "../../../packages/store/src/durable-object.js";
import { RemoteObject, route } from "../agent.js";
import { cases } from "../suites/vitest.js";
import { type Binding, served } from "./served.js";
import "../../server/rest-suite.js";

export { Memory } from "./served.js";

interface Env {
  readonly Memory: Binding;
}

/** Runs the cases of REST's suite: on its own database, or through the Worker of `createWorker` on those of other objects. */
export class CaseObject extends RemoteObject<Env> {
  list(): { suites: readonly string[]; title: string; skipped: boolean }[] {
    return cases.map(({ suites, title, run }) => ({ suites, title, skipped: run === null }));
  }

  async run(index: number, isThroughWorker: boolean): Promise<void> {
    await this.ctx.storage.deleteAll();
    openWith(async () => {
      // The one of a property's last run.
      if (isThroughWorker) await this.ctx.storage.deleteAll();
      return durableObject(this.ctx);
    });
    serveWith(isThroughWorker ? (options, errors) => served(this.env.Memory, options, errors) : undefined);
    await cases[index]?.run?.();
  }
}

export default route;
