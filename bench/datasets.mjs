// The databases that are measured: for each candidate and length one file, with a conversation of that length and 50 others.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { makeMessages } from "./messages.mjs";
import { verifyMessages } from "./verify.mjs";

/** The id of the session that is measured. */
export const MAIN = "main";

const OTHERS = 50;
const MESSAGES_OF_OTHERS = 40;
const POOL = 5000;

const others = new Map();

/** Gives an opened candidate 50 other sessions, and then the conversation; and checks that it has it. */
export async function fillDataset(name, opened, messages) {
  while (others.size < OTHERS) {
    const id = `other${others.size}`;
    others.set(id, makeMessages(MESSAGES_OF_OTHERS, { seed: others.size + 2, prefix: `${id}-` }));
  }
  for (const [id, conversation] of others) {
    opened.startSession?.();
    await opened.fill(id, conversation);
  }
  opened.startSession?.();
  await opened.fill(MAIN, messages);
  verifyMessages(`${name}, filled`, await opened.history(MAIN), messages);
}

export function createDatasets(folder) {
  const datasets = new Map();
  let longest = [];
  let pool = [];
  let pools = 0;

  /** The conversation of `count` messages: the same for every candidate. */
  const conversation = (count) => {
    if (longest.length < count) longest = makeMessages(count);
    return longest.slice(0, count);
  };

  const fill = async (candidate, count, home) => {
    mkdirSync(home, { recursive: true });
    const opened = await candidate.open(home);
    await fillDataset(candidate.name, opened, conversation(count));
    return opened;
  };

  /** A candidate that holds the conversation of `count` messages, opened once and checked; a use that changes it takes one of its own. */
  const open = (candidate, count, use = "") => {
    const key = `${candidate.name} ${count} ${use}`.trim();
    if (!datasets.has(key)) datasets.set(key, fill(candidate, count, join(folder, key.replace(/\W+/g, "-"))));
    return datasets.get(key);
  };

  const fresh = (count) => {
    if (pool.length < count) {
      pools += 1;
      pool = makeMessages(Math.max(POOL, count), { seed: 1000 + pools, prefix: `new${pools}-` });
    }
    return pool.splice(0, count);
  };

  /** Batches of `count` messages that no candidate has yet, by their number: all tasks of one run append the same ones. */
  const batches = (count) => {
    const made = [];
    const batch = (number) => {
      while (made.length <= number) made.push(fresh(count));
      return made[number];
    };
    return { batch, all: () => made.flat() };
  };

  const close = async () => {
    for (const opened of datasets.values()) await (await opened).close();
  };

  return { conversation, open, batches, close };
}
