import { boundaryValues } from "./boundary-values.js";
import { capabilities } from "./capabilities.js";
import { automaticCompaction } from "./compaction/automatic-compaction.js";
import { compacting } from "./compaction/compacting.js";
import { compaction } from "./compaction/compaction.js";
import { compactionRaces } from "./compaction/compaction-races.js";
import { compactionTimeLimits } from "./compaction/compaction-time-limits.js";
import { tokenCounting } from "./compaction/token-counting.js";
import { askedAgain } from "./faults/asked-again.js";
import { check } from "./faults/checking.js";
import { faults } from "./faults/faults.js";
import { migrations } from "./faults/migrations.js";
import { blockScopes } from "./memory/block-scopes.js";
import { consolidating } from "./memory/consolidating.js";
import { context } from "./memory/context.js";
import { entryArguments } from "./memory/entry-arguments.js";
import { entryValues } from "./memory/entry-values.js";
import { factChains } from "./memory/fact-chains.js";
import { facts } from "./memory/facts.js";
import { learnedFacts } from "./memory/learned-facts.js";
import { learnedTimes } from "./memory/learned-times.js";
import { learning } from "./memory/learning.js";
import { learningAnywhere } from "./memory/learning-anywhere.js";
import { learningConflicts } from "./memory/learning-conflicts.js";
import { memoryLists } from "./memory/memory-lists.js";
import { recall } from "./memory/recall.js";
import { schemaBlocks } from "./memory/schema-blocks.js";
import { scopes } from "./memory/scopes.js";
import { titles } from "./memory/titles.js";
import { tools } from "./memory/tools.js";
import { turns } from "./memory/turns.js";
import { versions } from "./memory/versioning.js";
import { branches } from "./messages/branches.js";
import { concurrency } from "./messages/concurrency.js";
import { deleting } from "./messages/deleting.js";
import { exports } from "./messages/exports.js";
import { fidelity } from "./messages/fidelity.js";
import { history } from "./messages/history.js";
import { isolation } from "./messages/isolation.js";
import { messages } from "./messages/messages.js";
import { order } from "./messages/order.js";
import { paging } from "./messages/paging.js";
import { undoing } from "./messages/undoing.js";
import { writingTogether } from "./messages/writing-together.js";
import { nameLimits } from "./name-limits.js";
import { embeddings } from "./search/embeddings.js";
import { explanations } from "./search/explanations.js";
import { reranking } from "./search/reranking.js";
import { searchGroups } from "./search/search-groups.js";
import { searchOptions } from "./search/search-options.js";
import { search } from "./search/searching.js";
import { toolCalls } from "./search/tool-calls.js";
import { copying } from "./sessions/copying.js";
import { erasing } from "./sessions/erasing.js";
import { forks } from "./sessions/forks.js";
import { metadata } from "./sessions/metadata.js";
import { owners } from "./sessions/owners.js";
import { records } from "./sessions/records.js";
import { sessions } from "./sessions/registering.js";
import { retaining } from "./sessions/retaining.js";
import { sessionLists } from "./sessions/session-lists.js";
import { usage } from "./sessions/usage.js";
import { wholeCopies } from "./sessions/whole-copies.js";
import { reasonToSkip, type StoreTarget } from "./target.js";
import type { Case, Topic } from "./topic.js";
import { Workspace } from "./workspace.js";

const TOPICS: readonly Topic[] = [
  capabilities,
  messages,
  deleting,
  fidelity,
  branches,
  history,
  compaction,
  compacting,
  compactionRaces,
  compactionTimeLimits,
  automaticCompaction,
  tokenCounting,
  context,
  tools,
  turns,
  recall,
  explanations,
  memoryLists,
  undoing,
  paging,
  usage,
  sessionLists,
  versions,
  schemaBlocks,
  learning,
  learningAnywhere,
  learnedFacts,
  learnedTimes,
  learningConflicts,
  consolidating,
  titles,
  sessions,
  erasing,
  retaining,
  forks,
  owners,
  metadata,
  nameLimits,
  boundaryValues,
  blockScopes,
  records,
  copying,
  exports,
  wholeCopies,
  entryArguments,
  entryValues,
  facts,
  factChains,
  scopes,
  writingTogether,
  search,
  searchOptions,
  searchGroups,
  toolCalls,
  embeddings,
  reranking,
  concurrency,
  order,
  isolation,
  faults,
  askedAgain,
  migrations,
  check,
];

/** The functions of a test runner: those of vitest, node:test, bun:test, jest and mocha fit. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown;
  it: {
    /** A case that finds that it cannot run calls `skip(reason)` of what the runner gives to `run`, or of its `this`. */
    (title: string, run: () => Promise<void>): unknown;
    skip?(title: string, run: () => Promise<void>): unknown;
  };
  /** Where skipped cases and their reasons are printed. Default: `console.log`. */
  log?(line: string): void;
}

/** The cases that were registered for one store. */
export interface ConformanceReport {
  readonly store: string;
  /** Cases that were registered to run. Some skip themselves if `store.capabilities` lacks what the target does not name. */
  readonly run: number;
  readonly skipped: readonly { readonly title: string; readonly reason: string }[];
}

/**
 * Registers the conformance suite for a store: every promise that is the same on all stores, one case each, on a store of
 * its own. Cases that need something that the store lacks, as the target or else the store says, are skipped, and say why.
 * Errors: those of the test runner.
 */
export function describeStore(target: StoreTarget, runner: TestRunner): ConformanceReport {
  const { describe, it, log = console.log } = runner;
  const skip = it.skip ?? ((title: string) => log(title));
  const skipped: { title: string; reason: string }[] = [];
  let run = 0;
  const planned = TOPICS.map(({ name, cases }) => ({
    name,
    cases: cases.map((each) => ({ ...each, reason: reasonToSkip(target, each.needs) })),
  }));
  for (const { name, cases } of planned) {
    for (const { title, reason } of cases) {
      if (reason === null) run += 1;
      else skipped.push({ title: `${name}: ${title}`, reason });
    }
  }
  const lacking = new Set<string>();
  const told = (reason: string) => {
    if (!lacking.has(reason)) log(`conformance of ${target.name}, more cases skipped: ${reason}`);
    lacking.add(reason);
  };
  describe(`the ${target.name} store`, () => {
    for (const { name, cases } of planned) {
      describe(name, () => {
        for (const each of cases) {
          if (each.reason === null) it(each.title, caseOf(target, each, told));
          else skip(`${each.title} (skipped: ${each.reason})`, async () => {});
        }
      });
    }
  });
  log(`conformance of ${target.name}: ${run} cases, ${skipped.length} skipped`);
  for (const reason of new Set(skipped.map((each) => each.reason))) {
    log(`  ${skipped.filter((each) => each.reason === reason).length} skipped: ${reason}`);
  }
  return { store: target.name, run, skipped };
}

/** A case as a runner takes it. It has no parameters, of which runners would take one for a callback. */
function caseOf(target: StoreTarget, each: Case, told: (reason: string) => void) {
  return async function (this: unknown, ...context: unknown[]): Promise<void> {
    const reason = await runCase(target, each);
    if (reason === null) return;
    told(reason);
    for (const given of [context[0], this]) {
      const { skip } = (given ?? {}) as { skip?: unknown };
      if (typeof skip === "function") return skip.call(given, reason);
    }
  };
}

/** Why the case did not run, for want of something that the store says it lacks; null when it did. */
async function runCase(target: StoreTarget, { needs, run }: Case): Promise<string | null> {
  const workspace = await Workspace.open(target);
  try {
    const reason = reasonToSkip(target, needs, workspace.store.capabilities);
    if (reason === null) await run(workspace);
    return reason;
  } finally {
    await workspace.close();
  }
}
