import { existsSync } from "node:fs";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { ENTRY_POINTS, ROOT } from "./manifest.js";

const NODE = /^node:/;

/** What an entry point may reach beside zod. One that is not named here must run where there is no Node. */
const ALLOWED: Readonly<Record<string, RegExp>> = {
  "stemma/sqlite": NODE,
  "stemma/memory": NODE,
  "stemma/skills-node": NODE,
  "stemma/testing": NODE,
  "stemma/copy-node": NODE,
  // Bundled, and loaded with the first archive.
  "stemma/formats": /^(node:|yauzl$|fzstd$)/,
  // These run a model or show its chat, and are the only ones that do: the AI SDK is an optional dependency.
  "stemma/ai-sdk": /^ai$/,
  "stemma/agent": /^(node:|ai$)/,
  "stemma/langchain": /^@langchain\/core\//,
  "stemma/mcp": /^@modelcontextprotocol\/server$/,
  // Loaded with the first append to a session.
  "stemma/claude": /^@anthropic-ai\/claude-agent-sdk$/,
  "stemma/langgraph": /^@langchain\/langgraph-checkpoint$/,
  "stemma/opentelemetry": /^@opentelemetry\/api$/,
  "stemma/react": /^(ai|react|@ai-sdk\/react)$/,
};

describe("the built entry points", () => {
  it.each(ENTRY_POINTS)(
    "$specifier has a source, and reaches what it may and no more",
    async ({ specifier, source }) => {
      expect(existsSync(ROOT + source)).toBe(true);
      // The chunks of the built package bring in no more than the sources do.
      const built = source.replace(/^src\/(.*)\.ts$/, "dist/$1.js");
      for (const file of [source, built].filter((path) => existsSync(ROOT + path))) {
        const beyond = (await reached(file)).filter((name) => name !== "zod" && !ALLOWED[specifier]?.test(name));
        expect(beyond, file).toEqual([]);
      }
    },
  );
});

/** What a bundle of an entry point still imports. */
async function reached(source: string): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: [ROOT + source],
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "neutral",
    external: [
      "zod",
      "ai",
      "@modelcontextprotocol/server",
      "react",
      "@ai-sdk/react",
      "@langchain/*",
      "@openai/*",
      "@anthropic-ai/*",
      "@opentelemetry/*",
      "yauzl",
      "fzstd",
      "node:*",
    ],
    logLevel: "silent",
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  return [...new Set(imports.map(({ path }) => path))];
}
