import { invalid } from "@stemma/model";
import type { SessionManager } from "@stemma/session";
import type { SessionInfo } from "@stemma/store";
import type { Command } from "commander";
import { withStore, writeJson } from "../context.js";
import { findSession, sessionsById } from "../find.js";
import type { Io } from "../io.js";
import { confirm } from "../io.js";
import { oneLine } from "../text.js";

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
