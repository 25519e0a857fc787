import { readdirSync, readFileSync } from "node:fs";
import { ROOT } from "../package/manifest.js";

/** A program that a page of the docs shows. */
export interface Snippet {
  /** The page and the line on which the program's last block begins. */
  readonly name: string;
  readonly code: string;
  /** What it must print. */
  readonly output: string;
  readonly runs: boolean;
}

const FENCE = /^```(\w+)(?: ([\w-]+))?\n([\s\S]*?)^```$/gm;

/**
 * The TypeScript blocks of a page. A block marked `ts continues` goes on with the program of the block before it; one
 * marked `ts no-run` needs what a test has not, and is only compiled. A block marked `text output` is what the program
 * before it prints.
 */
export function snippetsOf(page: string): Snippet[] {
  const text = readFileSync(ROOT + page, "utf8");
  const snippets: Snippet[] = [];
  for (const match of text.matchAll(FENCE)) {
    const [, language, mark, body = ""] = match;
    const name = `${page}:${text.slice(0, match.index).split("\n").length}`;
    const last = snippets.at(-1);
    if (language === "ts" && mark === "continues" && last) {
      snippets[snippets.length - 1] = { ...last, name, code: last.code + body };
    } else if (language === "ts") {
      snippets.push({ name, code: body, output: "", runs: mark !== "no-run" });
    } else if (language === "text" && mark === "output" && last) {
      snippets[snippets.length - 1] = { ...last, output: last.output + body };
    }
  }
  return snippets;
}

/** What an example in a docstring may name without saying where it is from. */
const KNOWN = `
  import { convertToModelMessages, generateText, type LanguageModel, type UIMessage } from "ai";
  import { Session, SessionManager, StemmaError, type Store } from "stemma";
  import { type AgentSession, createSession, resumeSession, SqliteSessionStorage } from "stemma/agent";
  import { chatHandler, stemmaMiddleware } from "stemma/ai-sdk";
  import { type DurableObjectContext, durableObject } from "stemma/durable-object";
  import { localModel } from "stemma/local";
  import { memory } from "stemma/memory";
  import { postgres } from "stemma/postgres";
  import { sqlite } from "stemma/sqlite";
  import { createCompactFunction } from "stemma/utils/compaction-helpers";
  declare const [agent, ctx, manager]: [AgentSession, DurableObjectContext, SessionManager];
  declare const [model, other, session, store]: [Exclude<LanguageModel, string>, Session, Session, Store];
`;

/** The examples in the docstrings of a source, each as a program that is only compiled. */
export function examplesOf(source: string): Snippet[] {
  const text = readFileSync(ROOT + source, "utf8");
  return Array.from(
    text.matchAll(/^ +\* @example\n((?: +\* .*\n)+?)(?= +\*(?:\/| @))/gm),
    ({ index, 1: block = "" }) => ({
      name: `${source}:${text.slice(0, index).split("\n").length}`,
      code: `${KNOWN}export async function example() {\n${block.replace(/^ +\* /gm, "")}}\n`,
      output: "",
      runs: false,
    }),
  );
}

/** Every Markdown page of the project, relative to its folder. */
export function pages(): string[] {
  const docs = readdirSync(`${ROOT}docs`, { recursive: true, encoding: "utf8" }).map((file) => `docs/${file}`);
  // What the build copies into the face is no page of its own.
  const wings = readdirSync(`${ROOT}packages`).filter((name) => name !== "stemma" && !name.endsWith(".md"));
  const folders = ["packages", "test", "bench", "reliability", ...wings.map((wing) => `packages/${wing}`)];
  const readmes = folders.map((folder) => `${folder}/README.md`);
  return [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    ...docs.filter((file) => file.endsWith(".md")).sort(),
    ...readmes,
  ];
}
