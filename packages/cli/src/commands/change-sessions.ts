import { createCompactFunction, findJsonObject, invalid, StemmaError } from "@stemma/model";
import type { RetainOptions, SessionManager } from "@stemma/session";
import { Session } from "@stemma/session";
import type { MetadataValue, Residue, RowCounts, SessionInfo } from "@stemma/store";
import type { Command } from "commander";
import { InvalidArgumentError } from "commander";
import { withStore, writeJson } from "../context.js";
import { findMessageId, findSession, sessionsById } from "../find.js";
import type { Io } from "../io.js";
import { confirm } from "../io.js";
import { nonEmpty, positiveNumber, time, wholeNumber } from "../options.js";
import { createProgress } from "../progress.js";
import { createSummarizer, type ModelOptions } from "../summarizer.js";
import { count, oneLine, printable } from "../text.js";

/** Adds `stemma delete`. As JSON: `{ deleted: [id, …] }`. */
export function registerDelete(program: Command, io: Io): void {
  program
    .command("delete")
    .description("Delete sessions with everything that is kept for them. This cannot be undone.")
    .argument("<sessions...>", "id; without --yes also the beginning of one, or a name")
    .option("-y, --yes", "do not ask; needed where nobody can answer; takes whole ids only")
    .action(async (texts: string[], options: { yes?: boolean }, command: Command) => {
      await withStore(command, io, "fail", async ({ manager, json }) => {
        // All are looked up first: a mistyped one deletes none.
        const sessions = options.yes ? await sessionsById(manager, texts) : await sessionsMeant(manager, texts);
        const names = sessions.map(({ id, name }) => `${oneLine(name)} (${id})`).join(", ");
        if (!options.yes && !(await confirm(io, `Delete ${names}?`))) {
          throw invalid("Nothing was deleted. Answer y, or pass --yes.");
        }
        for (const { id } of sessions) await manager.delete(id);
        if (json) return writeJson(io, { deleted: sessions.map(({ id }) => id) });
        await io.write(`Deleted ${names}.\n`);
      });
    });
}

async function sessionsMeant(manager: SessionManager, texts: readonly string[]): Promise<SessionInfo[]> {
  const sessions = [];
  for (const text of texts) sessions.push(await findSession(manager, text));
  return sessions;
}

/** Adds `stemma fork`. As JSON: the new session's registry fields. */
export function registerFork(program: Command, io: Io): void {
  program
    .command("fork")
    .description("Copy a session up to a message into a new one: messages, summaries, context blocks and prompt.")
    .argument("<session>", "id, beginning of an id, or name")
    .argument("[message]", "the last message to copy; default: the active leaf")
    .option("--name <name>", "the new session's name; default: the old one's, and \"(fork)\"")
    .action(async (text: string, messageText: string | undefined, options: { name?: string }, command: Command) => {
      await withStore(command, io, "fail", async ({ store, manager, json }) => {
        const { id, name } = await findSession(manager, text);
        const messageId =
          messageText === undefined
            ? (await store.session(id).leaf())?.id
            : await findMessageId(store, id, messageText);
        if (messageId === undefined) {
          throw new StemmaError("MESSAGE_NOT_FOUND", { sessionId: id }, `Session "${id}" has no messages to fork.`);
        }
        const fork = await manager.fork(id, messageId, options.name ?? `${name} (fork)`);
        if (json) return writeJson(io, fork);
        await io.write(`${fork.id}\n`);
      });
    });
}

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
    .option("--base-url <url>", "an OpenAI-compatible server; default: STEMMA_MODEL_BASE_URL")
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

interface PruneOptions extends Pick<RetainOptions, "keepMessages" | "keepVersions" | "metadata" | "dryRun"> {
  readonly olderThan?: number;
  readonly user?: string;
  readonly scrub?: boolean;
  readonly yes?: boolean;
}

/** Adds `stemma prune`. As JSON: `{ dryRun, deleted, residue }`, as `manager.retain` gives them. */
export function registerPrune(program: Command, io: Io): void {
  program
    .command("prune")
    .description(
      "Remove what is too old, and what is left in the file of text that was deleted. Without a rule it only does the latter.",
    )
    .option("--older-than <time>", "sessions that did not change for so long, as 90d, or since a date", time)
    .option("--keep-messages <n>", "of each session only the newest messages", positiveNumber)
    .option("--keep-versions <n>", "of each block and entry only the newest versions", positiveNumber)
    .option("--user <id>", "only what is this user's", nonEmpty)
    .option("--metadata <json>", 'only sessions with these fields, as {"kind":"trial"}', fields)
    .option("--dry-run", "only count what would be removed")
    .option("--scrub", "rewrite the database afterwards, which all writers wait for")
    .option("-y, --yes", "do not ask; needed where nobody can answer")
    .action(async (options: PruneOptions, command: Command) => {
      const { olderThan, keepMessages, keepVersions, user, metadata, dryRun = false } = options;
      const rules = {
        ...{ olderThan: olderThan === undefined ? undefined : new Date(olderThan), keepMessages, keepVersions },
        ...{ userId: user, metadata },
      };
      const hasRule = [olderThan, keepMessages, keepVersions].some((rule) => rule !== undefined);
      await withStore(command, io, "fail", async ({ manager, json }) => {
        const tell = async (deleted: Partial<RowCounts>, residue: Residue): Promise<void> => {
          if (json) return writeJson(io, { dryRun, deleted, residue });
          await io.write(`${dryRun ? "Would remove" : "Removed"} ${describe(deleted)}.\n${RESIDUES[residue]}\n`);
        };
        if (!hasRule) return tell({}, dryRun ? "pending" : await manager.scrub());
        if (!dryRun && !options.yes) {
          const { deleted } = await manager.retain({ ...rules, dryRun: true });
          if (!(await confirm(io, `Remove ${describe(deleted)}?`))) {
            throw invalid("Nothing was removed. Answer y, or pass --yes.");
          }
        }
        const { deleted, residue } = await manager.retain({ ...rules, dryRun });
        await tell(deleted, options.scrub === true && !dryRun ? await manager.scrub() : residue);
      });
    });
}

const RESIDUES: Record<Residue, string> = {
  none: "Nothing that was deleted is left in the database.",
  pending: "Text that was deleted may be left in the file. `stemma prune` without a rule rewrites it.",
  unknown: "What is left in the database's files is up to its server: see docs/privacy.md.",
};

function describe(deleted: Partial<RowCounts>): string {
  const some = Object.entries(deleted).filter(([, rows]) => rows > 0);
  return some.length === 0 ? "nothing" : some.map(([kind, rows]) => `${rows} ${kind}`).join(", ");
}

function fields(text: string): Record<string, MetadataValue> {
  const value = findJsonObject(text);
  if (value === null) throw new InvalidArgumentError('It must be a JSON object, as {"kind":"trial"}.');
  return value as Record<string, MetadataValue>;
}
