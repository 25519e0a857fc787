import { findJsonObject, invalid } from "@stemma/model";
import type { RetainOptions } from "@stemma/session";
import type { MetadataValue, Residue, RowCounts } from "@stemma/store";
import { type Command, InvalidArgumentError } from "commander";
import { withStore, writeJson } from "../context.js";
import type { Io } from "../io.js";
import { confirm } from "../io.js";
import { nonEmpty, positiveNumber, time } from "../options.js";

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
