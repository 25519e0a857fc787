import { StemmaError } from "@stemma/model";
import type { Command } from "commander";
import { withStore, writeJson } from "../context.js";
import type { Io } from "../io.js";
import { nonEmpty, positiveNumber } from "../options.js";
import { columns, localTime, oneLine, shortIds } from "../text.js";

/** Adds `stemma sessions`. As JSON: `{ sessions: [{ …the registry's fields, messages }], nextCursor }`. */
export function registerSessions(program: Command, io: Io): void {
  program
    .command("sessions")
    .description("List sessions, the latest changed first.")
    .option("-n, --limit <number>", "how many", positiveNumber, 50)
    .option("--cursor <cursor>", "go on after an earlier page: its nextCursor", nonEmpty)
    .action(async (options: { limit: number; cursor?: string }, command: Command) => {
      await withStore(command, io, "fail", async ({ store, manager, json }) => {
        const page = await manager.listPage({ limit: options.limit, cursor: options.cursor ?? null }).catch((error) => {
          if (StemmaError.isInstance(error, "INVALID_ARGUMENT")) command.error(error.message);
          throw error;
        });
        const sessions = [];
        for (const info of page.sessions) sessions.push({ ...info, messages: await store.session(info.id).length() });
        if (json) return writeJson(io, { sessions, nextCursor: page.nextCursor });
        if (sessions.length === 0) return io.write("No sessions yet: `stemma chat` or `stemma import` makes one.\n");
        const short = shortIds((await manager.list()).map(({ id }) => id));
        const rows = sessions.map(({ id, name, messages, updated_at }) => {
          return [oneLine(short.get(id) ?? id), String(messages), localTime(updated_at), oneLine(name)];
        });
        await io.write(columns([["SESSION", "MESSAGES", "CHANGED", "NAME"], ...rows]));
        if (page.nextCursor !== null) await io.write(`… more: stemma sessions --cursor ${page.nextCursor}\n`);
      });
    });
}
