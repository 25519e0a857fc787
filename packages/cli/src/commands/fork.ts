import { StemmaError } from "@stemma/model";
import type { Command } from "commander";
import { withStore, writeJson } from "../context.js";
import { findMessageId, findSession } from "../find.js";
import type { Io } from "../io.js";

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
