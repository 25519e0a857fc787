import type { Command } from "commander";
import { withStore, writeJson } from "../context.js";
import { drawTree } from "../draw-tree.js";
import { findSession } from "../find.js";
import type { Io } from "../io.js";
import { toolLines } from "../render-message.js";

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
