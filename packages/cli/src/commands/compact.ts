import { createCompactFunction } from "@stemma/model";
import { Session } from "@stemma/session";
import type { Command } from "commander";
import { withStore, writeJson } from "../context.js";
import { findSession } from "../find.js";
import type { Io } from "../io.js";
import { wholeNumber } from "../options.js";
import { createProgress } from "../progress.js";
import { createSummarizer, type ModelOptions } from "../summarizer.js";
import { count, printable } from "../text.js";

interface CompactOptions extends ModelOptions {
  keepHead: number;
  tailTokens: number;
}

/** Adds `stemma compact`. As JSON: `{ session, summarizer, compaction: { fromMessageId, toMessageId, summary } | null }`. */
export function registerCompact(program: Command, io: Io): void {
  program
    .command("compact")
    .description("Lay a summary over the middle of a session. The messages stay beneath it.")
    .argument("<session>", "id, beginning of an id, or name")
    .option("-m, --model <name>", "the model that summarises; default: STEMMA_MODEL, else an offline summariser")
    .option("--base-url <url>", "an OpenAI-compatible server; default: STEMMA_BASE_URL")
    .option("--keep-head <number>", "messages at the start that stay", wholeNumber, 3)
    .option("--tail-tokens <number>", "tokens at the end that stay", wholeNumber, 20_000)
    .action(async (text: string, options: CompactOptions, command: Command) => {
      await withStore(command, io, "fail", async ({ store, manager, json }) => {
        const { id } = await findSession(manager, text);
        const { name, summarize } = await createSummarizer(options);
        const failures: unknown[] = [];
        const { keepHead: protectHead, tailTokens: tailTokenBudget } = options;
        const session = Session.create(store)
          .forSession(id)
          .onCompaction(createCompactFunction({ summarize, protectHead, tailTokenBudget }), { timeout: Infinity })
          .onCompactionError((error) => {
            failures.push(error);
          });
        const before = await session.getPathLength();
        const progress = createProgress(io);
        progress.show(`summarising ${count(before, "message")} with ${name}`);
        const compaction = await session.compact().finally(() => progress.end());
        if (failures.length > 0) throw failures[0];
        if (json) return writeJson(io, { session: id, summarizer: name, compaction });
        if (compaction === null)
          return io.write(
            "Nothing to compact: too little lies between head and tail, or a summary would be no shorter.\n",
          );
        await io.write(
          `Summarised by ${name}, ${compaction.fromMessageId} to ${compaction.toMessageId}:\n\n${printable(compaction.summary)}\n`,
        );
      });
    });
}
