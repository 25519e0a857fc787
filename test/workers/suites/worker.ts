import { RemoteObject, route } from "../agent.js";
import { bucketUsed, enter } from "./host.js";
import { cases } from "./vitest.js";
import "./chat-handler.js";
import "./conformance.js";
import "../../docs/documents/sessions-page.test.js";
import "../../docs/documents/older-sessions-page.test.js";
import "../../docs/documents/memory-page.test.js";

interface Env {
  readonly BUCKET: {
    list(): Promise<{ objects: { key: string }[] }>;
    delete(keys: string[]): Promise<void>;
  };
}

/** Runs cases, each on an empty database and an empty bucket. */
export class CaseObject extends RemoteObject<Env> {
  list(): { suites: readonly string[]; title: string; skipped: boolean }[] {
    return cases.map(({ suites, title, run }) => ({ suites, title, skipped: run === null }));
  }

  async run(index: number): Promise<void> {
    await this.ctx.storage.deleteAll();
    if (bucketUsed()) {
      const { objects } = await this.env.BUCKET.list();
      await this.env.BUCKET.delete(objects.map(({ key }) => key));
    }
    enter({ ctx: this.ctx, bucket: this.env.BUCKET });
    await cases[index]?.run?.();
  }
}

export default route;
