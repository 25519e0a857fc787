import { snippet } from "@stemma/session";
import type { Command } from "commander";
import { withStore, writeJson } from "../context.js";
import { findSession } from "../find.js";
import type { Io } from "../io.js";
import { nonEmpty, positiveNumber, time } from "../options.js";
import { renderHit } from "../render-message.js";
import { styleFor } from "../text.js";

const SNIPPET_LENGTH = 240;

interface SearchCommandOptions {
  session?: string;
  user?: string;
  role?: string;
  after?: number;
  limit: number;
}

/** Adds `stemma search`. As JSON: `{ results: [{ sessionId, id, role, createdAt, score, snippet }] }`, best first. */
export function registerSearch(program: Command, io: Io): void {
  program
    .command("search")
    .description("Find messages by their words, in all sessions or in one.")
    .argument("<words...>", "what to look for; nothing in it is an operator")
    .option("-s, --session <session>", "only in this one: id, beginning of an id, or name")
    .option("-u, --user <id>", "only in this user's sessions", nonEmpty)
    .option("-r, --role <role>", "only messages of this role: user, assistant, …", nonEmpty)
    .option("--after <time>", "only messages from this time on: 2026-01-31, 2026-01-31T14:05, or 2h, 7d, 4w ago", time)
    .option("-n, --limit <number>", "how many results", positiveNumber, 20)
    .action(async (words: string[], options: SearchCommandOptions, command: Command) => {
      await withStore(command, io, "fail", async ({ manager: all, json }) => {
        const query = words.join(" ");
        const { limit, role, after } = options;
        const manager = options.user === undefined ? all : all.forUser(options.user);
        const session = options.session === undefined ? null : await findSession(manager, options.session);
        const found = await (session === null ? manager : manager.getSession(session.id)).search(query, {
          limit,
          role,
          after,
        });
        const hits = found.map((hit) => ({ ...hit, sessionId: hit.sessionId ?? session?.id ?? "" }));
        if (!json) {
          const style = styleFor(io.isTerminal.output);
          if (hits.length === 0) await io.write("No message matches.\n");
          for (const hit of hits) await io.write(`${renderHit(hit, query, style)}\n\n`);
          return;
        }
        const results = hits.map(({ sessionId, id, role, createdAt, score, content }) => {
          return { sessionId, id, role, createdAt, score, snippet: snippet(content, query, SNIPPET_LENGTH) };
        });
        await writeJson(io, { results });
      });
    });
}
