import { beginning } from "@stemma/model";
import { findSession } from "../../find.js";
import { columns, count, localTime, oneLine, shortIds } from "../../text.js";
import { showEarlier } from "../earlier-messages.js";
import type { SlashCommand } from "./slash-command.js";

const SHOWN = 20;

export const sessions: SlashCommand = {
  name: "sessions",
  usage: "[id or name]",
  help: "the latest conversations; with an id or a name: go to that one",
  async run(chat, argument) {
    const { conversation, terminal } = chat;
    const { manager } = conversation;
    if (argument !== "") {
      await conversation.resume(await findSession(manager, argument));
      const messages = await conversation.session.session.getPathLength();
      terminal.line(`In ${oneLine(await conversation.name())} (${count(messages, "message")}).`);
      if (terminal.interactive) await showEarlier(chat);
      return;
    }
    const page = await manager.listPage({ limit: SHOWN });
    const short = shortIds((await manager.list()).map(({ id }) => id));
    const rows = page.sessions.map(({ id, name, updated_at }) => {
      const mark = id === conversation.session.id ? "*" : " ";
      return [mark, oneLine(short.get(id) ?? id), localTime(updated_at), oneLine(name)];
    });
    for (const row of columns(rows).trimEnd().split("\n")) terminal.line(beginning(row, terminal.width - 1));
    if (page.nextCursor !== null) terminal.line("… and more: `stemma sessions` lists all");
  },
};

export const newSession: SlashCommand = {
  name: "new",
  usage: "[name]",
  help: "start a new conversation; the memory comes along",
  async run({ conversation, terminal }, name) {
    await conversation.begin(undefined, name === "" ? undefined : name);
    terminal.line("A new conversation.");
  },
};

export const fork: SlashCommand = {
  name: "fork",
  usage: "[name]",
  help: "go on in a copy of this conversation",
  async run({ conversation, terminal }, name) {
    await conversation.fork(name === "" ? undefined : name);
    terminal.line(`In ${oneLine(await conversation.name())} (${conversation.session.id}).`);
  },
};
