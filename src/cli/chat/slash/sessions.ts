import { StemmaError } from "../../../errors.js";
import type { SlashCommand } from "./slash-command.js";

const SHOWN = 20;

export const sessions: SlashCommand = {
  name: "sessions",
  usage: "[number]",
  help: "the latest conversations; with a number: go to that one",
  async run({ conversation, terminal }, argument) {
    const page = await conversation.manager.listPage({ limit: SHOWN });
    if (argument !== "") {
      const chosen = /^\d+$/u.test(argument) ? page.sessions[Number(argument) - 1]?.id : argument;
      if (chosen === undefined || (await conversation.manager.get(chosen)) === null) {
        throw new StemmaError(
          "SESSION_NOT_FOUND",
          { argument },
          `There is no conversation "${argument}"; /sessions lists them.`,
        );
      }
      await conversation.enter(chosen);
      return terminal.line(
        `In ${await conversation.name()} (${await conversation.session.session.getPathLength()} messages).`,
      );
    }
    page.sessions.forEach((info, index) => {
      const mark = info.id === conversation.session.id ? "*" : " ";
      terminal.line(
        `${mark}${String(index + 1).padStart(3)} ${info.updated_at.slice(0, 16).replace("T", " ")}  ${info.name}  (${info.id})`,
      );
    });
    if (page.nextCursor !== null) terminal.line("     … and more: stemma sessions lists all");
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
    terminal.line(`In ${await conversation.name()} (${conversation.session.id}).`);
  },
};
