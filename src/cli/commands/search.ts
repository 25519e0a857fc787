import type { Command } from "commander";
import { snippet } from "../../tools/snippet.js";
import { withStore, writeJson } from "../context.js";
import { findSession } from "../find.js";
import type { Io } from "../io.js";
import { positiveNumber } from "../options.js";
import { localTime, oneLine } from "../text.js";

const SNIPPET_LENGTH = 240;

/** Adds `stemma search`. As JSON: `{ results: [{ sessionId, id, role, createdAt, score, snippet }] }`, best first. */
export function registerSearch(program: Command, io: Io): void {
  program
    .command("search")
    .description("Find messages by their words, in all sessions or in one.")
    .argument("<words...>", "what to look for; nothing in it is an operator")
    .option("-s, --session <session>", "only in this one: id, beginning of an id, or name")
    .option("-n, --limit <number>", "how many results", positiveNumber, 20)
    .action(async (words: string[], options: { session?: string; limit: number }, command: Command) => {
      await withStore(command, io, "read", async ({ manager, json }) => {
        const query = words.join(" ");
        const { limit } = options;
        const session = options.session === undefined ? null : await findSession(manager, options.session);
        const hits = await (session === null ? manager : manager.getSession(session.id)).search(query, { limit });
        const results = hits.map(({ sessionId, id, role, createdAt, score, content }) => {
          return {
            sessionId: sessionId ?? session?.id,
            id,
            role,
            createdAt,
            score,
            snippet: snippet(content, query, SNIPPET_LENGTH),
          };
        });
        if (json) return writeJson(io, { results });
        if (results.length === 0) return io.write("No message matches.\n");
        for (const { sessionId, id, role, createdAt, snippet: found } of results) {
          const head = [
            role,
            createdAt === undefined ? "" : localTime(createdAt),
            `session ${sessionId}`,
            `message ${id}`,
          ];
          await io.write(
            `── ${head.map((piece) => oneLine(piece, 200)).join(" · ")}\n${oneLine(found, SNIPPET_LENGTH + 2)}\n\n`,
          );
        }
      });
    });
}
