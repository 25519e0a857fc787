import { isSummaryMessage, type SessionMessage } from "@stemma/model";
import type { SessionStore } from "@stemma/store";
import type { Command } from "commander";
import { withStore, writeJson } from "../context.js";
import { findMessageId, findSession } from "../find.js";
import type { Io } from "../io.js";
import { positiveNumber } from "../options.js";
import { renderMessage } from "../render-message.js";

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
