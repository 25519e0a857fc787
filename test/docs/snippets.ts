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
