import { ratios, runInPieces } from "../runner.mjs";
import { digest, verify } from "../verify.mjs";
import { startWorkerd } from "../workerd/start.mjs";
import { queriesOf } from "./search.mjs";

const BATCH = 20;
const CANDIDATES = [
  "baseline",
  "stemma",
  "stemma, search off",
  "agents@0.22 provider",
  "agents@0.32",
  "agents@0.32 with its index",
];

const CALLS = [
  { method: "append", title: "cold open to the first append", cold: true },
  { method: "append", title: "append" },
  { method: "fill", title: "batch of 1,000" },
  { method: "last", title: "newest 50" },
  { method: "history", title: "history" },
  { method: "stream", title: "stream" },
  { method: "length", title: "path length" },
  { method: "search", title: "search" },
  { method: "fork", title: "fork" },
  { method: "delete", title: "delete in the middle" },
  { method: "summarise", title: "add a summary of all but 50" },
  { method: "summarised", title: "history under it" },
  { method: "switch", title: "branch switch" },
];
const TARGETS = {
  "stemma: cold open to the first append": { read: 10 },
  "stemma: append": { written: 3 },
  "stemma, search off: append": { written: 2 },
};

/** What is billed: rows that workerd counts as read and written; and the time of appends, from outside. */
export async function measureDurableObject({ quick, folder, datasets, scales, clock, turns, report }) {
  const count = scales.medium;
  // To find its newest message, agents@0.22 reads a hundred million rows.
  const candidates = quick ? CANDIDATES.filter((candidate) => !candidate.startsWith("agents@0.22")) : CANDIDATES;
  const messages = datasets.conversation(count);
  const number = count.toLocaleString("en");
  const workerd = await startWorkerd(folder);
  const object = (candidate) => `conversation of ${candidate}`;
  try {
    for (const candidate of candidates) {
      const call = (method, ...args) => workerd.call(object(candidate), candidate, method, ...args);
      verify((await call("fill", count)) === digest(messages), candidate, "it does not hold the conversation.");
      if (candidate !== "baseline") await call("evict").catch(() => {});
      const one = datasets.batches(1);
      const thousand = datasets.batches(1000).batch(0);
      const argument = {
        append: (number) => one.batch(number)[0],
        fill: () => thousand,
        last: () => 50,
        search: () => queriesOf(messages)["a rare word"][0],
        switch: () => messages[count / 4].id,
        fork: () => messages.at(-1).id,
        summarise: () => [messages[0].id, messages.at(-51).id],
        delete: () => messages[count / 2].id,
      };
      let appended = 0;
      for (const { method, title, cold } of CALLS) {
        if (candidate === "baseline" && cold) continue;
        // It adds them one by one, and each of its appends reads two rows per message.
        if (method === "fill" && candidate.startsWith("agents")) continue;
        if (method === "history" && candidate.startsWith("agents@0.22")) continue;
        const rows = await call("cost", method, argument[method]?.(appended));
        if (rows === null) continue;
        if (method === "append") appended += 1;
        report.count({ measure: `workerd: ${title} at ${number}`, candidate, ...rows });
        for (const [kind, atMost] of Object.entries(TARGETS[`${candidate}: ${title}`] ?? {})) {
          const work = `Durable Object at ${number}, ${title}, ${candidate}: rows ${kind}`;
          report.row({ work, target: { atMost }, unit: "", values: [rows[kind]] });
        }
      }
      await call("cost", "switch", thousand.at(-1).id);
      const appendedAll = candidate.startsWith("agents") ? one.all() : [...one.all(), ...thousand];
      const newest = [...messages, ...appendedAll].filter(({ id }) => id !== messages[count / 2].id).slice(-40);
      verify((await call("digestOfLast", 40)) === digest(newest), candidate, "its newest messages are others.");
    }
    const batches = datasets.batches(BATCH);
    const task = (candidate) => ({
      size: BATCH,
      prepare: batches.batch,
      // Each of its appends reads two rows per message.
      every: candidate.startsWith("agents@0.22") ? turns : 1,
      run: (batch) => workerd.call(object(candidate), candidate, "appendEach", batch),
    });
    const times = await runInPieces(Object.fromEntries(candidates.map((candidate) => [candidate, task(candidate)])), {
      ...clock,
      cpu: false,
      turns,
    });
    for (const candidate of candidates) {
      const values = ratios(times[candidate], times.baseline);
      report.compare({ measure: `workerd: append at ${number}`, candidate, values });
    }
  } finally {
    await workerd.stop();
  }
}
