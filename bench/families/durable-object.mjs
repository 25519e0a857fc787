import { race, ratios } from "../race.mjs";
import { digest, verify } from "../verify.mjs";
import { startWorkerd } from "../workerd/start.mjs";

const BATCH = 20;
const SUBJECTS = [
  "limit",
  "stemma",
  "stemma, search off",
  "agents@0.22 provider",
  "agents@0.32",
  "agents@0.32 with its index",
];

const CALLS = [
  { method: "append", title: "cold open to the first append", cold: true },
  { method: "append", title: "append" },
  { method: "last", title: "newest 50" },
  { method: "delete", title: "delete in the middle" },
];
const TARGETS = {
  "stemma: cold open to the first append": { read: 10 },
  "stemma: append": { written: 3 },
  "stemma, search off: append": { written: 2 },
};

/** What is billed: rows that workerd counts as read and written; and the time of appends, from outside. */
export async function measureDurableObject({ quick, folder, world, scales, clock, turns, report }) {
  const count = scales.medium;
  // To find its newest message, agents@0.22 reads a hundred million rows.
  const subjects = quick ? SUBJECTS.filter((subject) => !subject.startsWith("agents@0.22")) : SUBJECTS;
  const messages = world.conversation(count);
  const number = count.toLocaleString("en");
  const workerd = await startWorkerd(folder);
  const object = (subject) => `conversation of ${subject}`;
  try {
    for (const subject of subjects) {
      const call = (method, ...args) => workerd.call(object(subject), subject, method, ...args);
      verify((await call("fill", count)) === digest(messages), subject, "it does not hold the conversation.");
      if (subject !== "limit") await call("evict").catch(() => {});
      const fresh = world.batches(1);
      let appended = 0;
      for (const { method, title, cold } of CALLS) {
        if (subject === "limit" && (cold || method === "delete")) continue;
        const argument = {
          append: () => fresh.batch(appended)[0],
          last: () => 50,
          delete: () => messages[count / 2].id,
        };
        const rows = await call("cost", method, argument[method]());
        if (method === "append") appended += 1;
        report.count({ measure: `workerd: ${title} at ${number}`, subject, ...rows });
        for (const [kind, atMost] of Object.entries(TARGETS[`${subject}: ${title}`] ?? {})) {
          const work = `Durable Object at ${number}, ${title}, ${subject}: rows ${kind}`;
          report.row({ work, target: { atMost }, unit: "", values: [rows[kind]] });
        }
      }
      const newest = [...messages, ...fresh.all()].filter(({ id }) => id !== messages[count / 2].id).slice(-40);
      verify((await call("digestOfLast", 40)) === digest(newest), subject, "its newest messages are others.");
    }
    const batches = world.batches(BATCH);
    const contestant = (subject) => ({
      size: BATCH,
      prepare: batches.batch,
      // Each of its appends reads two rows per message.
      every: subject.startsWith("agents@0.22") ? turns : 1,
      run: (batch) => workerd.call(object(subject), subject, "appendEach", batch),
    });
    const times = await race(Object.fromEntries(subjects.map((subject) => [subject, contestant(subject)])), {
      ...clock,
      cpu: false,
      turns,
    });
    for (const subject of subjects) {
      const values = ratios(times[subject], times.limit);
      report.compare({ measure: `workerd: append at ${number}`, subject, values });
    }
  } finally {
    await workerd.stop();
  }
}
