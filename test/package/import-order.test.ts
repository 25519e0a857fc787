import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "./manifest.js";

const SRC = `${ROOT}src`;

/** From the ground up: a file may import from its own folder and from those named before it. */
const LAYERS = [
  "errors.ts",
  "package-version.ts",
  "files",
  "once.ts",
  "queue.ts",
  "recent.ts",
  "event-loop.ts",
  "deferred.ts",
  "unless-aborted.ts",
  "model",
  "known-options.ts",
  "request-body.ts",
  "compaction",
  "storage",
  "tools",
  "context",
  "learning",
  "session",
  "manager",
  "ai-sdk",
  "formats",
  "copy",
  "telemetry",
  "adapters",
  "claude",
  "langgraph",
  "studio",
  "mcp",
  "runner",
  "testing",
  "cli",
];

/** Files and folders beside the layers, and the highest layer that each may import from. */
const BESIDE: Readonly<Record<string, string>> = {
  // Stores: a user's client, made into the contract.
  "sqlite.ts": "storage",
  "memory.ts": "storage",
  "postgres.ts": "storage",
  "durable-object.ts": "storage",
  // A provider of blocks that needs Node.
  "skills-node.ts": "context",
  // What users import.
  utils: "compaction",
  "utils.ts": "compaction",
  "session.ts": "manager",
  "ai-sdk.ts": "ai-sdk",
  "claude.ts": "claude",
  "langgraph.ts": "langgraph",
  // Runs in browsers: of the handler it only names types.
  react: "ai-sdk",
  "react.ts": "ai-sdk",
  "agent.ts": "runner",
  "openai-agents.ts": "adapters",
  "langchain.ts": "adapters",
  "testing.ts": "testing",
  "formats.ts": "formats",
  "copy.ts": "copy",
  "copy-node.ts": "copy",
  "opentelemetry.ts": "telemetry",
  "studio.ts": "studio",
  "mcp.ts": "mcp",
  "index.ts": "manager",
};

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter(
  (file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file),
);

describe("imports point one way", () => {
  it("knows the place of every file", () => {
    const unplaced = files.filter((file) => !LAYERS.includes(roomOf(file)) && !(roomOf(file) in BESIDE));
    expect(unplaced).toEqual([]);
  });

  it("lets no file import from above it", () => {
    const upward = files.flatMap((file) =>
      importsOf(file)
        .filter((target) => !mayImport(roomOf(file), roomOf(target)))
        .map((target) => `${file} imports ${target}`),
    );
    expect(upward).toEqual([]);
  });
});

describe("imports", () => {
  it("form no circle between files", () => {
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (file: string, way: readonly string[]): void => {
      if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(" → "));
      if (way.includes(file) || done.has(file)) return;
      for (const target of importsOf(file)) if (files.includes(target)) visit(target, [...way, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
    expect(circles).toEqual([]);
  });
});

const roomOf = (file: string) => file.split("/")[0] as string;

function mayImport(from: string, to: string): boolean {
  if (from === to) return true;
  const highest = LAYERS.indexOf(BESIDE[from] ?? from);
  if (LAYERS.includes(to)) return from in BESIDE ? LAYERS.indexOf(to) <= highest : LAYERS.indexOf(to) < highest;
  // Only what lies beside the layers, and the layers that are programs, may use what lies beside the layers.
  const user = from in BESIDE || ["studio", "runner", "testing", "cli"].includes(from);
  return user && LAYERS.indexOf(BESIDE[to] as string) <= highest;
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(SRC, file), "utf8");
  const specifiers = [...text.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map((match) => match[1] as string);
  return specifiers.map((specifier) => {
    const name = relative(SRC, join(SRC, dirname(file), specifier)).replace(/\.js$/, "");
    return files.includes(`${name}.tsx`) ? `${name}.tsx` : `${name}.ts`;
  });
}
