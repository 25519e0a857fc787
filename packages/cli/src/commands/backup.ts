import type { Command } from "commander";
import { withStore, writeJson } from "../context.js";
import type { Io } from "../io.js";
import { nonEmpty } from "../options.js";

/** Adds `stemma backup`. As JSON: what `store.backup()` resolves to. */
export function registerBackup(program: Command, io: Io): void {
  program
    .command("backup")
    .description(
      "Copy the database to a new file while others write to it, and check the copy. To restore: copy it back.",
    )
    .argument("<file>", "the file to write; one that is there is not overwritten", nonEmpty)
    .option("--no-check", "do not check the copy; damage is then copied too")
    .action(async (file: string, { check }: { check: boolean }, command: Command) => {
      await withStore(command, io, "fail", async ({ store, json }) => {
        const report = await store.backup(file, { check });
        if (json) return writeJson(io, report);
        const checked = report.check === null ? "not checked" : "nothing is damaged";
        await io.write(`${file}: ${(report.bytes / 1e6).toFixed(1)} MB, ${checked}\n`);
      });
    });
}
