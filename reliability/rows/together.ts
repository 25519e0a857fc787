import { compactionRaces } from "../../packages/conformance/src/compaction/compaction-races.js";
import { concurrency } from "../../packages/conformance/src/messages/concurrency.js";
import { runCases } from "../tools/conformance.js";
import type { Row } from "../tools/row.js";

// What the conformance suite holds of every store, many times over.

export const parallelAppends: Row = {
  number: 10,
  title: "20 parallel appends below one message, {size} times",
  target: "21 of 21",
  sizes: { SQLite: [200, 0], Postgres: [200, 0], memory: [200, 0], workerd: [5, 0] },
  async run(scene) {
    const words = "forms one chain of 20 parallel appends: 21 of 21";
    const { failed } = await runCases(scene, concurrency, words, scene.size);
    return {
      figure: failed.length === 0 ? "21 of 21" : `${failed.length} times not`,
      met: !failed.length,
      details: failed,
    };
  },
};

export const blockAppends: Row = {
  number: 11,
  title: "1,000 concurrent appends to a block, {size} times",
  target: "1,000 of 1,000",
  sizes: { SQLite: [10, 0], Postgres: [10, 0], memory: [10, 0], workerd: [2, 0] },
  async run(scene) {
    const words = "keeps 1,000 concurrent block appends of 1,000";
    const { failed } = await runCases(scene, concurrency, words, scene.size);
    const figure = failed.length === 0 ? "1,000 of 1,000" : `${failed.length} times not`;
    return { figure, met: failed.length === 0, details: failed };
  },
};

export const editsDuringCompaction: Row = {
  number: 13,
  title: "200 edits while the model summarises, {size} times",
  target: "0 hidden",
  sizes: { SQLite: [5, 0], Postgres: [5, 0], memory: [5, 0], workerd: [5, 0] },
  async run(scene) {
    const { failed } = await runCases(scene, compactionRaces, "hides no edit made while", scene.size);
    return { figure: `${failed.length} hidden`, met: failed.length === 0, details: failed };
  },
};
