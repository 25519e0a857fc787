import type { Command } from "commander";
import { localOption } from "../open-database.js";
import { nonEmpty } from "../options.js";
import type { ChatOptions } from "./conversation.js";

export function registerChat(program: Command): void {
  program
    .command("chat")
    .description("Talk to a model that remembers. Goes on with the last conversation.")
    .option("-m, --model <name>", "anthropic/…, openai/…, …; default: STEMMA_MODEL, else an offline responder")
    .option("--base-url <url>", "an OpenAI-compatible server (Ollama, LM Studio, vLLM); default: STEMMA_MODEL_BASE_URL")
    .option(
      "-s, --session <id>",
      "the conversation to go on with (id, beginning of an id, or name), or to start under this id",
    )
    .option("-n, --new", "start a new conversation")
    .option(
      "-u, --user <id>",
      "whose conversations and memory; default: STEMMA_USER, else your name on this machine",
      nonEmpty,
    )
    .option("--skills <folder>", "a folder of skills (SKILL.md); default: STEMMA_SKILLS, else ./skills", nonEmpty)
    .addOption(localOption())
    .action(async (_options: unknown, command: Command) => {
      const { runChat } = await import("./chat.js");
      // The database is an option of every command.
      process.exitCode = await runChat(command.optsWithGlobals<ChatOptions>());
    });
}
