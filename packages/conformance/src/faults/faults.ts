import { ConformanceError, expect, failureOf } from "../assert.js";
import { snapshot } from "../samples.js";
import { defineTopic } from "../topic.js";
import { Workspace } from "../workspace.js";
import { SCENARIOS } from "./fault-scenarios.js";

const MAX_STATEMENTS = 1000;
const IDS = ["main", "fork"];

/** Every public writing call, with every statement of it failing in turn. */
export const faults = defineTopic("faults", (it) => {
  for (const scenario of SCENARIOS) {
    it(
      `leaves the state before when any statement of ${scenario.title} fails, and succeeds when tried again`,
      ["openWithFaults", "transactions"],
      async ({ target }) => {
        let statement = 1;
        // A call that succeeds although a statement failed has changed the state: the next one is tried on a new store.
        for (let done = false; !done; ) {
          const fault = { at: 0, seen: 0, fired: false };
          const store = await target.openWithFaults?.((sql) => {
            fault.seen += 1;
            if (fault.seen !== fault.at) return;
            fault.fired = true;
            throw new RangeError(`injected at statement ${fault.at}: ${sql}`);
          });
          const workspace = await Workspace.open(target, store);
          try {
            await scenario.prepare(workspace);
            const call = await scenario.call(workspace);
            const dump = () => target.dump?.(workspace.store) ?? snapshot(workspace, IDS);
            const before = await dump();
            for (let written = false; !written && !done; statement += 1) {
              Object.assign(fault, { at: statement, seen: 0, fired: false });
              const failure = await failureOf(call);
              fault.at = 0;
              done = !fault.fired;
              written = failure === undefined;
              if (done && failure !== undefined) throw failure;
              if (!written) expect(await dump()).toEqual(before);
              if (statement > MAX_STATEMENTS) throw new ConformanceError("endless", statement, MAX_STATEMENTS);
            }
            if (done) expect(JSON.stringify(await dump()) === JSON.stringify(before)).toBe(false);
          } finally {
            fault.at = 0;
            await workspace.close();
          }
        }
      },
    );
  }
});
