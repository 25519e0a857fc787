import { isSummaryMessage, type SessionMessage, StemmaError } from "@stemma/model";
import { snippet } from "@stemma/session";
import type { SessionStore } from "@stemma/store";
import type { Command } from "commander";
import { withStore, writeJson } from "../context.js";
import { drawTree } from "../draw-tree.js";
import { findMessageId, findSession } from "../find.js";
import type { Io } from "../io.js";
import { localOption } from "../open-database.js";
import { nonEmpty, positiveNumber, time } from "../options.js";
import { renderHit, renderMessage, toolLines } from "../render-message.js";
import { columns, localTime, oneLine, shortIds, styleFor } from "../text.js";

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

interface ShowOptions {
  all?: boolean;
  leaf?: string;
  limit?: number;
}

/** Adds `stemma show`. As JSON: a message per line. */
export function registerShow(program: Command, io: Io): void {
  program
    .command("show")
    .description("Show a session as its model sees it: summaries stand for what they cover.")
    .argument("[session]", "id, beginning of an id, or name; default: the latest changed")
    .option("-a, --all", "the messages under the summaries instead")
    .option("-l, --leaf <message>", "the branch that ends with this message; default: the active one")
    .option("-n, --limit <number>", "only the last so many messages", positiveNumber)
    .action(async (text: string | undefined, options: ShowOptions, command: Command) => {
      await withStore(command, io, "fail", async ({ store, manager, json }) => {
        const { id } = await findSession(manager, text);
        const leafId = options.leaf === undefined ? undefined : await findMessageId(store, id, options.leaf);
        const visible = (newestFirst: boolean) => manager.getSession(id).history({ leafId, newestFirst });
        const messages = options.all
          ? originals(store.session(id), leafId, options.limit)
          : options.limit === undefined
            ? visible(false)
            : lastOf(visible(true), options.limit);
        for await (const message of messages) {
          if (json) await writeJson(io, message);
          else await io.write(`${renderMessage(message, isSummaryMessage(message))}\n`);
        }
      });
    });
}

function originals(session: SessionStore, leafId: string | undefined, limit: number | undefined) {
  const all = (newestFirst: boolean) => session.stream({ leafId, summaries: false, newestFirst });
  return limit === undefined ? all(false) : lastOf(all(true), limit);
}

async function* lastOf(newestFirst: AsyncIterable<SessionMessage>, limit: number): AsyncGenerator<SessionMessage> {
  const last: SessionMessage[] = [];
  for await (const message of newestFirst) {
    last.push(message);
    if (last.length === limit) break;
  }
  yield* last.reverse();
}

/** Adds `stemma tree`. As JSON: `{ session, activeLeafId, messages: [{ id, parentId, role, createdAt, preview }], compactions }`. */
export function registerTree(program: Command, io: Io): void {
  program
    .command("tree")
    .description("Draw a session's branches, its summaries, what its tools did, and where it goes on.")
    .argument("[session]", "id, beginning of an id, or name; default: the latest changed")
    .action(async (text: string | undefined, _options: unknown, command: Command) => {
      await withStore(command, io, "fail", async ({ store, manager, json }) => {
        const session = await findSession(manager, text);
        const stored = store.session(session.id);
        const messages = await stored.tree();
        const compactions = await stored.compactions();
        const activeLeafId = (await stored.leaf())?.id ?? null;
        if (json) return writeJson(io, { session, activeLeafId, messages, compactions });
        const tools = await toolLines(stored, io.width);
        for (const line of drawTree({ messages, compactions, activeLeafId, tools, width: io.width }))
          await io.write(`${line}\n`);
      });
    });
}

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
    .addOption(localOption())
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
