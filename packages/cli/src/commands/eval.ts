import { readFileSync } from "node:fs";
import {
  type AskModel,
  compareRecall,
  evaluateQa,
  evaluateRecall,
  parseRecallReport,
  type RecallComparison,
  type RecallReport,
  recallPage,
} from "@stemma/eval";
import { invalid, reasonOf, StemmaError } from "@stemma/model";
import type { Command } from "commander";
import { writeJson } from "../context.js";
import { describeComparison, describeQa, describeRecall, describeReranking } from "../eval/print.js";
import { OWN, SETS, type SetOptions, withSet } from "../eval/with-set.js";
import { type Io, writeOutput } from "../io.js";
import { nonEmpty, oneOf, positiveNumber } from "../options.js";
import { createProgress } from "../progress.js";
import { textModel } from "../summarizer.js";
import { count } from "../text.js";

/** Adds `stemma eval` with its commands. */
export function registerEval(program: Command, io: Io): void {
  const command = program
    .command("eval")
    .description("Measure what search finds, and how well a model answers with it.");
  registerRecall(command, io);
  registerQa(command, io);
}

interface RecallCommandOptions extends SetOptions {
  against?: string;
  output?: string;
  html?: string;
}

/** Adds `stemma eval recall`. As JSON: a `RecallReport`; with `--reranker` also `reranking`, with `--against` also `against`, a `RecallComparison`. */
function registerRecall(parent: Command, io: Io): void {
  const command = parent.command("recall").description("Measure what search finds, beside bare BM25. Needs no model.");
  ofSet(command)
    .option("--against <file>", "an earlier run, as --output wrote it: exit code 1 where a loss is certain", nonEmpty)
    .option("-o, --output <file>", "also write the report as JSON, with every question", nonEmpty)
    .option("--html <file>", "also write the report as a page", nonEmpty)
    .addHelpText("after", HELP)
    .action(async (name: string, path: string, { against, output, html }: RecallCommandOptions, self: Command) => {
      const { json = false } = self.optsWithGlobals<{ json?: boolean }>();
      const before = against === undefined ? null : readReport(against);
      await withSet(self, name, path, async ({ set, ...options }, reranking) => {
        const measured = await withProgress(io, (onQuestion) => evaluateRecall(set, { ...options, onQuestion }));
        const report = reranking === null ? measured : { ...measured, reranking };
        const comparison = before === null ? null : compareRecall(report, before);
        if (comparison !== null && comparison.lost.length > 0) io.fail();
        if (output !== undefined) await writeOutput(output, `${JSON.stringify(report)}\n`);
        if (html !== undefined) await writeOutput(html, recallPage(report, comparison));
        if (json) return writeJson(io, comparison === null ? report : { ...report, against: comparison });
        await io.write(asText(report, comparison, against));
        if (reranking !== null) await io.write(describeReranking(reranking));
      });
    });
}

function asText(report: RecallReport, comparison: RecallComparison | null, against = ""): string {
  const text = describeRecall(report);
  return comparison === null ? text : text + describeComparison(comparison, against);
}

function readReport(path: string): RecallReport {
  try {
    return parseRecallReport(JSON.parse(readFileSync(path, "utf8")));
  } catch (error) {
    throw invalid(`"${path}" cannot be compared with: ${reasonOf(error)}`, { path }, { cause: error });
  }
}

interface QaCommandOptions extends SetOptions {
  model?: string;
  baseUrl?: string;
  judge?: string;
  judgeBaseUrl?: string;
  maxTokens?: number;
  concurrency?: number;
  output?: string;
}

/** Adds `stemma eval qa`. As JSON: a `QaReport`. Exit code 1 when a model did not answer a question. */
function registerQa(parent: Command, io: Io): void {
  const command = parent
    .command("qa")
    .description(
      "Let a model answer from what search finds, and a model judge the answers. Costs two calls a question.",
    );
  ofSet(command)
    .option("-m, --model <name>", "the model that answers: anthropic/…, openai/…, …; default: STEMMA_MODEL")
    .option("--base-url <url>", "an OpenAI-compatible server (Ollama, LM Studio, vLLM); default: STEMMA_MODEL_BASE_URL")
    .option("--judge <name>", "the model that judges; default: the one that answers")
    .option("--judge-base-url <url>", "the server of the judge; default: that of the other model")
    .option("--max-tokens <number>", "estimated tokens that a model is shown; default 1000", positiveNumber)
    .option("--concurrency <number>", "how many questions are asked at once; default 4", positiveNumber)
    .option("-o, --output <file>", "also write the report as JSON, with every answer", nonEmpty)
    .addHelpText("after", HELP)
    .action(async (name: string, path: string, options: QaCommandOptions, self: Command) => {
      const { json = false } = self.optsWithGlobals<{ json?: boolean }>();
      const { baseUrl, judgeBaseUrl = baseUrl, maxTokens, concurrency, output } = options;
      const model = options.model ?? (process.env.STEMMA_MODEL || undefined);
      if (model === undefined) self.error("name the model that answers: --model, or STEMMA_MODEL");
      const reader = await askingModel(model, baseUrl);
      const judge = await askingModel(options.judge ?? model, judgeBaseUrl);
      await withSet(self, name, path, async ({ set, ...open }) => {
        const report = await withProgress(io, (onQuestion) =>
          evaluateQa(set, { ...open, reader, judge, maxTokens, concurrency, onQuestion }),
        );
        if (report.total.failed > 0) io.fail();
        if (output !== undefined) await writeOutput(output, `${JSON.stringify(report)}\n`);
        if (json) return writeJson(io, report);
        await io.write(describeQa(report));
      });
    });
}

async function askingModel(name: string, baseUrl: string | undefined): Promise<AskModel> {
  const ask = await textModel(name, baseUrl);
  return (prompt) =>
    ask(prompt).catch((cause: unknown) => {
      const message = `The model ${name} did not answer: ${reasonOf(cause)}`;
      throw new StemmaError("MODEL_UNAVAILABLE", { model: name }, message, { cause });
    });
}

const HELP = `
Sets, and where their paths lead:
${SETS.map(({ name, about }) => `  ${name.padEnd(12)} ${about}`).join("\n")}`;

function ofSet(command: Command): Command {
  return command
    .argument("<set>", "see below", oneOf(SETS.map(({ name }) => name)))
    .argument("<path>", "where you put it", nonEmpty)
    .option("--limit-conversations <number>", "only the first so many", positiveNumber)
    .option("--half <half>", "every other conversation: dev (from the first on) or test", oneOf(["dev", "test"]))
    .option("--reranker [model]", "rerank with a model on this machine: its folder or name; default: all-MiniLM-L6-v2")
    .option("--embedder [model]", "search by meaning too, with such a model")
    .option("--together", "put all conversations into one store instead of one each")
    .option("-u, --user <id>", `with ${OWN}: only this user's sessions`, nonEmpty);
}

async function withProgress<T>(io: Io, work: (onQuestion: (asked: number) => void) => Promise<T>): Promise<T> {
  const progress = createProgress(io);
  try {
    return await work((asked) => progress.show(count(asked, "question")));
  } finally {
    progress.end();
  }
}
