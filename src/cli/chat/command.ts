import type { Command } from "commander";

export interface ChatOptions {
  model?: string;
  baseUrl?: string;
  session?: string;
  new?: boolean;
  db?: string;
  skills?: string;
}

/** Adds `stemma chat` to a program. */
export function registerChat(program: Command): void {
  program
    .command("chat")
    .description("Talk to a model that remembers. Goes on with the last conversation.")
    .option("-m, --model <name>", "anthropic/…, openai/…, …; default: STEMMA_MODEL, else an offline responder")
    .option("--base-url <url>", "an OpenAI-compatible server (Ollama, LM Studio, vLLM); default: STEMMA_BASE_URL")
    .option("-s, --session <id>", "the conversation to go on with, or to start under this id")
    .option("-n, --new", "start a new conversation")
    .option("--db <path>", "the database; default: STEMMA_DB, else ~/.stemma/sessions.db")
    .option("--skills <folder>", "a folder of skills (SKILL.md); default: STEMMA_SKILLS, else ./skills")
    .action(async (options: ChatOptions) => {
      const { runChat } = await import("./chat.js");
      process.exitCode = await runChat(options);
    });
}
