import type { Command } from "commander";
import { invalid } from "../../errors.js";
import { confirm } from "../confirm.js";
import { withStore, writeJson } from "../context.js";
import { findSession } from "../find.js";
import type { Io } from "../io.js";
import { oneLine } from "../text.js";

/** Adds `stemma delete`. As JSON: `{ deleted: [id, …] }`. */
export function registerDelete(program: Command, io: Io): void {
  program
    .command("delete")
    .description("Delete sessions with everything that is kept for them. This cannot be undone.")
    .argument("<sessions...>", "id, beginning of an id, or name")
    .option("-y, --yes", "do not ask; needed where nobody can answer")
    .action(async (texts: string[], options: { yes?: boolean }, command: Command) => {
      await withStore(command, io, "fail", async ({ manager, json }) => {
        // All are looked up first: a mistyped one deletes none.
        const sessions = [];
        for (const text of texts) sessions.push(await findSession(manager, text));
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
