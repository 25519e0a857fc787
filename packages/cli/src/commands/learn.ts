import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { invalid, reasonOf } from "@stemma/model";
import { createLearnFunction, type LearnDueReceipt, type LearnFunction, type SessionManager } from "@stemma/session";
import { listAll, type Store } from "@stemma/store";
import { type Command, InvalidArgumentError } from "commander";
import { localUser, withStore, writeJson } from "../context.js";
import type { Io } from "../io.js";
import { nonEmpty, positiveNumber } from "../options.js";
import { createProgress } from "../progress.js";
import { languageModel } from "../summarizer.js";
import { count, oneLine } from "../text.js";

interface LearnCommandOptions {
  all?: boolean;
  model?: string;
  baseUrl?: string;
  prices?: Prices;
  learn?: string;
  user?: string;
  limit?: number;
  maxCost?: number;
  dryRun?: boolean;
}

/** The price of a million tokens. */
interface Prices {
  readonly input: number;
  readonly output: number;
}

/** Adds `stemma learn`. As JSON: a `LearnDueReceipt`. Exit code 1 when something failed in a session. */
export function registerLearn(program: Command, io: Io): void {
  program
    .command("learn")
    .description("Take lasting facts about the user out of the conversations that nobody has learned from.")
    .option("-a, --all", "all of them; needed, since a model is paid for each")
    .option("--dry-run", "only count them; asks no model")
    .option("-m, --model <name>", "the model that is asked: anthropic/…, openai/…, …; default: STEMMA_MODEL")
    .option("--base-url <url>", "an OpenAI-compatible server (Ollama, LM Studio, vLLM); default: STEMMA_MODEL_BASE_URL")
    .option("--prices <input,output>", "what a million tokens of the model cost, as 3,15", prices)
    .option("--learn <module>", "instead of a model: a module whose default export is a learn function", nonEmpty)
    .option(
      "--max-cost <number>",
      "ask no more once it has cost so much; needs --prices, or a --learn that tells",
      cost,
    )
    .option("--limit <number>", "at most so many conversations", positiveNumber)
    .option(
      "-u, --user <id>",
      "whose conversations of nobody become, as imports are; default: STEMMA_USER, else your name on this machine",
      nonEmpty,
    )
    .action(async (options: LearnCommandOptions, command: Command) => {
      const { limit, maxCost, dryRun = false } = options;
      if (!options.all) command.error("error: pass --all; with --dry-run it only counts");
      const learn = dryRun ? async () => [] : await learnFunction(options, command);
      await withStore(command, io, "fail", async ({ store, manager, json }) => {
        const progress = createProgress(io);
        if (!dryRun) await adopt(store, options.user ?? localUser());
        const receipt = await configured(manager, learn, (told) => progress.show(told))
          .learnDue({ limit, maxCost, dryRun })
          .finally(() => progress.end());
        if (receipt.failed.length > 0) io.fail();
        if (json) return writeJson(io, receipt);
        await io.write(describe(receipt));
      });
    });
}

// The block of the chat.
function configured(manager: SessionManager, learn: LearnFunction, tell: (text: string) => void): SessionManager {
  const description = "What you know about the user, in all conversations";
  const telling: LearnFunction = (request) => {
    tell(`learning from ${count(request.messages.length, "message")}`);
    return learn(request);
  };
  const options = { idleAfter: Number.POSITIVE_INFINITY };
  return manager.withContext("memory", { description, maxTokens: 2000, scope: "user" }).onLearning(telling, options);
}

// What is learned is about a user.
async function adopt({ sessions }: Store, userId: string): Promise<void> {
  for await (const id of listAll((page) => sessions.due(page), String)) {
    const found = await sessions.get(id);
    if (found?.user_id === null) await sessions.create({ id, name: found.name, userId });
  }
}

async function learnFunction(options: LearnCommandOptions, command: Command): Promise<LearnFunction> {
  const { learn, prices: price, maxCost, baseUrl, model = process.env.STEMMA_MODEL || undefined } = options;
  if (learn !== undefined) return importedFunction(learn);
  if (model === undefined) command.error("error: name what learns: --model, STEMMA_MODEL, or --learn");
  if (maxCost !== undefined && price === undefined) command.error("error: --max-cost needs the --prices of the model");
  const answering = await languageModel(model, baseUrl);
  const { generateText } = await import("ai");
  return createLearnFunction({
    extract: async ({ prompt }) => {
      const { text, usage } = await generateText({ model: answering, prompt });
      const { inputTokens = 0, outputTokens = 0 } = usage;
      const spent = price && (inputTokens * price.input + outputTokens * price.output) / 1_000_000;
      return { text, usage: { inputTokens, outputTokens, cost: spent } };
    },
  });
}

async function importedFunction(path: string): Promise<LearnFunction> {
  const refuse = (why: string, cause?: unknown) =>
    invalid(`The module of --learn cannot be used: ${why}`, { path }, { cause });
  const module: { default?: unknown } = await import(pathToFileURL(resolve(path)).href).catch((error: unknown) => {
    throw refuse(reasonOf(error), error);
  });
  if (typeof module.default === "function") return module.default as LearnFunction;
  throw refuse("its default export is no function. Export what createLearnFunction() gives.");
}

function describe({ dryRun, sessions, messages, tokens, edits, usage, failed, isMoreDue }: LearnDueReceipt): string {
  const stretch = `${count(messages, "message")} in ${count(sessions, "conversation")}`;
  if (dryRun) return `${stretch} to learn from, about ${tokens} tokens and a prompt for each 20,000 of them.\n`;
  const spent = `${usage.inputTokens} tokens in, ${usage.outputTokens} out${usage.cost > 0 ? `, cost ${usage.cost}` : ""}`;
  const failures = failed
    .map(({ sessionId, error }) => `Failed in ${oneLine(sessionId)}: ${oneLine(error)}\n`)
    .join("");
  const more = isMoreDue ? "More are left: run it again.\n" : "";
  return `Learned from ${stretch}: ${count(edits, "edit")} (${spent}).\n${failures}${more}`;
}

function prices(text: string): Prices {
  const [input, output, ...more] = text.split(",").map((each) => (each.trim() === "" ? Number.NaN : Number(each)));
  if (input !== undefined && output !== undefined && more.length === 0 && input >= 0 && output >= 0)
    return { input, output };
  throw new InvalidArgumentError(
    "It must be two numbers: what a million tokens cost, of the prompt and of the answer.",
  );
}

function cost(text: string): number {
  const number = Number(text);
  if (text.trim() !== "" && number > 0 && Number.isFinite(number)) return number;
  throw new InvalidArgumentError("It must be a number above 0.");
}
