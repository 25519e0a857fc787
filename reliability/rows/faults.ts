import { faults } from "../../packages/conformance/src/faults/faults.js";
import { runCases } from "../tools/conformance.js";
import type { Row } from "../tools/row.js";

/** Every public call that writes, with each of its statements failing in turn: nothing of it is stored, and a repeat succeeds. */
export const faultsRow: Row = {
  number: 4,
  title: "a fault at every statement of every public call that writes",
  target: "all or nothing",
  // The suite has these cases on every store.
  sizes: { SQLite: [1, 0], Postgres: [1, 0], workerd: [1, 0] },
  async run(scene) {
    const { passed, failed, faults: count } = await runCases(scene, faults, "");
    return {
      figure: `${failed.length} partial, of ${count === null ? "" : `${count} faults in `}${passed} calls`,
      met: failed.length === 0,
      details: failed,
    };
  },
};
