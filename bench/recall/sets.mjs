// Conversations with questions, and what answers them. The data stays outside.
import { readFileSync } from "node:fs";
import { readLocomo } from "./locomo.mjs";

const MIN_LENGTH = 20;

/**
 * Sets by name. Each has groups that are searched apart: `sessions` of messages, and `queries` with a `text`, the `unit` that is
 * drawn again for an interval, and `recall(results)`, the share of what was asked for among them.
 */
export function readSets({ locomo, tau }) {
  return {
    ...(locomo === undefined
      ? {}
      : { "LoCoMo, questions": questions(locomo), "LoCoMo, statements": statements(locomo) }),
    ...(tau === undefined ? {} : { "tau-bench, instructions": instructions(tau) }),
  };
}

const among = (evidence) => (results) =>
  evidence.filter((wanted) => results.some(({ id }) => id === wanted)).length / evidence.length;

const questions = (path) =>
  readLocomo(path).map(({ name, sessions, questions: asked }) => ({
    sessions,
    queries: asked.map(({ text, evidence }) => ({ text, unit: name, recall: among(evidence) })),
  }));

// What the data's authors had a model say of a turn, with the turn's id.
function statements(path) {
  const observations = JSON.parse(readFileSync(path, "utf8")).map(({ observation }) => observation);
  return readLocomo(path).map(({ name, sessions }, index) => ({
    sessions,
    queries: Object.values(observations[index])
      .flatMap((session) => Object.values(session).flat())
      .flatMap(([text, ids]) => {
        const evidence = String(ids).match(/D\d+:\d+/g) ?? [];
        return evidence.length === 0 ? [] : [{ text, unit: name, recall: among(evidence) }];
      }),
  }));
}

// The sentences of what a customer was told to do; they are answered by any message of a conversation with that customer.
function instructions(path) {
  const runs = JSON.parse(readFileSync(path, "utf8")).map(({ info, traj }, index) => ({
    id: `run${index}`,
    customer: info.task.user_id,
    instruction: info.task.instruction,
    messages: traj
      .filter(({ role, content }) => (role === "user" || role === "assistant") && content)
      .map(({ role, content }, at) => ({ id: `run${index}-${at}`, role, parts: [{ type: "text", text: content }] })),
  }));
  const customers = new Map();
  for (const { customer, instruction } of runs) {
    for (const sentence of instruction.split(/(?<=[.!?])\s+/)) {
      if (sentence.length < MIN_LENGTH) continue;
      customers.set(sentence, (customers.get(sentence) ?? new Set()).add(customer));
    }
  }
  const customerOf = new Map(runs.map(({ id, customer }) => [id, customer]));
  const queries = [...customers].map(([text, those]) => ({
    text,
    unit: [...those].sort().join(),
    recall: (results) => Number(results.some(({ sessionId }) => those.has(customerOf.get(sessionId)))),
  }));
  return [{ sessions: runs, queries }];
}
